"""The first state of a new partition by its replicas is computed once for each state of the cluster."""

from __future__ import annotations

from metadata_log.ids import DirectoryId, NodeId
from metadata_log.image import ClusterImage, MetadataImage
from quorum.controller.config import ControllerConfig
from quorum.controller.partitions.brokers import Brokers, NewPartition, NewPartitions
from quorum.controller.turn import SoftState

BROKERS = Brokers(
    active=frozenset({NodeId(1), NodeId(2)}),
    racks=(),
    usable=3,
    usable_unfenced=2,
    default_directories={NodeId(each): DirectoryId(bytes([each]) * 16) for each in (1, 2, 3)},
)


def test_the_isr_holds_who_is_active_and_directories_are_named_where_they_may_be() -> None:
    partitions = NewPartitions(BROKERS)
    replicas, isr = (NodeId(2), NodeId(3), NodeId(1)), (NodeId(2), NodeId(1))
    directories = tuple(DirectoryId(bytes([each]) * 16) for each in replicas)
    for _ in range(2):
        found = partitions.on(replicas, has_directories=False)
        assert found == NewPartition(replicas=replicas, isr=isr, directories=())
        found = partitions.on(replicas, has_directories=True)
        assert found == NewPartition(replicas=replicas, isr=isr, directories=directories)


def test_another_state_of_the_cluster_is_looked_at_anew() -> None:
    state = SoftState(ControllerConfig(node_id=NodeId(1), cluster_id="c"), MetadataImage.empty())
    cluster = ClusterImage()
    first = state.new_partitions(cluster)
    assert state.new_partitions(cluster) is first
    assert state.new_partitions(ClusterImage()) is not first
