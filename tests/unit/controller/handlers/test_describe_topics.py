"""DescribeTopics by name, by id and all."""

from __future__ import annotations

import pytest

from metadata_log.ids import ZERO_TOPIC_ID, TopicId
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.topics import DescribeTopics, DescribeTopicsResponse
from tests.support.controller import EVE, ControlledCluster, uuid


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11, 12)
    return cluster


def ask(
    cluster: ControlledCluster, request: DescribeTopics, context: RequestContext | None = None
) -> DescribeTopicsResponse:
    result = cluster.ask(request, context)
    assert result.records == ()
    assert isinstance(result.response, DescribeTopicsResponse)
    return result.response


def test_a_topic_by_name_and_by_id_is_the_same(cluster: ControlledCluster) -> None:
    topic_id = cluster.place("orders", (11, 12), (12, 11))
    by_name = ask(cluster, DescribeTopics(names=("orders",)))
    by_id = ask(cluster, DescribeTopics(topic_ids=(topic_id,)))
    assert by_name == by_id
    (topic,) = by_name.topics
    assert (topic.error, topic.name, topic.topic_id) == (Error.NONE, "orders", topic_id)
    assert [(each.partition_index, each.leader_id, each.replicas, each.isr) for each in topic.partitions] == [
        (0, 11, (11, 12), (11, 12)),
        (1, 12, (12, 11), (12, 11)),
    ]


def test_replicas_on_fenced_brokers_are_offline(cluster: ControlledCluster) -> None:
    topic_id = cluster.place("orders", (11, 12))
    cluster.beat(12, want_fence=True)
    (topic,) = ask(cluster, DescribeTopics(topic_ids=(topic_id,))).topics
    assert topic.partitions[0].offline_replicas == (12,)


def test_unknown_ones(cluster: ControlledCluster) -> None:
    unknown = TopicId(uuid(5))
    (by_id,) = ask(cluster, DescribeTopics(topic_ids=(unknown,))).topics
    assert (by_id.error, by_id.name, by_id.topic_id) == (Error.UNKNOWN_TOPIC_ID, None, unknown)
    (by_name,) = ask(cluster, DescribeTopics(names=("nowhere",))).topics
    assert (by_name.error, by_name.name) == (Error.UNKNOWN_TOPIC_OR_PARTITION, "nowhere")
    assert by_name.topic_id == ZERO_TOPIC_ID


def test_all_are_in_the_order_of_names_and_without_the_metadata_topic(cluster: ControlledCluster) -> None:
    for name in ("c", "a", "b", "__consumer_offsets"):
        cluster.create(name)
    topics = ask(cluster, DescribeTopics(all_topics=True)).topics
    assert [(topic.name, topic.is_internal) for topic in topics] == [
        ("__consumer_offsets", True),
        ("a", False),
        ("b", False),
        ("c", False),
    ]


def test_the_metadata_topic_is_described_when_asked_for(cluster: ControlledCluster) -> None:
    (topic,) = ask(cluster, DescribeTopics(names=("__cluster_metadata",))).topics
    assert (topic.error, topic.is_internal, topic.partitions) == (Error.NONE, True, ())


def test_two_kinds_at_once(cluster: ControlledCluster) -> None:
    response = ask(cluster, DescribeTopics(names=("a",), all_topics=True))
    assert response.error is Error.INVALID_REQUEST


def test_who_may_not_describe(cluster: ControlledCluster) -> None:
    topic_id = cluster.create("secret")
    (by_id,) = ask(cluster, DescribeTopics(topic_ids=(topic_id,)), EVE).topics
    assert (by_id.error, by_id.name) == (Error.TOPIC_AUTHORIZATION_FAILED, None)
    (by_name,) = ask(cluster, DescribeTopics(names=("secret",)), EVE).topics
    assert (by_name.error, by_name.topic_id) == (Error.TOPIC_AUTHORIZATION_FAILED, ZERO_TOPIC_ID)
    (unknown,) = ask(cluster, DescribeTopics(topic_ids=(TopicId(uuid(5)),)), EVE).topics
    assert unknown.error is Error.UNKNOWN_TOPIC_ID
    assert ask(cluster, DescribeTopics(all_topics=True), EVE).topics == ()


def test_topics_beyond_the_most_partitions_of_an_answer_are_refused(cluster: ControlledCluster) -> None:
    large, small = cluster.create("large", partitions=9_000), cluster.create("small")
    asked = (large,) * 20
    topics = ask(cluster, DescribeTopics(topic_ids=(*asked, small))).topics
    assert [each.error for each in topics] == [Error.NONE] * 11 + [Error.POLICY_VIOLATION] * 9 + [Error.NONE]
    assert {(each.topic_id, each.name) for each in topics[:20]} == {(large, "large")}
    assert {len(each.partitions) for each in topics[11:20]} == {0}
    by_name = ask(cluster, DescribeTopics(names=("large",) * 20))
    assert [each.error for each in by_name.topics] == [Error.NONE] * 11 + [Error.POLICY_VIOLATION] * 9
