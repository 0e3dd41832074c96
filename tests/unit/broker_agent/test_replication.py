"""Reads are fenced by topic id and epoch, and who reads comes into the ISR."""

from __future__ import annotations

import pytest

from broker_agent.replication import Leadership
from metadata_log.ids import NodeId, TopicId
from metadata_log.image import MetadataImage
from metadata_log.records import RemoveTopicRecord
from quorum.api.error_codes import Error
from tests.support.image_records import broker, change, image_of, nodes, partition, topic, topic_id


def _image(*, isr: tuple[int, ...] = (1,), fenced: bool = False) -> MetadataImage:
    return image_of(
        broker(1, fenced=False), broker(2, fenced=fenced), broker(3), topic(1, "orders"),
        partition(1, isr=nodes(*isr), leader=NodeId(1), leader_epoch=4),
    )  # fmt: skip


def _leader(local: TopicId | None = None) -> Leadership:
    return Leadership(NodeId(1), lambda name: (local or topic_id(1)) if name == "orders-0" else None)


@pytest.mark.parametrize(
    ("asked", "index", "epoch", "offset", "expected"),
    [
        (1, 0, 4, 0, Error.NONE),
        (9, 0, 4, 0, Error.UNKNOWN_TOPIC_ID),
        (1, 7, 4, 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (1, 0, 3, 0, Error.FENCED_LEADER_EPOCH),
        (1, 0, 5, 0, Error.UNKNOWN_LEADER_EPOCH),
        (1, 0, 4, 1, Error.OFFSET_OUT_OF_RANGE),
    ],
)
def test_a_read_is_fenced(asked: int, index: int, epoch: int, offset: int, expected: Error) -> None:
    answer = _leader().on_fetch(_image(), NodeId(2), topic_id(asked), index, epoch, offset)
    assert answer.error is expected


def test_a_read_of_the_old_id_is_refused_when_the_name_lives_on() -> None:
    image = image_of(RemoveTopicRecord(topic_id=topic_id(1)), topic(2, "orders"), partition(2), base=_image())
    leader = _leader(topic_id(2))
    assert leader.on_fetch(image, NodeId(2), topic_id(1), 0, 4, 0).error is Error.UNKNOWN_TOPIC_ID
    assert leader.on_fetch(image, NodeId(2), topic_id(2), 0, 0, 0).error is Error.NONE


def test_a_read_of_a_directory_that_still_holds_another_topic_is_refused() -> None:
    assert _leader(topic_id(8)).on_fetch(_image(), NodeId(2), topic_id(1), 0, 4, 0).error is Error.INCONSISTENT_TOPIC_ID


def test_a_read_before_the_directory_is_made_is_refused() -> None:
    nothing = Leadership(NodeId(1), lambda name: None)
    assert nothing.on_fetch(_image(), NodeId(2), topic_id(1), 0, 4, 0).error is Error.KAFKA_STORAGE_ERROR


def test_only_the_leader_answers() -> None:
    other = Leadership(NodeId(3), lambda name: topic_id(1))
    answer = other.on_fetch(_image(), NodeId(2), topic_id(1), 0, 4, 0)
    assert (answer.error, answer.leader_id, answer.leader_epoch) == (Error.NOT_LEADER_OR_FOLLOWER, 1, 4)


def test_who_reads_is_proposed_for_the_isr_in_the_order_of_the_replicas() -> None:
    leader = _leader()
    leader.on_fetch(_image(isr=(3, 1)), NodeId(2), topic_id(1), 0, 4, 0)
    assert [each.new_isr for each in leader.proposals(_image(isr=(3, 1)))] == [nodes(1, 2, 3)]


def test_nobody_is_proposed_who_is_in_it_is_fenced_or_was_refused() -> None:
    leader = _leader()
    leader.on_fetch(_image(), NodeId(2), topic_id(1), 0, 3, 0)
    assert not leader.has_waiting, "a refused read proves nothing"
    leader.on_fetch(_image(isr=(1, 2)), NodeId(2), topic_id(1), 0, 4, 0)
    assert not leader.has_waiting
    leader.on_fetch(_image(), NodeId(2), topic_id(1), 0, 4, 0)
    assert leader.has_waiting
    assert not list(leader.proposals(_image(fenced=True)))
    assert not list(leader.proposals(_image())), "a voter that was left out must read again"


def test_a_read_in_an_old_leader_epoch_proposes_nothing() -> None:
    leader = _leader()
    leader.on_fetch(_image(), NodeId(2), topic_id(1), 0, 4, 0)
    later = image_of(change(1, leader=NodeId(1)), base=_image())
    assert not list(leader.proposals(later))
