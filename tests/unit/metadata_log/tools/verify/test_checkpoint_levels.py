"""A checkpoint whose finalised level was lowered is whole: it is held against the log, and against other nodes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from metadata_log.format.batch import batch_values, parse_header
from metadata_log.records import FeatureLevelRecord, decode_record, encode_record
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding
from tests.support.damage import copy_cluster, split, with_values, write
from tests.support.damage_files import other_first_checkpoint

HIT = 2


def lower(path: Path, level: int) -> None:
    """Set a checkpoint's metadata.version to another level, its checksums right."""
    batches = split(path)
    header = parse_header(batches[1])
    records = [decode_record(value) for value in batch_values(batches[1], header)]
    number = next(
        at
        for at, record in enumerate(records)
        if isinstance(record, FeatureLevelRecord) and record.name == "metadata.version"
    )
    values = list(batch_values(batches[1], header))
    values[number] = encode_record(msgspec.structs.replace(records[number], feature_level=level), 0)
    batches[1] = with_values(batches[1], values)
    write(path, batches)


def errors_at(root: Path, path: Path) -> list[Finding]:
    found = check_paths(sorted(root.glob("node-*"))).findings
    assert {one.kind for one in found} <= {"checkpoint_disagrees", "record_above_level", "metadata_differs"}
    return [one for one in found if one.kind == "checkpoint_disagrees" and one.file == str(path)]


def test_it_is_held_against_the_log_beside_it(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "upgrade-path", tmp_path / "c")
    path = next(iter(cluster.metadata(HIT).glob("*0323-*.checkpoint")))
    lower(path, 29)

    (found,) = errors_at(cluster.root, path)

    assert (found.node_id, found.offset) == (HIT, 323)
    assert found.meaning == "feature metadata.version is 29 in the checkpoint and 30 by the log"


@pytest.mark.parametrize("level", [29, 14])
def test_one_that_the_log_begins_with_is_held_against_other_nodes(level: int, clusters: Path, tmp_path: Path) -> None:
    """At level 14 its records could not even be written."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "c")
    path = next(iter(cluster.metadata(HIT).glob("*0244-*.checkpoint")))
    lower(path, level)

    (found,) = errors_at(cluster.root, path)

    assert (found.node_id, found.offset) == (HIT, 244)
    assert found.meaning.endswith(f": feature metadata.version is {level} here and 30 on node 1")


def test_what_other_nodes_have_otherwise_is_named(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "c")
    planted = other_first_checkpoint(cluster)

    (found,) = errors_at(cluster.root, planted.file)

    assert "have other metadata than it says: the configs of" in found.meaning
    assert "on node 1" in found.meaning
