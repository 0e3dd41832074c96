"""A node with a fault in its disk, its directory or its log reports one clear error, and loses nothing."""

from __future__ import annotations

import errno
import re
from typing import Any

import msgspec
import pytest

from metadata_log.directory import (
    METADATA_DIRECTORY,
    MetaProperties,
    write_meta_properties,
    write_partition_metadata,
)
from metadata_log.errors import (
    CorruptBatchError,
    DirectoryLockedError,
    ForeignDirectoryError,
    LostVoteError,
    NewerLevelError,
    NotFormattedError,
    StorageFailedError,
    UnknownRecordError,
)
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_batch, build_control_batch
from metadata_log.ids import DirectoryId, TopicId
from metadata_log.image.features import METADATA_VERSION
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import (
    BeginTransactionRecord,
    FeatureLevelRecord,
    KRaftVersionRecord,
    TopicRecord,
    encode_control,
    encode_record,
)
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint, checkpoint_name, write_checkpoint
from quorum.api.brokers import FeatureRange
from quorum.api.error_codes import Error
from quorum.node.config.node_config import config_of
from quorum.node.core.ports import ControllerActivated, RequestRejected, StopAsked
from quorum.node.storage.open_replica import open_replica
from tests.support.node_cluster import Cluster
from tests.support.node_requests import CLUSTER_ID, DATA, REGISTER_BROKER
from tests.support.simulated_node import Node

DIRECTORY = f"{DATA}/{METADATA_DIRECTORY}"
SEGMENT = f"{DIRECTORY}/{0:020d}.log"


def _started(seed: int = 5) -> tuple[Cluster, Node]:
    cluster = Cluster(seed=seed)
    cluster.start()
    cluster.add_broker()
    leader = cluster.elect()
    cluster.run_for(500)
    return cluster, leader


def _alone(seed: int = 5, topics: int = 3) -> Node:
    """A stopped single controller with some topics."""
    cluster = Cluster(1, seed=seed)
    cluster.start()
    cluster.add_broker()
    node = cluster.elect()
    for number in range(topics):
        answers = cluster.create(node, f"t{number}")
        cluster.run_until(lambda answers=answers: bool(answers))  # type: ignore[misc]
    node.stop()
    cluster.run_until(lambda: not node.is_up)
    return node


def _append(files: SimulatedFiles, data: bytes, path: str = SEGMENT) -> None:
    handle = files.open(path)
    handle.pwrite(data, handle.size())
    handle.fdatasync()


def _end_of(node: Node) -> Offset:
    opened = open_replica(node.files, node.config)
    end = opened.log.log_end_offset
    opened.abandon()
    return end


def test_why_a_broker_is_not_let_in_is_told_to_the_log() -> None:
    """Its own log has the code alone: the protocol has no room for more."""
    cluster, leader = _started()
    old = FeatureRange(name=METADATA_VERSION, min_supported_version=1, max_supported_version=21)
    answers: list[Any] = []
    where = DirectoryId(b"\x07" * 16)
    leader.call(
        msgspec.structs.replace(REGISTER_BROKER, broker_id=7, features=(old,), log_dirs=(where,)), answers.append
    )
    cluster.run_until(lambda: bool(answers))
    assert answers[0].response.error is Error.UNSUPPORTED_VERSION
    (told,) = (
        event for event in leader.events if isinstance(event, RequestRejected) and event.request == "RegisterBroker"
    )
    assert (told.error, told.by_us, told.peer) == (Error.UNSUPPORTED_VERSION, True, "broker 7")
    assert "finalized version 4.3-IV0 (30) of metadata.version. It supports 3.0-IV1 (1) to 3.9-IV0 (21)." in told.why


@pytest.mark.parametrize("call", ["fdatasync", "pwrite"])
def test_a_failed_write_stops_the_leader_at_once_and_nothing_is_acknowledged(call: str) -> None:
    cluster, leader = _started()
    leader.files.fail_next(call, path=".log")
    answers = cluster.create(leader, "orders")
    sent = len(leader.events)
    cluster.run_until(lambda: not leader.is_up)
    assert isinstance(leader.failure, StorageFailedError)
    assert "Input/output error" in str(leader.failure) or "injected" in str(leader.failure)
    assert answers == []
    assert len(leader.events) == sent
    with pytest.raises(StorageFailedError):
        leader.executor.turn([StopAsked()])
    calls = leader.files.calls[call]
    cluster.run_until(lambda: cluster.leader is not None)
    assert leader.files.calls[call] == calls
    cluster.check()


