"""A live broker loses a directory with more replicas in it than one turn may change (KIP-858)."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.ids import NodeId, TopicId
from metadata_log.records import BrokerRegistrationChangeRecord, PartitionChangeRecord
from quorum.api.directories import (
    AssignReplicasToDirs,
    AssignReplicasToDirsResponse,
    DirectoryAssignment,
    TopicInDirectory,
)
from quorum.api.error_codes import Error
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, ControlledCluster, directory


def _with_lost_directory(*, topics: int) -> tuple[ControlledCluster, list[TopicId]]:
    """Brokers 11 and 12 with one partition a topic, in 11's first directory; four changes a turn."""
    cluster = ControlledCluster(config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=4))
    cluster.start(12)
    cluster.start(11, dirs=2)
    placed = [cluster.place(f"t{number}", (11, 12)) for number in range(topics)]
    for topic_id in placed:
        where = (directory(11, 0), directory(12))
        cluster.append((PartitionChangeRecord(topic_id=topic_id, partition_id=0, directories=where),))
    cluster.settle()
    return cluster, placed


def test_a_directory_with_many_replicas_is_lost_in_steps_and_written_last() -> None:
    cluster, topics = _with_lost_directory(topics=10)
    lost = directory(11, 0)
    first = cluster.heartbeat(11, offline_log_dirs=(lost,)).records
    assert [type(record) for record in first] == [PartitionChangeRecord] * 4, "no more than a turn may"
    assert lost in cluster.image.cluster.brokers[NodeId(11)].directories
    rest = cluster.settle()
    assert [type(record) for record in rest] == [PartitionChangeRecord] * 6 + [BrokerRegistrationChangeRecord]
    assert cluster.image.cluster.brokers[NodeId(11)].directories == (directory(11, 1),)
    assert {cluster.partition(topic_id).isr for topic_id in topics} == {(12,)}
    assert cluster.heartbeat(11, offline_log_dirs=(lost,)).records == ()
    assert cluster.settle() == []


def test_the_next_controller_begins_anew_with_a_directory_that_is_being_lost() -> None:
    cluster, topics = _with_lost_directory(topics=10)
    cluster.heartbeat(11, offline_log_dirs=(directory(11, 0),))
    cluster.fail_over()
    cluster.settle()
    assert {cluster.partition(topic_id).leader for topic_id in topics} == {11, 12}
    cluster.heartbeat(11, offline_log_dirs=(directory(11, 0),))
    cluster.settle()
    assert {cluster.partition(topic_id).leader for topic_id in topics} == {12}
    assert cluster.image.cluster.brokers[NodeId(11)].directories == (directory(11, 1),)


def test_what_comes_into_a_directory_that_is_being_lost_goes_with_it() -> None:
    cluster, _ = _with_lost_directory(topics=10)
    late = cluster.place("late", (11, 12))
    cluster.append(
        (PartitionChangeRecord(topic_id=late, partition_id=0, directories=(directory(11, 1), directory(12))),)
    )
    lost = directory(11, 0)
    cluster.heartbeat(11, offline_log_dirs=(lost,))
    epoch = cluster.image.cluster.brokers[NodeId(11)].epoch
    into = DirectoryAssignment(directory_id=lost, topics=(TopicInDirectory(topic_id=late, partitions=(0,)),))
    cluster.ask(AssignReplicasToDirs(broker_id=11, broker_epoch=epoch, directories=(into,)))
    assert cluster.partition(late).isr == (12,)
    cluster.settle()
    assert cluster.partition(late).leader == 12


@pytest.mark.parametrize(("most", "error"), [(2, Error.INVALID_REQUEST), (3, Error.NONE)])
def test_more_replicas_than_a_batch_holds_are_not_looked_at(most: int, error: Error) -> None:
    cluster, topics = _with_lost_directory(topics=3)
    cluster.config = msgspec.structs.replace(cluster.config, max_records_per_batch=most)
    cluster.fail_over()
    epoch = cluster.image.cluster.brokers[NodeId(11)].epoch
    named = tuple(TopicInDirectory(topic_id=topic_id, partitions=(0,)) for topic_id in topics)
    directories = tuple(
        DirectoryAssignment(directory_id=directory(11, 1), topics=each) for each in (named[:2], named[2:])
    )
    request = AssignReplicasToDirs(broker_id=11, broker_epoch=epoch, directories=directories)
    response = cluster.ask(request).response
    assert isinstance(response, AssignReplicasToDirsResponse)
    assert response.error is error
    assert bool(response.directories) is (error is Error.NONE)


def test_who_is_registered_anew_meanwhile_keeps_its_directories() -> None:
    cluster, _ = _with_lost_directory(topics=10)
    cluster.heartbeat(11, offline_log_dirs=(directory(11, 0),))
    cluster.elapse(60_000)
    while cluster.register(11, incarnation=99, dirs=2).error is not Error.NONE:
        assert len(cluster.image.cluster.brokers[NodeId(11)].directories) == 2
    cluster.settle()
    assert len(cluster.image.cluster.brokers[NodeId(11)].directories) == 2
