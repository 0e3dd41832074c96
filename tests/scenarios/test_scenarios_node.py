"""Scenarios that need a whole controller: its directory, and the committed log."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.ids import ZERO_DIRECTORY_ID, NodeId, ReplicaKey
from metadata_log.offsets import Offset
from metadata_log.storage.file_log import LogConfig
from metadata_log.voters import VoterSet
from quorum.node.core.ports import ControllerActivated
from quorum.node.core.retention import SnapshotConfig
from quorum.node.storage.open_replica import open_replica
from quorum.raft.config import StorageState
from tests.support.node_cluster import LEVEL, Cluster
from tests.support.scenario import Scenario, dynamic_voters, static_voters


@pytest.mark.parametrize("topics", [0, 3], ids=["empty log", "log of earlier epochs"])
def test_the_controller_is_active_once_its_image_holds_its_epochs_first_record(topics: int) -> None:
    """Not when it is elected: its image would lack what earlier leaders committed."""
    cluster = Cluster(3, seed=1)
    cluster.start()
    if topics:
        leader = cluster.elect()
        cluster.add_broker()
        for number in range(topics):
            answers = cluster.create(leader, f"t{number}")
            cluster.run_until(lambda answers=answers: bool(answers))  # type: ignore[misc]
        leader.crash()
    cluster.run_until(lambda: any(node.is_up and node.executor.machine.is_leader for node in cluster.nodes))
    elected = next(node for node in cluster.nodes if node.is_up and node.executor.machine.is_leader)
    start, told = elected.executor.epoch_start_offset, len(elected.events)
    assert start is not None
    assert elected.executor.active_epoch is None
    while elected.executor.active_epoch is None:
        assert not [event for event in elected.events[told:] if isinstance(event, ControllerActivated)]
        assert cluster.step(cluster.now_ms + 1000)
    assert elected.executor.high_watermark > start
    assert elected.executor.replayer.end.offset > start
    assert [event.epoch for event in elected.events[told:] if isinstance(event, ControllerActivated)] == [
        elected.executor.machine.epoch
    ]
    assert len(elected.executor.image.topics.by_name) >= topics


def test_the_voters_are_those_of_the_checkpoint_whatever_the_configuration_names() -> None:
    """A directory formatted with voters keeps them; `controller.quorum.voters` is for directories without."""
    cluster = Cluster(3, seed=1)
    for node in cluster.nodes:
        two = VoterSet.of(other.voter for other in cluster.nodes[:2])
        config = msgspec.structs.replace(node.config, static_voters=two)
        opened = open_replica(node.files, config)
        assert (opened.storage.voters.latest.node_ids, opened.storage.voters.kraft_version) == ((1, 2, 3), 1)
        opened.abandon()


@pytest.mark.parametrize("count", [1, 3], ids=["one", "three"])
def test_the_records_that_a_directory_was_formatted_with_are_in_every_image(count: int) -> None:
    """The first active controller writes them into the log, from which every replica gets them."""
    cluster = Cluster(count, seed=1)
    cluster.start()
    for node in cluster.nodes:
        assert node.executor.image.features.metadata_version is None
        assert node.opened.bootstrap_records
    leader = cluster.elect()

    def is_settled() -> bool:
        end = leader.executor.machine.log_end_offset
        return end > 0 and all(node.executor.image.offset_and_epoch.offset == end for node in cluster.nodes)

    cluster.run_until(is_settled)
    assert {node.executor.image.features.metadata_version for node in cluster.nodes} == {LEVEL}


@pytest.mark.parametrize("entire_log", [True, False], ids=["entire log", "trimmed log"])
def test_a_restarted_controller_goes_on_from_its_newest_checkpoint(entire_log: bool) -> None:
    """For leader and followers, the image is that of the checkpoint before a record of the log is known to be
    committed."""
    kept = {"retention_bytes": -1, "retention_ms": -1} if entire_log else {"retention_bytes": 1}
    config = SnapshotConfig(max_new_record_bytes=800, settle_ms=0, **kept)
    cluster = Cluster(3, seed=1, log=LogConfig(segment_bytes=1000), snapshots=config)
    cluster.start()
    leader = cluster.elect()
    cluster.add_broker()
    for number in range(30):
        answers = cluster.create(leader, f"t{number}")
        cluster.run_until(lambda answers=answers: bool(answers))  # type: ignore[misc]
    cluster.run_for(1000)
    for node in cluster.nodes:
        assert (node.executor.log.start_offset == 0) == entire_log
        node.crash()
    cluster.start()
    begun = {}
    for node in cluster.nodes:
        newest = node.opened.storage.snapshots[-1].id
        begun[node.node_id] = node.executor.image.offset_and_epoch
        assert begun[node.node_id] == newest
        assert newest.offset > 20
        assert len(node.executor.image.topics.by_name) > 5
    successor = cluster.elect()
    cluster.run_until(lambda: all(node.executor.image == successor.executor.image for node in cluster.nodes))
    assert {f"t{number}" for number in range(30)} <= set(successor.executor.image.topics.by_name)


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_a_replica_without_a_directory_id_votes_among_static_voters_alone(kind: str) -> None:
    """Kafka never makes one; a directory that Kafka before 3.7 formatted has no id, and is a static voter's."""
    voters = static_voters(1, 2) if kind == "static" else dynamic_voters(1, 2)
    nameless = ReplicaKey(node_id=NodeId(1), directory_id=ZERO_DIRECTORY_ID)
    scenario = Scenario().load(StorageState(voters=voters), me=nameless).tell("start")
    assert scenario.core.is_voter == (kind == "static")
    assert scenario.core.role == ("prospective" if kind == "static" else "unattached")
    assert scenario.core.log_end_offset == Offset(0)
