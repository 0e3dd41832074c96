"""AllocateProducerIds and AssignReplicasToDirs: what brokers ask for themselves, fenced by their epoch."""

from __future__ import annotations

import pytest

from metadata_log.ids import DirectoryId, TopicId
from metadata_log.records import PartitionChangeRecord, ProducerIdsRecord
from quorum.api.directories import (
    AssignReplicasToDirs,
    AssignReplicasToDirsResponse,
    DirectoryAssignment,
    TopicInDirectory,
)
from quorum.api.error_codes import Error
from quorum.api.producer_ids import AllocateProducerIds, AllocateProducerIdsResponse
from tests.support.controller import EVE, ControlledCluster, directory, uuid

NOBODYS = TopicId(uuid(0xABC))


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11, 12, dirs=2)
    return cluster


def epoch_of(cluster: ControlledCluster, broker_id: int) -> int:
    return cluster.image.cluster.brokers[broker_id].epoch  # type: ignore[index]


class TestAllocateProducerIds:
    def allocate(self, cluster: ControlledCluster, broker_id: int, /, **kw: int) -> AllocateProducerIdsResponse:
        fields = {"broker_id": broker_id, "broker_epoch": epoch_of(cluster, broker_id), **kw}
        response = cluster.ask(AllocateProducerIds(**fields)).response
        assert isinstance(response, AllocateProducerIdsResponse)
        return response

    def test_blocks_never_meet(self, cluster: ControlledCluster) -> None:
        blocks = [self.allocate(cluster, broker_id) for broker_id in (11, 12, 11)]
        assert [(each.first_producer_id, each.count) for each in blocks] == [(0, 1000), (1000, 1000), (2000, 1000)]
        record = cluster.log[-1]
        assert record == ProducerIdsRecord(broker_id=11, broker_epoch=epoch_of(cluster, 11), next_producer_id=3000)  # type: ignore[arg-type]

    def test_the_next_controller_goes_on_where_the_last_stopped(self, cluster: ControlledCluster) -> None:
        self.allocate(cluster, 11)
        cluster.fail_over()
        assert self.allocate(cluster, 11).first_producer_id == 1000

    @pytest.mark.parametrize("kw", [{"broker_epoch": 0}, {"broker_id": 99}])
    def test_another_process_gets_none(self, cluster: ControlledCluster, kw: dict[str, int]) -> None:
        before = cluster.next_offset
        assert self.allocate(cluster, 11, **kw).error is Error.STALE_BROKER_EPOCH
        assert cluster.next_offset == before

    def test_the_last_block(self, cluster: ControlledCluster) -> None:
        last = (1 << 63) - 1001
        cluster.append((ProducerIdsRecord(broker_id=11, broker_epoch=1, next_producer_id=last),))  # type: ignore[arg-type]
        assert self.allocate(cluster, 11).first_producer_id == last
        assert self.allocate(cluster, 11).error is Error.UNKNOWN_SERVER_ERROR

    def test_who_may_not(self, cluster: ControlledCluster) -> None:
        request = AllocateProducerIds(broker_id=11, broker_epoch=epoch_of(cluster, 11))
        response = cluster.ask(request, EVE).response
        assert isinstance(response, AllocateProducerIdsResponse)
        assert response.error is Error.CLUSTER_AUTHORIZATION_FAILED


class TestAssignReplicasToDirs:
    def assign(
        self, cluster: ControlledCluster, at: DirectoryId, topic_id: TopicId, *partitions: int, **kw: int
    ) -> AssignReplicasToDirsResponse:
        topic = TopicInDirectory(topic_id=topic_id, partitions=partitions)
        fields = {"broker_id": 11, "broker_epoch": epoch_of(cluster, 11), **kw}
        response = cluster.ask(
            AssignReplicasToDirs(
                directories=(DirectoryAssignment(directory_id=at, topics=(topic,)),),
                **fields,
            )
        ).response
        assert isinstance(response, AssignReplicasToDirsResponse)
        return response

    def test_the_directory_comes_into_the_log(self, cluster: ControlledCluster) -> None:
        topic_id = cluster.place("t", (11, 12), (12, 11))
        unassigned = cluster.partition(topic_id).directories
        assert unassigned[0] == unassigned[1]
        response = self.assign(cluster, directory(11, 1), topic_id, 0, 1)
        assert response.directories[0].directory_id == directory(11, 1)
        assert response.directories[0].topics[0].partitions == ((0, Error.NONE), (1, Error.NONE))
        assert cluster.partition(topic_id, 0).directories == (directory(11, 1), unassigned[1])
        assert cluster.partition(topic_id, 1).directories == (unassigned[1], directory(11, 1))
        assert cluster.log[-1] == PartitionChangeRecord(
            topic_id=topic_id, partition_id=1, directories=(unassigned[1], directory(11, 1))
        )
        assert cluster.partition(topic_id).leader_epoch == 0

    def test_what_is_known_is_not_written_again(self, cluster: ControlledCluster) -> None:
        topic_id = cluster.place("t", (11, 12))
        self.assign(cluster, directory(11, 1), topic_id, 0)
        before = cluster.next_offset
        assert self.assign(cluster, directory(11, 1), topic_id, 0).error is Error.NONE
        assert cluster.next_offset == before

    def test_a_replica_in_a_lost_directory_leaves_the_isr(self, cluster: ControlledCluster) -> None:
        topic_id = cluster.place("t", (11, 12))
        self.assign(cluster, DirectoryId(uuid(0xEEE)), topic_id, 0)
        partition = cluster.partition(topic_id)
        assert (partition.isr, partition.leader, partition.leader_epoch) == ((12,), 12, 1)
        assert partition.directories[0] == uuid(0xEEE)

    def test_what_is_not_there_or_not_the_brokers(self, cluster: ControlledCluster) -> None:
        topic_id = cluster.place("t", (12,))
        answered = self.assign(cluster, directory(11), topic_id, 0, 7).directories[0].topics[0].partitions
        assert answered == ((0, Error.NOT_LEADER_OR_FOLLOWER), (7, Error.UNKNOWN_TOPIC_OR_PARTITION))
        answered = self.assign(cluster, directory(11), NOBODYS, 0).directories[0].topics[0].partitions
        assert answered == ((0, Error.UNKNOWN_TOPIC_ID),)

    @pytest.mark.parametrize("kw", [{"broker_epoch": 0}, {"broker_id": 99}])
    def test_another_process_is_not_believed(self, cluster: ControlledCluster, kw: dict[str, int]) -> None:
        topic_id = cluster.place("t", (11,))
        before = cluster.next_offset
        response = self.assign(cluster, directory(11, 1), topic_id, 0, **kw)
        assert (response.error, response.directories) == (Error.STALE_BROKER_EPOCH, ())
        assert cluster.next_offset == before

    def test_levels_without_directories_know_no_such_request(self) -> None:
        cluster = ControlledCluster(level=14, elr=False)
        cluster.start(11)
        topic_id = cluster.create("t")
        assert self.assign(cluster, directory(11), topic_id, 0).error is Error.UNSUPPORTED_VERSION

    def test_who_may_not(self, cluster: ControlledCluster) -> None:
        request = AssignReplicasToDirs(broker_id=11, broker_epoch=epoch_of(cluster, 11), directories=())
        response = cluster.ask(request, EVE).response
        assert isinstance(response, AssignReplicasToDirsResponse)
        assert response.error is Error.CLUSTER_AUTHORIZATION_FAILED
