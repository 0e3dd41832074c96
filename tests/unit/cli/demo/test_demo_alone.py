"""The demo needs a leader that writes alone. A deposed leader or another client's record is no substitute."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset
from quorum.cli.demo.alone import alone_from, appended
from quorum.cli.demo.replica_files import ReplicaFiles
from quorum.client.quorum_status import QuorumStatus, ReplicaStatus

NODE_1 = Path(__file__).parents[3] / "fixtures" / "basic" / "node-1" / "data" / "__cluster_metadata-0"
FOLLOWERS, LONGEST_MS = (2, 3), 500


def _voter(node_id: int, end: int, fetched_ms: int) -> ReplicaStatus:
    return ReplicaStatus(
        replica=ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes([node_id]) * 16)),
        log_end_offset=Offset(end), last_fetch_timestamp_ms=fetched_ms, last_caught_up_timestamp_ms=fetched_ms,
    )  # fmt: skip


def _status(end: int, fetched_ms: int) -> QuorumStatus:
    """Node 1 leads, and has all up to offset 9 committed."""
    return QuorumStatus(
        cluster_id="c", topic_id=TopicId(bytes(16)), address="", answered_by=1, leader_id=1, leader_epoch=Epoch(3),
        high_watermark=Offset(9), observers=(), nodes=(),
        voters=(_voter(1, end, -1), _voter(2, 9, fetched_ms), _voter(3, 9, fetched_ms)),
    )  # fmt: skip


@pytest.fixture
def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_a_leader_is_alone_once_it_keeps_no_fetch_of_its_followers(now_ms: int) -> None:
    looks = iter((_status(9, now_ms), _status(9, now_ms - 601), _status(9, now_ms)))
    assert alone_from(lambda: next(looks), FOLLOWERS, LONGEST_MS) == 9
    assert len(list(looks)) == 1


def test_a_leader_with_somebody_elses_record_is_not_alone(now_ms: int) -> None:
    assert alone_from(lambda: _status(10, now_ms - 601), FOLLOWERS, LONGEST_MS) is None


@pytest.mark.parametrize("leader_id", [-1, 2])
def test_a_deposed_leader_is_not_awaited(leader_id: int, now_ms: int) -> None:
    deposed = msgspec.structs.replace(_status(9, now_ms), leader_id=leader_id, voters=())
    assert alone_from(lambda: deposed, FOLLOWERS, LONGEST_MS) is None


def test_the_topic_is_awaited_and_not_any_record() -> None:
    log = ReplicaFiles(NODE_1)
    topic = list(log.topics())[-1]
    before = ReplicaFiles(NODE_1)
    before.batches = tuple(batch for batch in log.batches if batch.header.base_offset < topic.batch_start)
    looks = iter((before, before, log, log))
    assert appended(topic.name, before.end_offset - 1, lambda: next(looks), lambda: True) == topic
    assert list(looks) == []


def test_a_topic_of_an_attempt_before_is_another_one() -> None:
    log = ReplicaFiles(NODE_1)
    topic = list(log.topics())[-1]
    leads = iter((True, False))
    assert appended(topic.name, topic.offset + 1, lambda: log, lambda: next(leads)) is None
    assert list(leads) == []
