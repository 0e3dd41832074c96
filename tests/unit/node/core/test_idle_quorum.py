"""Whole controllers that have nothing to do: their NoOps, and what these must not set going."""

from __future__ import annotations

import pytest

from metadata_log.directory import METADATA_DIRECTORY, read_committed_state
from metadata_log.format.batch import batch_values
from metadata_log.records import NoOpRecord, decode_record
from metadata_log.storage.file_log import LogConfig
from metadata_log.storage.no_ops import NO_OP_BYTES
from quorum.node.core.checkpoint_jobs import SnapshotGenerated
from quorum.node.core.fence import KEEP_IDLE_EVERY_MS
from quorum.node.core.ports import ImagePublished
from quorum.node.core.retention import SnapshotConfig
from tests.support.node_cluster import Cluster
from tests.support.node_requests import DATA
from tests.support.simulated_node import Node

INTERVAL_MS = 500
NEVER = SnapshotConfig(max_new_record_bytes=1 << 40, max_interval_ms=0, settle_ms=0)


def _idle(snapshots: SnapshotConfig = NEVER, log: LogConfig | None = None) -> Cluster:
    """Three controllers, a second after the last record that is no NoOp."""
    cluster = Cluster(3, seed=1, snapshots=snapshots, log=log)
    cluster.max_idle_interval_ms = INTERVAL_MS
    cluster.start()
    cluster.elect()
    cluster.add_broker()
    cluster.run_for(1_000)
    return cluster


def _end(node: Node) -> int:
    return int(node.executor.machine.log_end_offset)


def _taken(node: Node) -> int:
    return sum(isinstance(event, SnapshotGenerated) for event in node.events)


def test_the_leader_alone_writes_two_a_second_and_all_follow() -> None:
    cluster = _idle()
    leader, begin = cluster.elect(), _end(cluster.elect())
    cluster.run_for(10_000)
    assert 18 <= _end(leader) - begin <= 20
    records = [
        decode_record(value)
        for header, data in leader.executor.log.iter_from(leader.executor.log.log_end_offset - 18)  # type: ignore[arg-type]
        for value in batch_values(data, header)
    ]
    assert records == [NoOpRecord()] * 18
    for node in cluster.nodes:
        assert _end(leader) - node.executor.image.offset_and_epoch.offset <= 1
        moves = [event for event in node.events if isinstance(event, ImagePublished)]
        assert not any(move.changes_metadata for move in moves[-18:])
    cluster.check()


def test_a_leader_that_is_cut_off_writes_one_at_the_most() -> None:
    cluster = _idle()
    leader, begin = cluster.elect(), _end(cluster.elect())
    others = [node for node in cluster.nodes if node is not leader]
    for node in others:
        node.crash()
    cluster.run_for(60_000)
    assert _end(leader) <= begin + 1
    for node in others:
        node.start()
    cluster.elect()
    cluster.run_for(5_000)
    assert _end(cluster.elect()) > begin + 2
    cluster.check()


@pytest.mark.parametrize(
    "snapshots",
    [
        pytest.param(SnapshotConfig(max_new_record_bytes=1_000, max_interval_ms=0, settle_ms=0), id="bytes"),
        pytest.param(SnapshotConfig(max_new_record_bytes=1 << 40, max_interval_ms=5_000, settle_ms=0), id="time"),
    ],
)
def test_no_ops_trigger_no_snapshot_before_a_restart_or_after(snapshots: SnapshotConfig) -> None:
    cluster = _idle(snapshots)
    cluster.run_for(7_500)
    before = [_taken(node) for node in cluster.nodes]
    cluster.run_for(30_000)
    assert [_taken(node) for node in cluster.nodes] == before
    leader = cluster.elect()
    follower = next(node for node in cluster.nodes if node is not leader)
    follower.crash()
    follower.start()
    cluster.run_for(7_500)
    if not snapshots.max_interval_ms:
        assert [_taken(node) for node in cluster.nodes] == before
    before = [_taken(node) for node in cluster.nodes]  # by time its new registration brought one
    cluster.run_for(15_000)
    assert [_taken(node) for node in cluster.nodes] == before
    for n in range(40):
        cluster.create_each(f"topic-{n}")
    cluster.run_for(7_500)
    assert all(_taken(node) > count for node, count in zip(cluster.nodes, before, strict=True)), "records still do"


def test_the_log_of_an_idle_quorum_stays_bounded() -> None:
    """Many NoOps bring one snapshot, and retention then removes what is before it."""
    most, segment = 2_500, 1_000
    kept = SnapshotConfig(
        max_new_record_bytes=1 << 40, max_interval_ms=0, max_no_op_bytes=most, retention_bytes=0, settle_ms=0
    )
    cluster = _idle(kept, LogConfig(segment_bytes=segment))
    passed_ms = 150_000
    cluster.run_for(passed_ms)
    written = NO_OP_BYTES * passed_ms // INTERVAL_MS
    assert written > 8 * most
    for node in cluster.nodes:
        log = node.executor.log
        assert log.start_offset > 0
        assert log.size_in_bytes <= most + 2 * segment
        assert 4 <= _taken(node) <= written // most + 1
    cluster.check()


def test_an_observer_keeps_what_is_committed_once_a_minute_while_nothing_changes() -> None:
    cluster = Cluster(3, seed=1)
    cluster.max_idle_interval_ms = INTERVAL_MS
    observer = cluster.add_observer()
    cluster.start()
    cluster.add_broker()
    cluster.run_for(5_000)
    directory = f"{DATA}/{METADATA_DIRECTORY}"
    kept = read_committed_state(observer.files, directory)
    assert kept is not None
    cluster.run_for(KEEP_IDLE_EVERY_MS // 2)
    assert read_committed_state(observer.files, directory) == kept
    assert observer.executor.image.offset_and_epoch.offset > kept.high_watermark + 30
    cluster.run_for(KEEP_IDLE_EVERY_MS)
    later = read_committed_state(observer.files, directory)
    assert later is not None
    assert later.high_watermark > kept.high_watermark
    cluster.create_each("a")
    cluster.run_for(1_500)
    after = read_committed_state(observer.files, directory)
    assert after is not None
    assert after.high_watermark > later.high_watermark, "what changes the metadata is kept within a second"
