"""What is said of checkpoints where the one that the log begins with is the wrong one."""

from __future__ import annotations

from pathlib import Path

import msgspec

from metadata_log.batch import batch_values, parse_header
from metadata_log.records import PartitionRecord, decode_record, encode_record
from metadata_log.tools.check import check_paths
from tests.support.damage import copy_cluster, split, with_values, write


def test_the_checkpoint_that_the_log_begins_with_may_be_the_wrong_one(clusters: Path, tmp_path: Path) -> None:
    """Its log is taken from it, so that sound ones disagree: the finding names it, too."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    name = "00000000000000000173-0000000001.checkpoint"
    path = cluster.metadata(11) / name
    batches = split(path)
    values = batch_values(batches[1], parse_header(batches[1]))
    records = [decode_record(value) for value in values]
    number, wrong = next((at, one) for at, one in enumerate(records) if isinstance(one, PartitionRecord))
    version = values[number][2]
    values[number] = encode_record(msgspec.structs.replace(wrong, leader_epoch=wrong.leader_epoch + 1), version)
    batches[1] = with_values(batches[1], values)
    write(path, batches)

    found = [one for one in check_paths([cluster.root]).findings if one.kind == "checkpoint_disagrees"]

    assert found
    doubts = f"begins with {name}, which may be the wrong one"
    assert all(one.file == str(path) or doubts in one.meaning for one in found)