def test_a_failed_vote_is_not_given() -> None:
    cluster = Cluster(seed=5)
    for node in cluster.nodes[1:]:
        node.files.fail_next("rename", path="quorum-state")
    cluster.start()
    cluster.run_until(lambda: sum(not node.is_up for node in cluster.nodes) == 2)
    cluster.run_for(3000)
    assert cluster.leader is None
    assert [type(node.failure) for node in cluster.nodes[1:]] == [StorageFailedError] * 2
    cluster.check()


def test_a_controller_whose_vote_is_lost_does_not_start() -> None:
    """It would vote again in an epoch in which it has voted, and say nothing."""
    node = _alone()
    node.files.unlink(f"{DIRECTORY}/quorum-state")
    node.files.fsync_dir(DIRECTORY)
    before = node.files.listdir(DIRECTORY)
    with pytest.raises(LostVoteError, match=r"no quorum-state.* may vote twice in an epoch.* `kraft recover inspect`"):
        open_replica(node.files, node.config)
    assert node.files.listdir(DIRECTORY) == before


def test_nor_does_one_whose_log_begins_later() -> None:
    """The log is trimmed to a checkpoint. Its start offset shows nothing about votes."""
    node = _alone()
    node.files.unlink(f"{DIRECTORY}/quorum-state")
    node.files.rename(SEGMENT, f"{DIRECTORY}/{7:020}.log")
    node.files.fsync_dir(DIRECTORY)
    with pytest.raises(LostVoteError, match=f"{7:020}.log"):
        open_replica(node.files, node.config)


def test_but_one_with_a_torn_first_write_does() -> None:
    """Its epoch was durable before that write began."""
    node = Cluster(1, seed=5).nodes[0]
    node.files.open(SEGMENT, create=True).pwrite(b"torn", 8)
    with pytest.raises(LostVoteError, match=f"{0:020}.log"):
        open_replica(node.files, node.config)


@pytest.mark.parametrize("size", [0, 100_000], ids=["empty", "made long beforehand"])
def test_who_has_never_had_a_record_needs_no_vote(size: int) -> None:
    """The node was killed between the creation of its first segment and its first write."""
    node = Cluster(1, seed=5).nodes[0]
    node.files.open(SEGMENT, create=True).truncate(size)
    opened = open_replica(node.files, node.config)
    opened.abandon()
    assert opened.storage.quorum_state is None


def test_a_full_disk_stops_the_node_and_room_lets_it_start_again() -> None:
    cluster, leader = _started()
    kept = cluster.create(leader, "kept")
    cluster.run_until(lambda: bool(kept))
    leader.files.free_bytes = 40
    lost = cluster.create(leader, "torn")
    cluster.run_until(lambda: not leader.is_up)
    assert isinstance(leader.failure, StorageFailedError)
    assert errno.errorcode[errno.ENOSPC] in repr(leader.failure.__cause__) or "space" in str(leader.failure)
    assert lost == []
    leader.files.free_bytes = None
    leader.start()
    assert leader.opened.recovery.torn_tail is not None
    cluster.run_until(lambda: cluster.leader is not None and "kept" in leader.executor.image.topics.by_name)
    cluster.check()


def test_a_torn_tail_is_cut_with_a_warning() -> None:
    node = _alone()
    end = _end_of(node)
    batch = build_batch(base_offset=end, epoch=Epoch(1), timestamp_ms=0, values=[b"\x01\x14\x00\x00"])
    _append(node.files, batch[:-3])
    opened = open_replica(node.files, node.config)
    assert opened.log.log_end_offset == end
    assert len(opened.recovery.warnings) == 1
    assert f"torn tail cut: {0:020d}.log: {len(batch) - 3} bytes" in opened.recovery.warnings[0]
    assert f"offset {end}" in opened.recovery.warnings[0]


