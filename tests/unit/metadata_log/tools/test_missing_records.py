"""A gap is said with the number of its records, and only where records are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.format.batch import parse_header
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.words import missing_records
from tests.support.damage import copy_cluster, split, write
from tests.support.one_fault import flipped_at


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


@pytest.mark.parametrize(("bit", "offset", "kind"), [(6, 79, "offset_gap"), (1, 13, "offset_repeated")])
def test_the_batch_behind_it_tells_that_a_base_offset_alone_is_wrong(
    bit: int, offset: int, kind: str, clusters: Path, tmp_path: Path
) -> None:
    """One bit of the header's base offset, which no checksum covers, moves the batch at offset 15."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    flipped_at(cluster.segment(2), 5, 7, bit)

    (found,) = check_paths([cluster.root]).findings

    assert (found.kind, found.node_id) == (kind, 2)
    assert found.meaning == (
        f"offset 15 is due, and its header says {offset}, but the batch behind it goes on from 17: no record is "
        "missing or repeated, and that field, which no checksum covers, is wrong"
    )


def test_of_the_last_batch_nothing_says_if_records_are_missing(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    last = len(split(cluster.segment(2))) - 1
    flipped_at(cluster.segment(2), last, 6, 0)

    (found,) = check_paths([cluster.root]).findings

    assert (found.kind, found.node_id) == ("offset_gap", 2)
    assert found.meaning.endswith(
        "256 records are missing, or the base offset in its header is wrong, which no checksum covers"
    )


def test_a_batch_that_is_there_again_is_called_that(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    batches = split(cluster.segment(2))
    write(cluster.segment(2), [*batches[:6], batches[5], *batches[6:]])

    (found,) = check_paths([cluster.root]).findings

    assert (found.kind, found.node_id) == ("offset_repeated", 2)
    assert found.meaning.startswith("offset 17 is due, and 15 ")
    assert found.meaning.endswith(" again")
