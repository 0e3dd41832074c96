"""Invariants hold in any order of actions of brokers (`broker_rules`) and requests of administrators (`admin_rules`).

The requests are creations, deletions, ISR changes, reassignments and elections. A standby that has read the log's bytes
has the same state.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from metadata_log.ids import RESERVED_TOPIC_IDS, TopicId
from metadata_log.image import NO_LEADER
from quorum.api.elections import ElectionType, ElectLeaders, ElectLeadersResponse
from quorum.api.error_codes import Error
from quorum.api.partitions import (
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
from quorum.api.reassignments import (
    AlterPartitionReassignments,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from quorum.api.topics import (
    CreatableTopic,
    CreateTopics,
    CreateTopicsResponse,
    DeleteTopics,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from quorum.controller.config import ControllerConfig
from quorum.controller.partitions.brokers import has_online_directory, is_active
from tests.support.admin_rules import AdminRules
from tests.support.broker_rules import BROKERS
from tests.support.controller import CLUSTER_ID, ControlledCluster, check_standby

NAMES = st.sampled_from(["a", "b", "c", "d.e", "d_e", "f"])


class Controllers(AdminRules):
    """Five brokers, six names, one active controller at a time."""

    @initialize(
        brokers=st.integers(1, 5),
        elr=st.booleans(),
        min_isr=st.integers(1, 3),
        unclean=st.booleans(),
        per_turn=st.sampled_from([1, 3, 2000]),
    )
    def begin(self, brokers: int, elr: bool, min_isr: int, unclean: bool, per_turn: int) -> None:
        config = ControllerConfig(
            node_id=1,
            cluster_id=CLUSTER_ID,
            max_records_per_sweep=per_turn,
            unclean_leader_election_enable=unclean,
            min_insync_replicas=min_isr,
        )
        self.cluster = ControlledCluster(elr=elr, config=config)
        self.was_without_elr = not elr
        self.ids_seen: dict[TopicId, str] = {}
        self.deleted: set[TopicId] = set()
        self.given_up: set[tuple[TopicId, int]] = set()
        """Partitions whose move was given up while no former replica was in sync: the first one is said to be."""
        self.epochs: dict[tuple[TopicId, int], tuple[int, int]] = {}
        for broker in range(1, 1 + brokers):
            self.live(broker)
        for name in ("a", "b"):
            self.create(name, 3, min(3, brokers), False)

    # --- topics

    @rule(name=NAMES, partitions=st.integers(1, 4), factor=st.integers(1, 4), only=st.booleans())
    def create(self, name: str, partitions: int, factor: int, only: bool) -> None:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor)
        before = self.cluster.image
        response = self.cluster.ask(CreateTopics(topics=(topic,), validate_only=only)).response
        assert isinstance(response, CreateTopicsResponse)
        (result,) = response.topics
        assert (result.error is Error.TOPIC_ALREADY_EXISTS) == (name in before.topics.by_name)
        if only or result.error is not Error.NONE:
            assert self.cluster.image.topics is before.topics
            return
        assert result.topic_id not in self.ids_seen
        self.ids_seen[result.topic_id] = name
        created = self.cluster.image.topics.by_id[result.topic_id]
        assert len(created.partitions) == partitions
        assert all(len(set(each.replicas)) == factor and each.leader == each.isr[0] for each in created.partitions)

    @rule(data=st.data(), by_name=st.booleans())
    def delete(self, data: st.DataObject, by_name: bool) -> None:
        alive = sorted(set(self.ids_seen) - self.deleted)
        if not alive:
            return
        topic_id = data.draw(st.sampled_from(alive))
        state = DeleteTopicState(name=self.ids_seen[topic_id]) if by_name else DeleteTopicState(topic_id=topic_id)
        response = self.cluster.ask(DeleteTopics(topics=(state,))).response
        assert isinstance(response, DeleteTopicsResponse)
        assert response.topics[0].error is Error.NONE
        self.deleted.add(topic_id)

    @precondition(lambda self: any(partition.leader >= 0 for partition in self.partitions()))
    @rule(data=st.data(), stale=st.booleans())
    def alter(self, data: st.DataObject, stale: bool) -> None:
        """A leader proposes any ISR, at times on the state before last."""
        led = sorted(
            (topic.topic_id, partition.partition_id)
            for topic in self.cluster.image.topics.by_id.values()
            for partition in topic.partitions
            if partition.leader >= 0
        )
        topic_id, index = data.draw(st.sampled_from(led))
        was = self.cluster.partition(topic_id, index)
        isr = data.draw(st.lists(st.sampled_from(was.replicas), unique=True))
        wish = PartitionAlteration(
            partition_index=index,
            leader_epoch=was.leader_epoch,
            partition_epoch=was.partition_epoch - stale,
            new_isr=tuple(BrokerState(broker_id=broker) for broker in isr),
        )
        request = AlterPartition(
            broker_id=was.leader,
            broker_epoch=self.cluster.image.cluster.brokers[was.leader].epoch,
            topics=(TopicAlteration(topic_id=topic_id, partitions=(wish,)),),
        )
        response = self.cluster.ask(request).response
        assert isinstance(response, AlterPartitionResponse)
        (answer,) = response.topics[0].partitions
        now = self.cluster.partition(topic_id, index)
        if answer.error is Error.NONE:
            assert (answer.leader_id, answer.leader_epoch) == (now.leader, now.leader_epoch)
            assert (answer.isr, answer.partition_epoch) == (now.isr, now.partition_epoch)
            assert set(now.isr) == set(isr) - (set(was.removing) if now.replicas != was.replicas else set())
        elif answer.error is not Error.NEW_LEADER_ELECTED:
            assert now == was

    @precondition(lambda self: self.partitions())
    @rule(data=st.data(), wanted=st.none() | st.lists(BROKERS, max_size=4), any_factor=st.booleans())
    def reassign(self, data: st.DataObject, wanted: list[int] | None, any_factor: bool) -> None:
        """A partition is to move anywhere, or to give that up."""
        name, was = self.any_partition(data)
        wish = ReassignablePartition(
            partition_index=was.partition_id, replicas=None if wanted is None else tuple(wanted)
        )
        response = self.cluster.ask(
            AlterPartitionReassignments(
                topics=(ReassignableTopic(name=name, partitions=(wish,)),), allow_replication_factor_change=any_factor
            )
        ).response
        assert isinstance(response, AlterPartitionReassignmentsResponse)
        (answer,) = response.topics[0].partitions
        topic_id = self.cluster.image.topics.by_name[name]
        now = self.cluster.partition(topic_id, was.partition_id)
        if answer.error is not Error.NONE:
            assert now == was
        elif wanted is None:
            if set(was.isr) <= set(was.adding):
                assert self.cluster.config.unclean_leader_election_enable
                self.given_up.add((topic_id, was.partition_id))
            assert not now.adding
            assert not now.removing
        else:
            assert now.replicas[: len(wanted)] == tuple(wanted)
            assert set(now.replicas[len(wanted) :]) == set(now.removing)

    @precondition(lambda self: self.partitions())
    @rule(data=st.data(), kind=st.sampled_from(ElectionType), everything=st.booleans())
    def elect(self, data: st.DataObject, kind: ElectionType, everything: bool) -> None:
        """An elected replica leads. A partition without an election is unchanged."""
        name, was = self.any_partition(data)
        asked = None if everything else (TopicPartitions(topic=name, partitions=(was.partition_id,)),)
        response = self.cluster.ask(ElectLeaders(election_type=kind, partitions=asked)).response
        assert isinstance(response, ElectLeadersResponse)
        for topic in response.topics:
            for answer in topic.partitions:
                topic_id = self.cluster.image.topics.by_name[topic.topic]
                now = self.cluster.partition(topic_id, answer.partition_index)
                if answer.error is Error.NONE:
                    assert now.leader != NO_LEADER or was.leader != NO_LEADER
                elif (topic.topic, answer.partition_index) == (name, was.partition_id):
                    assert now == was

    # --- what must always hold

    @invariant()
    def names_and_ids_go_together(self) -> None:
        topics = self.cluster.image.topics
        assert {topic.name: topic_id for topic_id, topic in topics.by_id.items()} == dict(topics.by_name.items())
        assert not RESERVED_TOPIC_IDS & set(topics.by_id)
        assert not self.deleted & set(topics.by_id)
        assert set(self.ids_seen) - self.deleted <= set(topics.by_id)
        assert "__cluster_metadata" in topics.by_name

    @invariant()
    def each_partition_is_sound(self) -> None:
        brokers = self.cluster.image.cluster.brokers
        for partition in self.partitions():
            assert set(partition.isr) <= set(partition.replicas)
            assert len(set(partition.isr)) == len(partition.isr)
            assert len(set(partition.replicas)) == len(partition.replicas) == len(partition.directories)
            assert {*partition.adding, *partition.removing} <= set(partition.replicas)
            assert not set(partition.adding) & set(partition.removing)
            assert set(partition.elr) <= set(partition.replicas)
            assert not set(partition.elr) & set(partition.isr)
            assert partition.leader == NO_LEADER or partition.leader in partition.isr
            if partition.leader != NO_LEADER:
                leader, where = brokers[partition.leader], partition.directory_of(partition.leader)
                assert where is not None
                assert has_online_directory(leader, where)

    @invariant()
    def nobody_leads_or_is_in_sync_who_is_fenced(self) -> None:
        brokers = self.cluster.image.cluster.brokers
        for topic in self.cluster.image.topics.by_id.values():
            for partition in topic.partitions:
                assert partition.leader == NO_LEADER or not brokers[partition.leader].fenced
                # Without an ELR, the last member of the ISR stays in it. The first replica of a move that was given up
                # is made a member, alive or not, as Kafka's PartitionReassignmentRevert does.
                may_be_dead = self.was_without_elr or (topic.topic_id, partition.partition_id) in self.given_up
                for member in partition.isr:
                    is_alive = member in brokers and not brokers[member].fenced
                    assert is_alive or (may_be_dead and partition.leader == NO_LEADER)

    @invariant()
    def epochs_only_rise(self) -> None:
        for topic in self.cluster.image.topics.by_id.values():
            for partition in topic.partitions:
                key = (topic.topic_id, partition.partition_id)
                before = self.epochs.get(key, (-1, -1))
                now = (partition.leader_epoch, partition.partition_epoch)
                assert now[0] >= before[0]
                assert now[1] >= before[1]
                self.epochs[key] = now

    @invariant()
    def whoever_could_lead_does_once_all_is_done(self) -> None:
        """A new controller on this image elects a leader for each partition that has a candidate."""
        image = self.cluster.image
        after = ControlledCluster(config=self.cluster.config)
        after.image, after.log, after.epoch = image, list(self.cluster.log), self.cluster.epoch
        after.time = self.cluster.time
        after.fail_over()
        after.settle()
        for topic in after.image.topics.by_id.values():
            for partition in topic.partitions:
                if partition.leader == NO_LEADER:
                    candidates = partition.isr or partition.elr
                    known = after.image.cluster.brokers
                    assert not any(broker in known and is_active(known[broker]) for broker in candidates)

    def teardown(self) -> None:
        if hasattr(self, "cluster"):
            check_standby(self.cluster)


TestControllers: Any = Controllers.TestCase
TestControllers.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


class _FirstPartition:
    """Draws partition 0 of topic a."""

    def draw(self, _: object) -> tuple[str, int]:
        return ("a", 0)


def test_a_move_that_is_given_up_with_nobody_in_sync_makes_the_first_replica_a_member() -> None:
    """Found by the states above: the members of the ISR had all gone into the ELR."""
    state = Controllers()
    state.begin(brokers=2, elr=True, min_isr=2, unclean=True, per_turn=2000)
    first: Any = _FirstPartition()
    state.stop(broker=1, returns=False)
    state.heartbeat(broker=2, behind=False, fence=True, stop=False)
    state.reassign(data=first, wanted=[1], any_factor=True)
    state.reassign(data=first, wanted=None, any_factor=False)
    _, partition = state.any_partition(first)
    assert (partition.isr, partition.leader) == ((1,), NO_LEADER)
    state.nobody_leads_or_is_in_sync_who_is_fenced()
    state.live(broker=1)
    assert state.any_partition(first)[1].leader == 1
