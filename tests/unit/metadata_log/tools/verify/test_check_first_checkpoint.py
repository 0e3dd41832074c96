"""The findings about checkpoints if the log begins with the wrong one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from metadata_log.format.batch import batch_values, parse_header
from metadata_log.records import PartitionRecord, decode_record, encode_record
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding, Severity
from tests.support.damage import copy_cluster, split, with_values, write

FIRST = "00000000000000000173-0000000001.checkpoint"
SECOND = "00000000000000000255-0000000003.checkpoint"
THIRD = "00000000000000000310-0000000009.checkpoint"


def change(path: Path) -> None:
    """Another leader epoch of one partition, and right checksums and lengths."""
    batches = split(path)
    values = batch_values(batches[1], parse_header(batches[1]))
    records = [decode_record(value) for value in values]
    number, wrong = next((at, one) for at, one in enumerate(records) if isinstance(one, PartitionRecord))
    version = values[number][2]
    values[number] = encode_record(msgspec.structs.replace(wrong, leader_epoch=wrong.leader_epoch + 1), version)
    batches[1] = with_values(batches[1], values)
    write(path, batches)


def found_in(root: Path) -> list[Finding]:
    return [one for one in check_paths([root]).findings if one.severity is not Severity.NOTE]


def test_where_the_later_ones_follow_from_each_other_the_first_is_named_alone(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    path = cluster.metadata(11) / FIRST
    sound = found_in(cluster.root)
    change(path)
    [found] = [one for one in found_in(cluster.root) if one not in sound]
    assert (found.kind, found.node_id, found.file, found.offset) == ("checkpoint_disagrees", 11, str(path), 173)
    assert f"the log makes {SECOND}, {THIRD} of each other" in found.meaning
    assert "let it run" in found.advice


def test_where_there_is_one_later_one_either_may_be_wrong(clusters: Path, tmp_path: Path) -> None:
    """Its log is taken from the first, so that a sound one disagrees: the finding names both."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    path = cluster.metadata(11) / FIRST
    change(path)
    (cluster.metadata(11) / THIRD).unlink()
    found = [one for one in found_in(cluster.root) if one.kind == "checkpoint_disagrees"]
    assert found
    doubts = f"begins with {FIRST}, which may be the wrong one"
    assert all(one.file == str(path) or doubts in one.meaning for one in found)


@pytest.mark.parametrize("name", [SECOND, THIRD])
def test_a_later_one_is_named_where_the_log_makes_the_other_of_the_first(
    clusters: Path, tmp_path: Path, name: str
) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    sound = found_in(cluster.root)
    change(cluster.metadata(11) / name)
    found = [one for one in found_in(cluster.root) if one not in sound]
    assert {(one.kind, one.node_id, one.file) for one in found} == {
        ("checkpoint_disagrees", 11, str(cluster.metadata(11) / name))
    }
    assert not any("may be the wrong one" in one.meaning for one in found)