def test_a_corrupt_batch_in_the_middle_is_refused_by_name_and_offset() -> None:
    node = _alone()
    before = node.files.content(SEGMENT)
    node.files.rot(SEGMENT, len(before) // 2, 0x10)
    rotten = node.files.content(SEGMENT)
    with pytest.raises(CorruptBatchError) as raised:
        open_replica(node.files, node.config)
    assert raised.value.file == SEGMENT
    assert raised.value.base_offset is not None
    assert node.files.content(SEGMENT) == rotten
    with pytest.raises(CorruptBatchError):
        open_replica(node.files, node.config)


def test_an_unknown_record_stops_the_node_by_type_and_offset() -> None:
    node = _alone()
    end = _end_of(node)
    epoch = node.executor.machine.epoch
    _append(node.files, build_batch(base_offset=end, epoch=epoch, timestamp_ms=0, values=[b"\x01\x63\x00\x00"]))
    before = node.files.content(SEGMENT)
    with pytest.raises(UnknownRecordError) as refused:
        node.start()
    assert (refused.value.api_key, refused.value.offset) == (99, end)
    assert node.files.content(SEGMENT) == before


def test_a_later_kraft_version_stops_the_node_before_it_votes() -> None:
    node = _alone()
    record = encode_control(KRaftVersionRecord(kraft_version=2))
    epoch = node.executor.machine.epoch
    _append(
        node.files,
        build_control_batch(base_offset=_end_of(node), epoch=epoch, timestamp_ms=0, records=[record]),
    )
    before = node.files.content(SEGMENT)
    with pytest.raises(NewerLevelError, match=r"finalises kraft\.version 2"):
        node.start()
    assert node.files.content(SEGMENT) == before


LATER_LEVELS = [
    (METADATA_VERSION, 34, "metadata.version 4.5-IV0 (34)"),
    (METADATA_VERSION, 35, "metadata.version 35"),
    ("later.version", 1, "later.version 1"),
    ("group.version", 9, "group.version 9"),
]


def _level(name: str, level: int) -> bytes:
    return encode_record(FeatureLevelRecord(name=name, feature_level=level), 0)


@pytest.mark.parametrize(("name", "level", "named"), LATER_LEVELS)
def test_a_level_of_a_later_release_stops_the_node_by_name(name: str, level: int, named: str) -> None:
    node = _alone()
    epoch = node.executor.machine.epoch
    batch = build_batch(base_offset=_end_of(node), epoch=epoch, timestamp_ms=0, values=[_level(name, level)])
    _append(node.files, batch)
    before = node.files.content(SEGMENT)

    if name == METADATA_VERSION:  # it is looked for before the node may vote
        with pytest.raises(NewerLevelError) as refused:
            node.start()
        failure: BaseException | None = refused.value
        assert node.files.content(SEGMENT) == before
    else:
        node.start()
        node.cluster.run_until(lambda: not node.is_up)
        failure = node.failure

    assert isinstance(failure, NewerLevelError)
    assert f"finalises {named}, which this software does not know" in str(failure)
    assert "Use the release that has finalised it" in str(failure)
    assert node.files.content(SEGMENT).startswith(before)


def test_levels_of_a_later_release_in_the_first_records_are_refused_before_a_log_begins() -> None:
    node = Cluster(1).node(1)
    path = f"{DATA}/bootstrap.checkpoint"
    node.files.unlink(path)
    times = CheckpointTimes.at(0, last_contained_ms=0)
    values = [_level(METADATA_VERSION, 34)]
    write_checkpoint(node.files, path, build_checkpoint(values, epoch=Epoch(0), times=times))

    with pytest.raises(NewerLevelError, match=r"finalises metadata\.version 4\.5-IV0 \(34\)"):
        open_replica(node.files, node.config)


@pytest.mark.parametrize(("name", "level", "named"), LATER_LEVELS)
def test_a_node_does_not_start_from_a_checkpoint_of_a_later_release(name: str, level: int, named: str) -> None:
    node = _alone()
    end = OffsetAndEpoch(offset=_end_of(node), epoch=node.executor.machine.epoch)
    times = CheckpointTimes.at(1, last_contained_ms=1)
    values = [_level(METADATA_VERSION, 30), _level(name, level)]
    write_checkpoint(
        node.files, f"{DIRECTORY}/{checkpoint_name(end)}", build_checkpoint(values, epoch=end.epoch, times=times)
    )

    with pytest.raises(NewerLevelError, match=re.escape(f"finalises {named}")):
        open_replica(node.files, node.config)


def test_an_open_transaction_is_aborted_by_the_next_active_controller() -> None:
    node = _alone()
    end = _end_of(node)
    level = 30
    values = [
        encode_record(BeginTransactionRecord(name="half"), 0),
        encode_record(TopicRecord(name="unfinished", topic_id=TopicId(b"\x44" * 16)), 0),
    ]
    assert node.executor.image.features.metadata_version == level
    epoch = node.executor.machine.epoch
    _append(node.files, build_batch(base_offset=end, epoch=epoch, timestamp_ms=0, values=values))
    node.start()
    node.cluster.elect()
    cluster = node.cluster
    cluster.run_until(lambda: node.executor.image.offset_and_epoch.offset == node.executor.machine.log_end_offset)
    names = set(node.executor.image.topics.by_name)
    assert "unfinished" not in names
    assert {"t0", "t1", "t2"} <= names
    assert not node.executor.replayer.in_transaction
    answers = cluster.create(node, "unfinished")
    cluster.run_until(lambda: bool(answers))
    response: Any = answers[0].response
    assert response.topics[0].error is Error.NONE


def test_a_long_log_is_replayed_in_slices_that_leave_room_for_others() -> None:
    node = _alone(topics=700)
    node.start()
    turns_behind = 0
    while (
        not any(isinstance(event, ControllerActivated) for event in node.events[-3:])
        or node.executor.active_epoch is None
    ):
        assert node.cluster.step(node.cluster.now_ms + 10_000)
        turns_behind += node.executor.high_watermark > node.executor.image.offset_and_epoch.offset
    assert turns_behind >= 3
    assert len(node.executor.image.topics.by_id) == 701


def test_an_unformatted_directory_is_named() -> None:
    files = SimulatedFiles()
    files.mkdirs(DATA)
    with pytest.raises(
        NotFormattedError,
        match=r"/data is not formatted: .* not mounted, mount it, .*; run `kraft storage",
    ):
        open_replica(files, Cluster(1).node(1).config)


def test_another_clusters_and_another_nodes_directory_are_refused() -> None:
    node = Cluster(1).node(1)
    with pytest.raises(ForeignDirectoryError, match="belongs to cluster"):
        open_replica(node.files, node.config, cluster_id="other")
    stranger = msgspec.structs.replace(node.config, node_id=2)
    with pytest.raises(ForeignDirectoryError, match=r"belongs to node 1, but node\.id is 2"):
        open_replica(node.files, stranger)


def test_directories_of_two_clusters_in_one_list_are_refused() -> None:
    node = Cluster(1).node(1)
    node.files.mkdirs("/more")
    foreign = MetaProperties(cluster_id="other", node_id=node.node_id, directory_id=node.voter.key.directory_id)
    write_meta_properties(node.files, "/more", foreign, written_at_ms=0)
    config = msgspec.structs.replace(node.config, log_dirs=(DATA, "/more"))
    with pytest.raises(ForeignDirectoryError, match=f"/more belongs to cluster other, not to {CLUSTER_ID}"):
        open_replica(node.files, config)


def test_a_directory_in_use_is_refused_and_free_after_a_refusal() -> None:
    node = Cluster(1).node(1)
    opened = open_replica(node.files, node.config)
    with pytest.raises(DirectoryLockedError, match=r"/data/\.lock is locked"):
        open_replica(node.files, node.config)
    opened.abandon()
    write_partition_metadata(node.files, DIRECTORY, TopicId(b"\x44" * 16))
    for _ in range(2):
        with pytest.raises(ForeignDirectoryError, match="not the metadata topic's"):
            open_replica(node.files, node.config)


def test_a_controller_without_its_bootstrap_records_is_told_to_format() -> None:
    node = Cluster(1).node(1)
    node.files.unlink(f"{DATA}/bootstrap.checkpoint")
    with pytest.raises(NotFormattedError, match=r"/data holds no bootstrap records: it has neither bootstrap\."):
        open_replica(node.files, node.config)


def test_an_agent_opens_a_directory_without_voters() -> None:
    node = Cluster(1).node(1)
    config = config_of(
        {
            "process.roles": "broker",
            "node.id": "1",
            "listeners": "GRPC://b:9096",
            "log.dirs": "/b",
            "controller.quorum.bootstrap.servers": "c1:9094",
        }
    )
    node.files.mkdirs("/b")
    meta = MetaProperties(cluster_id=CLUSTER_ID, node_id=node.node_id, directory_id=node.voter.key.directory_id)
    write_meta_properties(node.files, "/b", meta, written_at_ms=0)
    opened = open_replica(node.files, config)
    assert len(opened.storage.voters.latest) == 0
    assert opened.bootstrap_records == ()
    assert node.files.content(f"/b/{METADATA_DIRECTORY}/partition.metadata").endswith(b"AAAAAAAAAAAAAAAAAAAAAQ")
