"""Rules of a state machine: requests of administrators to a controller, each with its expected result.

Topics are made elsewhere. Brokers' AssignReplicasToDirs and AllocateProducerIds are here, too.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from metadata_log.ids import NodeId
from metadata_log.image import PartitionImage
from quorum.api.configs import (
    AlterableConfig,
    AlterableResource,
    ConfigOperation,
    IncrementalAlterConfigs,
    IncrementalAlterConfigsResponse,
)
from quorum.api.directories import (
    AssignReplicasToDirs,
    AssignReplicasToDirsResponse,
    DirectoryAssignment,
    TopicInDirectory,
)
from quorum.api.error_codes import Error
from quorum.api.features import FeatureUpdate, UpdateFeatures, UpdateFeaturesResponse, UpgradeType
from quorum.api.partition_counts import CreatePartitions, CreatePartitionsResponse, GrowingTopic
from quorum.api.producer_ids import AllocateProducerIds, AllocateProducerIdsResponse
from tests.support.broker_rules import BROKERS, BrokerRules
from tests.support.controller import ELR, directory

MIN_ISR = "min.insync.replicas"


class AdminRules(BrokerRules):
    """Rules about the topics that a subclass makes."""

    def __init__(self) -> None:
        super().__init__()
        self.next_producer_id = 0
        self.was_without_elr = False
        """True if the feature was off at any time: then the last member of an ISR stays in it, and may be fenced
        later."""

    def any_partition(self, data: st.DataObject) -> tuple[str, PartitionImage]:
        """Draw a partition; return its topic's name with it."""
        topics = self.cluster.image.topics.by_id.values()
        known = sorted((topic.name, each.partition_id) for topic in topics for each in topic.partitions)
        name, index = data.draw(st.sampled_from(known))
        return name, self.cluster.partition(self.cluster.image.topics.by_name[name], index)

    @precondition(lambda self: self.partitions())
    @rule(data=st.data(), more=st.integers(0, 2), only=st.booleans())
    def grow(self, data: st.DataObject, more: int, only: bool) -> None:
        """Add partitions; the existing ones stay as they are."""
        name, _ = self.any_partition(data)
        topic_id = self.cluster.image.topics.by_name[name]
        was = self.cluster.image.topics.by_id[topic_id].partitions
        growing = GrowingTopic(name=name, count=len(was) + more)
        response = self.cluster.ask(CreatePartitions(topics=(growing,), validate_only=only)).response
        assert isinstance(response, CreatePartitionsResponse)
        is_done = response.topics[0].error is Error.NONE
        now = self.cluster.image.topics.by_id[topic_id].partitions
        assert tuple(now)[: len(was)] == tuple(was)
        assert len(now) == len(was) + (more if is_done and not only else 0)
        assert not (is_done and more == 0)

    @rule(data=st.data(), value=st.sampled_from(["1", "2"]))
    def configure(self, data: st.DataObject, value: str) -> None:
        """Change `min.insync.replicas` of a topic or of the cluster: the eligible leader replicas become empty."""
        names = sorted({topic.name for topic in self.cluster.image.topics.by_id.values() if topic.partitions})
        kind, name = data.draw(st.sampled_from([(4, ""), *((2, name) for name in names)]))
        before = self.cluster.image.configs.of(kind, name).get(MIN_ISR)
        config = AlterableConfig(name=MIN_ISR, operation=ConfigOperation.SET, value=value)
        altered = AlterableResource(resource_type=kind, name=name, configs=(config,))
        response = self.cluster.ask(IncrementalAlterConfigs(resources=(altered,))).response
        assert isinstance(response, IncrementalAlterConfigsResponse)
        assert [each.error for each in response.resources] == [Error.NONE]
        assert self.cluster.image.configs.of(kind, name)[MIN_ISR] == value
        if self.cluster.image.features.elr_enabled and before != value:
            topics = self.cluster.image.topics.by_id.values()
            concerned = (topic for topic in topics if name in ("", topic.name))
            assert not any(partition.elr for topic in concerned for partition in topic.partitions)

    @rule(is_on=st.booleans())
    def turn_elr(self, is_on: bool) -> None:
        """Turn eligible leader replicas on or off; when they are off, none is left."""
        kind = UpgradeType.UPGRADE if is_on else UpgradeType.SAFE_DOWNGRADE
        update = FeatureUpdate(name=ELR, level=int(is_on), upgrade_type=kind)
        response = self.cluster.ask(UpdateFeatures(updates=(update,))).response
        assert isinstance(response, UpdateFeaturesResponse)
        assert response.error is Error.NONE
        assert self.cluster.image.features.elr_enabled is is_on
        self.was_without_elr |= not is_on
        assert is_on or not any(partition.elr or partition.last_known_elr for partition in self.partitions())

    @rule(broker=BROKERS, stale=st.booleans())
    def take_producer_ids(self, broker: int, stale: bool) -> None:
        """Check that producer id blocks neither overlap nor leave a gap."""
        known = self.broker(broker)
        epoch = -1 if known is None else known.epoch - stale
        response = self.cluster.ask(AllocateProducerIds(broker_id=broker, broker_epoch=epoch)).response
        assert isinstance(response, AllocateProducerIdsResponse)
        assert (response.error is Error.NONE) == (known is not None and not stale)
        if response.error is Error.NONE:
            assert response.first_producer_id == self.next_producer_id
            self.next_producer_id += response.count

    @precondition(lambda self: self.partitions())
    @rule(data=st.data())
    def assign_directory(self, data: st.DataObject) -> None:
        """Let a broker report the directory of a replica. (Reports of lost directories: `test_lost_directories`.)"""
        name, was = self.any_partition(data)
        broker = data.draw(st.sampled_from(was.replicas))
        known, where = self.broker(broker), directory(broker)
        if known is None:
            return
        topic = TopicInDirectory(topic_id=self.cluster.image.topics.by_name[name], partitions=(was.partition_id,))
        wish = DirectoryAssignment(directory_id=where, topics=(topic,))
        request = AssignReplicasToDirs(broker_id=broker, broker_epoch=known.epoch, directories=(wish,))
        response = self.cluster.ask(request).response
        assert isinstance(response, AssignReplicasToDirsResponse)
        ((_, error),) = response.directories[0].topics[0].partitions
        now = self.cluster.partition(topic.topic_id, was.partition_id)
        assert (error, now.directory_of(NodeId(broker))) == (Error.NONE, where)
