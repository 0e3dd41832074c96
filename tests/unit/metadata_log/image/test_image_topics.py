"""Replay rules of topics and partitions."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, MIGRATING_DIRECTORY_ID, ZERO_TOPIC_ID, NodeId
from metadata_log.image import NO_LEADER, RECOVERED, RECOVERING, MetadataImage, PartitionImage, ReplayError
from metadata_log.image.versioned_map import VersionedMap
from metadata_log.records import ClearElrRecord, MetadataRecord, RemoveTopicRecord, TopicRecord
from tests.support.image_records import change, config, directory, image_of, nodes, partition, topic, topic_id

ONE = image_of(topic(1), partition(1))


def _partition(image: MetadataImage, number: int = 1, index: int = 0) -> PartitionImage:
    found = image.topics.partition(topic_id(number), index)
    assert found is not None
    return found


def test_a_topic_is_found_by_id_and_by_name() -> None:
    image = image_of(topic(1, "orders"))
    found = image.topics.topic(topic_id(1))
    assert found is not None
    assert (found.name, found.topic_id, found.partitions) == ("orders", topic_id(1), ())
    assert image.topics.named("orders") is found
    assert image.topics.topic(topic_id(2)) is None
    assert image.topics.named("other") is None
    assert len(image.topics) == 1


def test_the_own_id_is_found_once_for_each_image_and_an_older_one_is_not_searched() -> None:
    versioned = msgspec.structs.replace(MetadataImage(), topics=MetadataImage().topics.versioned())
    named = image_of(topic(7, METADATA_TOPIC_NAME), base=versioned)
    later = named
    for number in range(10, 40):
        later = image_of(topic(number), base=later)
    removed = image_of(RemoveTopicRecord(topic_id=topic_id(7)), base=later)
    assert (versioned.topics.own_id, removed.topics.own_id) == (None, None)
    assert named.topics.own_id == later.topics.own_id == topic_id(7)
    older = named.topics.by_name
    assert isinstance(older, VersionedMap)
    assert older._steps == 0, "each look-up in an older version goes through the later ones"


def test_a_partition_is_taken_over_as_its_record_says() -> None:
    record = partition(
        1,
        isr=nodes(2),
        removing_replicas=nodes(3),
        adding_replicas=nodes(1),
        leader=NodeId(2),
        leader_recovery_state=RECOVERING,
        leader_epoch=4,
        partition_epoch=9,
        eligible_leader_replicas=nodes(1),
        last_known_elr=nodes(3),
    )
    assert _partition(image_of(topic(1), record)) == PartitionImage(
        partition_id=0,
        replicas=nodes(1, 2, 3),
        directories=(directory(1), directory(2), directory(3)),
        isr=nodes(2),
        removing=nodes(3),
        adding=nodes(1),
        leader=NodeId(2),
        leader_recovery_state=RECOVERING,
        leader_epoch=4,
        partition_epoch=9,
        elr=nodes(1),
        last_known_elr=nodes(3),
    )


def test_a_second_partition_record_replaces_the_first() -> None:
    image = image_of(partition(1, leader=NodeId(3), leader_epoch=7), base=ONE)
    assert _partition(image).leader_epoch == 7
    found = image.topics.topic(topic_id(1))
    assert found is not None
    assert len(found.partitions) == 1


def test_partitions_stand_in_order_however_they_came() -> None:
    image = image_of(topic(1), *(partition(1, index) for index in (2, 0, 7, 5, 1)))
    found = image.topics.topic(topic_id(1))
    assert found is not None
    assert [part.partition_id for part in found.partitions] == [0, 1, 2, 5, 7]
    assert [index for index in range(-1, 9) if found.partition(index) is not None] == [0, 1, 2, 5, 7]
    changed = image_of(change(1, 5, leader=NodeId(2)), base=image)
    assert _partition(changed, index=5).leader == 2
    assert _partition(changed, index=7).leader == 1


def test_without_directories_all_are_migrating() -> None:
    for directories in ((), (MIGRATING_DIRECTORY_ID,) * 3):
        image = image_of(topic(1), partition(1, directories=directories))
        assert _partition(image).directories == (MIGRATING_DIRECTORY_ID,) * 3
    moved = image_of(change(1, replicas=nodes(4, 5)), base=image)
    assert _partition(moved).directories == (MIGRATING_DIRECTORY_ID,) * 2


def test_some_migrating_directories_stay_beside_known_ones() -> None:
    mixed = (MIGRATING_DIRECTORY_ID, directory(2), MIGRATING_DIRECTORY_ID)
    assert _partition(image_of(topic(1), partition(1, directories=mixed))).directories == mixed


def test_a_change_raises_the_partition_epoch_and_leaves_the_rest() -> None:
    before = _partition(ONE)
    assert _partition(image_of(change(1), base=ONE)) == msgspec.structs.replace(before, partition_epoch=1)


@pytest.mark.parametrize("leader", [2, 1, -1])
def test_a_leader_that_is_given_raises_the_leader_epoch(leader: int) -> None:
    after = _partition(image_of(change(1, leader=NodeId(leader)), base=ONE))
    assert (after.leader, after.leader_epoch, after.partition_epoch) == (leader, 1, 1)


def test_a_change_takes_over_all_that_it_gives() -> None:
    record = change(
        1,
        isr=nodes(4),
        replicas=nodes(4, 5),
        removing_replicas=nodes(5),
        adding_replicas=nodes(4),
        leader_recovery_state=RECOVERING,
        directories=(directory(4), directory(5)),
        eligible_leader_replicas=nodes(5),
        last_known_elr=nodes(4),
    )
    after = _partition(image_of(record, base=ONE))
    assert (after.isr, after.replicas) == (nodes(4), nodes(4, 5))
    assert (after.removing, after.adding) == (nodes(5), nodes(4))
    assert (after.leader, after.leader_epoch, after.leader_recovery_state) == (1, 0, RECOVERING)
    assert (after.directories, after.elr, after.last_known_elr) == (
        (directory(4), directory(5)),
        nodes(5),
        nodes(4),
    )
    emptied = _partition(image_of(record, change(1, removing_replicas=(), adding_replicas=(), isr=()), base=ONE))
    assert (emptied.removing, emptied.adding, emptied.isr) == ((), (), ())


def test_recovery_ends_when_the_change_says_so() -> None:
    image = image_of(topic(1), partition(1, leader_recovery_state=RECOVERING))
    assert _partition(image_of(change(1), base=image)).leader_recovery_state == RECOVERING
    assert _partition(image_of(change(1, leader_recovery_state=0), base=image)).leader_recovery_state == RECOVERED


def test_a_removed_topic_takes_its_partitions_and_configs_along() -> None:
    image = image_of(topic(1), partition(1), topic(2), config("t1", "a", "b"), config("t2", "a", "b"))
    after = image_of(RemoveTopicRecord(topic_id=topic_id(1)), base=image)
    assert after.topics.named("t1") is None
    assert after.topics.partition(topic_id(1), 0) is None
    assert dict(after.configs.of_topic("t1")) == {}
    assert dict(after.configs.of_topic("t2")) == {"a": "b"}


def test_a_name_may_be_used_again_with_another_id_in_one_batch() -> None:
    image = image_of(
        topic(1, "orders"),
        config("orders", "a", "b"),
        RemoveTopicRecord(topic_id=topic_id(1)),
        topic(2, "orders"),
        partition(2),
    )
    assert image.topics.by_name["orders"] == topic_id(2)
    assert image.topics.topic(topic_id(1)) is None
    assert dict(image.configs.of_topic("orders")) == {}


def test_clear_elr_empties_one_topics_or_all() -> None:
    image = image_of(
        *(topic(number) for number in (1, 2, 3)),
        partition(1, eligible_leader_replicas=nodes(2)),
        partition(2, last_known_elr=nodes(2)),
        partition(3),
    )
    one = image_of(ClearElrRecord(topic_name="t1"), base=image)
    assert (_partition(one, 1).elr, _partition(one, 1).partition_epoch) == ((), 1)
    assert _partition(one, 2).last_known_elr == nodes(2)
    every = image_of(
        RemoveTopicRecord(topic_id=topic_id(2)),
        topic(4),
        partition(4, eligible_leader_replicas=nodes(1)),
        ClearElrRecord(topic_name=""),
        base=image,
    )
    assert [_partition(every, number).elr for number in (1, 3, 4)] == [(), (), ()]
    assert [_partition(every, number).partition_epoch for number in (1, 3, 4)] == [1, 0, 1]
    assert every.topics.topic(topic_id(3)) is image.topics.topic(topic_id(3))


def test_a_partition_knows_its_directories_and_preferred_leader() -> None:
    found = _partition(ONE)
    assert found.directory_of(NodeId(2)) == directory(2)
    assert found.directory_of(NodeId(9)) is None
    assert found.preferred_leader == 1
    nobody = PartitionImage(partition_id=0, replicas=(), directories=(), isr=())
    assert nobody.preferred_leader == nobody.leader == NO_LEADER


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (topic(2, "t1"), "there is a topic 't1' already"),
        (topic(1, "other"), "there is a topic with id"),
        (TopicRecord(name="x", topic_id=METADATA_TOPIC_ID), "reserved id AAAAAAAAAAAAAAAAAAAAAQ"),
        (TopicRecord(name="x", topic_id=ZERO_TOPIC_ID), "reserved id AAAAAAAAAAAAAAAAAAAAAA"),
        (partition(2), "there is no topic with id"),
        (partition(1, directories=(directory(1),)), "1 directories for 3 replicas"),
        (partition(1, leader_recovery_state=2), "2 is no leader recovery state"),
        (change(2), "there is no topic with id"),
        (change(1, 1), "topic 't1' has no partition 1"),
        (change(1, -1), "topic 't1' has no partition -1"),
        (change(1, leader_recovery_state=7), "7 is no leader recovery state"),
        (change(1, replicas=nodes(1)), "3 directories for 1 replicas"),
        (change(1, directories=(directory(1),)), "1 directories for 3 replicas"),
        (change(1, replicas=nodes(1, 2), directories=(directory(1),)), "1 directories for 2 replicas"),
        (RemoveTopicRecord(topic_id=topic_id(2)), "there is no topic with id"),
        (ClearElrRecord(topic_name="nowhere"), "there is no topic 'nowhere'"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:20],
)
def test_nonsense_is_refused_by_name_and_offset(record: MetadataRecord, why: str) -> None:
    kept = msgspec.structs.replace(ONE)
    with pytest.raises(ReplayError, match=why) as caught:
        image_of(topic(8), partition(8), record, base=ONE)
    assert (caught.value.record, caught.value.offset) == (type(record).__name__, 4)
    assert str(caught.value).startswith(f"cannot replay {type(record).__name__} at offset 4: ")
    assert kept == ONE == image_of(topic(1), partition(1))
