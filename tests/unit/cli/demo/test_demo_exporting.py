"""The demo's exports: all five logs end at one offset, whatever comes late."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.tools.read.manifest import Manifest
from quorum.cli.demo.cluster import Node
from quorum.cli.demo.comeback import registered_anew
from quorum.cli.demo.exporting import at_one_offset, common_end
from quorum.cli.demo.replica_files import ReplicaFiles
from quorum.cli.demo.story import CheckFailedError
from quorum.client.quorum_status import QuorumStatus, ReplicaStatus

NODE_1 = Path(__file__).parents[3] / "fixtures" / "basic" / "node-1" / "data" / "__cluster_metadata-0"
REGISTRATION_OF_1 = 4
"""The batch of that log that holds it."""


def _manifests(*ends: int) -> Sequence[Manifest]:
    return [
        Manifest(
            cluster_id="c", node_id=number, directory_id=None, start_offset=0, end_offset=end, epoch=1, voters=(),
            high_watermark=end, cut_tail_bytes=0, files=(),
        )
        for number, end in enumerate(ends)
    ]  # fmt: skip


def test_what_is_committed_between_two_exports_has_all_exported_again() -> None:
    settled, exported = iter((510, None, 511)), iter((_manifests(510, 511, 511), _manifests(511, 511, 511)))
    assert at_one_offset(lambda: next(settled), lambda: next(exported)) == 511


def test_exports_that_never_end_at_one_offset_are_told() -> None:
    with pytest.raises(CheckFailedError, match=r"something was written each of the 10 times .*\[5, 6\]"):
        at_one_offset(lambda: 5, lambda: _manifests(5, 6))


def _replica(node_id: int, end: int) -> ReplicaStatus:
    key = ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes([node_id]) * 16))
    return ReplicaStatus(
        replica=key, log_end_offset=Offset(end), last_fetch_timestamp_ms=0, last_caught_up_timestamp_ms=0
    )


def test_logs_are_settled_where_all_hold_and_know_the_same() -> None:
    nodes, marks = (1, 2, 11), (9, 9, 9)
    status = QuorumStatus(
        cluster_id="c", topic_id=TopicId(bytes(16)), address="", answered_by=1, leader_id=1, leader_epoch=Epoch(3),
        high_watermark=Offset(9), voters=(_replica(1, 9), _replica(2, 9)), observers=(_replica(11, 9),), nodes=(),
    )  # fmt: skip
    assert common_end(status, nodes, marks) == 9
    assert common_end(status, nodes, (9, 8, 9)) is None
    assert common_end(status, (*nodes, 12), marks) is None
    behind = msgspec.structs.replace(status, observers=(_replica(11, 8),))
    assert common_end(behind, nodes, marks) is None
    ahead = msgspec.structs.replace(status, voters=(_replica(1, 10), _replica(2, 9)))
    assert common_end(ahead, nodes, marks) is None
    assert common_end(msgspec.structs.replace(status, answered_by=2), nodes, marks) is None


def test_a_controller_that_came_back_is_awaited_until_it_has_registered_anew(tmp_path: Path) -> None:
    log = ReplicaFiles(NODE_1)
    shutil.copytree(NODE_1, tmp_path / "late")
    os.truncate(tmp_path / "late" / "00000000000000000000.log", log.batches[REGISTRATION_OF_1].position)
    late = ReplicaFiles(tmp_path / "late")
    looks = iter((late, late, log))
    registered_anew(Node("controller", 1, tmp_path, {}, {}), None, lambda: next(looks))
    assert list(looks) == []
    known = log.image().cluster.controllers[NodeId(1)].incarnation_id
    again = iter((log, late))
    with pytest.raises(StopIteration):
        registered_anew(Node("controller", 1, tmp_path, {}, {}), known, lambda: next(again))
