"""The index lists every replica, leader and name of the image, whatever record put it there."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from metadata_log.ids import NodeId
from metadata_log.image import MetadataImage
from metadata_log.records import PartitionChangeRecord, RemoveTopicRecord, TopicRecord
from quorum.api.reassignments import AlterPartitionReassignments, ReassignablePartition, ReassignableTopic
from quorum.controller.partitions import topic_index as index_module
from quorum.controller.partitions.topic_index import TopicIndex
from tests.support.controller import ControlledCluster, directory, topic_ids


def topics_on(index: TopicIndex, cluster: ControlledCluster, broker_id: int) -> set[str]:
    topics = map(cluster.image.topics.by_id.get, index.topics_on(NodeId(broker_id)))
    return {topic.name for topic in topics if topic is not None}


def test_built_late_or_kept_up_it_says_the_same() -> None:
    cluster = ControlledCluster()
    cluster.start(11, 12, 13)
    kept = TopicIndex(cluster.image)
    assert topics_on(kept, cluster, 11) == set()
    assert kept.colliding_name("a.b", cluster.image) is None
    for name, replicas in (("a_b", (11, 12)), ("c.d", (12, 13)), ("plain", (13, 11))):
        before = cluster.image
        start = cluster.next_offset
        cluster.place(name, replicas)
        kept.observe(cluster.log[start:], before)
    late = TopicIndex(cluster.image)
    for broker_id in (11, 12, 13, 14):
        assert topics_on(kept, cluster, broker_id) == topics_on(late, cluster, broker_id)
        assert kept.may_lead(NodeId(broker_id), cluster.image) == late.may_lead(NodeId(broker_id), cluster.image)
    for name in ("a.b", "c_d", "plain", "a_b"):
        assert kept.colliding_name(name, cluster.image) == late.colliding_name(name, cluster.image)
    assert kept.colliding_name("a.b", cluster.image) == "a_b"


def test_a_replica_that_moves_in_is_listed() -> None:
    cluster = ControlledCluster()
    cluster.start(11, 12)
    topic_id = cluster.place("t", (11,))
    index = TopicIndex(cluster.image)
    assert topics_on(index, cluster, 12) == set()
    move = PartitionChangeRecord(
        topic_id=topic_id,
        partition_id=0,
        replicas=(NodeId(11), NodeId(12)),
        directories=(directory(11), directory(12)),
    )
    index.observe((move,), cluster.image)
    cluster.append((move,))
    assert topics_on(index, cluster, 12) == {"t"}


def test_who_leads_is_known_as_leaders_come_and_go() -> None:
    cluster = ControlledCluster()
    cluster.start(11, 12)
    topic_id = cluster.place("t", (11, 12))
    index = TopicIndex(cluster.image)

    def led_by(leader: int) -> tuple[bool, bool, int]:
        change = PartitionChangeRecord(topic_id=topic_id, partition_id=0, leader=NodeId(leader))
        index.observe((change,), cluster.image)
        cluster.append((change,))
        leads = [index.may_lead(NodeId(broker_id), cluster.image) for broker_id in (11, 12)]
        return leads[0], leads[1], len(index.leaderless())

    assert led_by(12) == (False, True, 0)
    assert led_by(-1) == (False, False, 1)
    assert led_by(11) == (True, False, 1)
    index.have_leaders(topic_id)
    assert index.leaderless() == []


def test_a_topic_that_takes_a_leaving_broker_back_is_listed_again() -> None:
    cluster = ControlledCluster()
    cluster.start(11, 12)
    topic_id = cluster.place("t", (11, 12))
    index = TopicIndex(cluster.image)
    listed = index.topics_on(NodeId(11))
    index.observe((cluster.log[-1],), cluster.image)
    other = PartitionChangeRecord(topic_id=topic_id, partition_id=0, isr=(NodeId(12),), leader=NodeId(12))
    back = PartitionChangeRecord(topic_id=topic_id, partition_id=0, isr=(NodeId(12), NodeId(11)))
    listed.append(cluster.place("later", (12,)))
    index.observe((other, back), cluster.image)
    assert listed.count(topic_id) == 1
    index.observe((other,), cluster.image, {NodeId(11)})
    assert listed.count(topic_id) == 1
    index.observe((back,), cluster.image, {NodeId(11)})
    assert listed.count(topic_id) == 2


def test_it_starts_anew_when_most_of_it_is_gone() -> None:
    cluster = ControlledCluster()
    cluster.start(11)
    ids = [cluster.place(f"t{number}", (11,)) for number in range(5)]
    index = TopicIndex(cluster.image)
    before = index.topics_on(NodeId(11))
    assert len(before) == 5
    cluster.append(tuple(RemoveTopicRecord(topic_id=topic_id) for topic_id in ids[:4]))
    for _ in range(index_module._SPARE_ENTRIES // 5 + 2):
        index.observe([RemoveTopicRecord(topic_id=topic_id) for topic_id in ids], cluster.image)
    assert index.topics_on(NodeId(11)) == ids[4:]
    assert index.topics_on(NodeId(11)) is not before


def test_one_request_may_list_more_than_what_starts_it_anew() -> None:
    cluster = ControlledCluster()
    cluster.start(11)
    cluster.place("t", (11,))
    index = TopicIndex(cluster.image)
    moves = [
        PartitionChangeRecord(topic_id=topic_id, partition_id=0, replicas=(NodeId(11), NodeId(12), NodeId(13)))
        for topic_id in itertools.islice(topic_ids(), index_module._SPARE_ENTRIES)
    ]
    index.observe(moves, cluster.image)
    assert len(index.topics_on(NodeId(13))) == len(moves)
    index.observe((), cluster.image)
    assert index.topics_on(NodeId(13)) == []


def test_the_partitions_of_one_topic_are_listed_once() -> None:
    cluster = ControlledCluster()
    cluster.start(11, 12)
    topic_id = cluster.create("t", partitions=6_000)
    listed = cluster.machine._state.index.topics_on(NodeId(12))  # type: ignore[union-attr]
    move = ReassignableTopic(
        name="t",
        partitions=tuple(
            ReassignablePartition(partition_index=index, replicas=(NodeId(12), NodeId(11))) for index in range(6_000)
        ),
    )
    answer = cluster.ask(AlterPartitionReassignments(topics=(move,), allow_replication_factor_change=True))
    assert len(answer.records) == 6_000
    assert listed == cluster.machine._state.index.topics_on(NodeId(12)) == [topic_id]  # type: ignore[union-attr]


class TestBuiltInSteps:
    @pytest.fixture
    def many(self) -> MetadataImage:
        cluster = ControlledCluster()
        cluster.start(11, 12)
        for number in range(10):
            cluster.create(f"t_{number}", partitions=900, factor=2)
        return cluster.image

    def test_no_step_looks_at_much_and_in_between_nothing_is_claimed(self, many: MetadataImage) -> None:
        index = TopicIndex(many)
        sizes = [len(index.topics_on(NodeId(11)))]
        while not index.is_built:
            assert index.may_lead(NodeId(99), many) or index.is_built
            sizes.append(len(index.topics_on(NodeId(11))))
        assert sizes[-1] == 10
        assert max(after - before for before, after in zip([0, *sizes], sizes, strict=False)) <= 4
        assert not index.may_lead(NodeId(99), many)
        assert index.topics_on(NodeId(11)) == sorted(
            topic_id for topic_id, topic in many.topics.by_id.items() if topic.partitions
        )

    def test_a_name_that_collides_is_found_all_the_same(self, many: MetadataImage) -> None:
        assert TopicIndex(many).colliding_name("t.9", many) == "t_9"


class _Counting(dict[str, None]):
    """Names of topics, and how often one was looked for."""

    looked = 0

    def __contains__(self, name: object) -> bool:
        self.looked += 1
        return super().__contains__(name)


def test_a_name_that_is_gone_is_looked_for_once() -> None:
    """Thousands of names that are alike to metrics were made and removed: each new one asked for all of them."""
    cluster = ControlledCluster()
    cluster.start(11)
    index, names = TopicIndex(cluster.image), [f"a{'._'[n & 1]}{'._'[n >> 1 & 1]}{'._'[n >> 2 & 1]}x" for n in range(8)]
    ids = topic_ids()
    index.observe([TopicRecord(name=name, topic_id=next(ids)) for name in names for _ in range(2)], cluster.image)
    there = _Counting()
    image: Any = SimpleNamespace(topics=SimpleNamespace(by_name=there))
    there[names[6]] = None
    assert index.colliding_name("a...x", image) == names[6]
    assert there.looked == 7
    assert index.colliding_name("a...x", image) == names[6]
    assert there.looked == 8
    del there[names[6]]
    assert index.colliding_name(names[3], image) is None
    there.looked = 0
    assert index.colliding_name(names[3], image) is None
    assert there.looked == 0
