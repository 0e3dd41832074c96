"""A gap of one record is said in the singular."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.format.batch import parse_header
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.words import missing_records
from tests.support.damage import copy_cluster, split, write


@pytest.mark.parametrize(("count", "said"), [(1, "1 record is missing"), (2, "2 records are missing")])
def test_missing_records_are_counted_as_they_are_spoken(count: int, said: str) -> None:
    assert missing_records(count) == said


def test_a_gap_of_one_record_is_singular(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(2)
    batches = split(path)
    headers = [parse_header(each) for each in batches]
    number = next(at for at, each in enumerate(headers) if each.count == 1 and not each.is_control and at > 5)
    write(path, [*batches[:number], *batches[number + 1 :]])
    (found,) = [one for one in check_paths([cluster.node(2)]).findings if one.kind == "offset_gap"]
    assert found.meaning.endswith(": 1 record is missing")
