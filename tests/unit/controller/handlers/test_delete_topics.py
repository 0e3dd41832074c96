"""DeleteTopics by name and by id: what is removed, and every error that it can be refused with."""

from __future__ import annotations

import pytest

from metadata_log.acl_codes import ALLOW, LITERAL, Operation, ResourceType
from metadata_log.ids import METADATA_TOPIC_ID, ZERO_TOPIC_ID, TopicId
from metadata_log.records import AccessControlEntryRecord, RemoveTopicRecord
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.topics import DeletableTopicResult, DeleteTopics, DeleteTopicsResponse, DeleteTopicState
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster, uuid


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11, 12)
    return cluster


def by_name(name: str) -> DeleteTopicState:
    return DeleteTopicState(name=name)


def by_id(topic_id: TopicId) -> DeleteTopicState:
    return DeleteTopicState(topic_id=topic_id)


def ask(
    cluster: ControlledCluster,
    *topics: DeleteTopicState,
    timeout_ms: int = 60_000,
    context: RequestContext | None = None,
) -> tuple[DeletableTopicResult, ...]:
    response = cluster.ask(DeleteTopics(topics=topics, timeout_ms=timeout_ms), context).response
    assert isinstance(response, DeleteTopicsResponse)
    return response.topics


def test_by_name_and_by_id_the_answer_has_both(cluster: ControlledCluster) -> None:
    first, second = cluster.create("first"), cluster.create("second")
    results = ask(cluster, by_name("first"), by_id(second))
    assert [(each.error, each.name, each.topic_id) for each in results] == [
        (Error.NONE, "first", first),
        (Error.NONE, "second", second),
    ]
    assert cluster.log[-2:] == [RemoveTopicRecord(topic_id=first), RemoveTopicRecord(topic_id=second)]


def test_a_name_is_free_again_at_once_and_gets_another_id(cluster: ControlledCluster) -> None:
    old = cluster.create("again")
    ask(cluster, by_name("again"))
    new = cluster.create("again")
    assert new != old
    (result,) = ask(cluster, by_id(old))
    assert result.error is Error.UNKNOWN_TOPIC_ID
    assert cluster.image.topics.by_name["again"] == new


def test_unknown_ones(cluster: ControlledCluster) -> None:
    unknown = TopicId(uuid(5))
    results = ask(cluster, by_name("nowhere"), by_id(unknown))
    assert [(each.error, each.name, each.topic_id) for each in results] == [
        (Error.UNKNOWN_TOPIC_OR_PARTITION, "nowhere", ZERO_TOPIC_ID),
        (Error.UNKNOWN_TOPIC_ID, None, unknown),
    ]


def test_name_and_id_at_once_or_neither(cluster: ControlledCluster) -> None:
    topic_id = cluster.create("both")
    results = ask(cluster, DeleteTopicState(name="both", topic_id=topic_id), DeleteTopicState())
    assert [each.error for each in results] == [Error.INVALID_REQUEST] * 2
    assert "both" in cluster.image.topics.by_name


def test_an_entry_that_names_none_is_answered_each_time(cluster: ControlledCluster) -> None:
    results = ask(cluster, DeleteTopicState(), DeleteTopicState())
    assert [result.error for result in results] == [Error.INVALID_REQUEST] * 2


def test_the_same_topic_twice_is_refused_in_every_form(cluster: ControlledCluster) -> None:
    topic_id = cluster.create("twice")
    for states in (
        (by_name("twice"), by_name("twice")),
        (by_id(topic_id), by_id(topic_id)),
        (by_name("twice"), by_id(topic_id)),
        (by_id(topic_id), by_name("twice")),
        (by_id(topic_id), by_name("twice"), by_id(topic_id)),
    ):
        assert {each.error for each in ask(cluster, *states)} == {Error.INVALID_REQUEST}
    assert "twice" in cluster.image.topics.by_name


def test_names_that_are_refused_as_twins_do_not_keep_an_id_from_being_deleted(cluster: ControlledCluster) -> None:
    topic_id = cluster.create("thrice")
    results = ask(cluster, by_name("thrice"), by_id(topic_id), by_name("thrice"))
    assert [(each.error, each.name, each.topic_id) for each in results] == [
        (Error.INVALID_REQUEST, "thrice", ZERO_TOPIC_ID),
        (Error.NONE, "thrice", topic_id),
    ]
    assert "thrice" not in cluster.image.topics.by_name


def test_the_metadata_topic_cannot_be_deleted(cluster: ControlledCluster) -> None:
    own_id = cluster.image.topics.by_name["__cluster_metadata"]
    results = ask(cluster, by_name("__cluster_metadata"))
    results += ask(cluster, by_id(own_id), by_id(METADATA_TOPIC_ID))
    assert [each.error for each in results] == [Error.INVALID_REQUEST] * 3
    assert cluster.image.topics.by_name["__cluster_metadata"] == own_id


def test_a_timeout_that_has_passed(cluster: ControlledCluster) -> None:
    cluster.create("stays")
    (result,) = ask(cluster, by_name("stays"), timeout_ms=0)
    assert result.error is Error.REQUEST_TIMED_OUT
    assert "stays" in cluster.image.topics.by_name


def test_deletion_may_be_switched_off() -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, delete_topic_enable=False)
    cluster = ControlledCluster(config=config)
    cluster.start(11)
    cluster.create("stays")
    (result,) = ask(cluster, by_name("stays"))
    assert result.error is Error.TOPIC_DELETION_DISABLED


def test_too_much_for_one_request(cluster: ControlledCluster) -> None:
    states = tuple(by_name(f"t{index}") for index in range(10_001))
    assert {each.error for each in ask(cluster, *states)} == {Error.POLICY_VIOLATION}


def test_who_may_not_describe_learns_no_name(cluster: ControlledCluster) -> None:
    topic_id = cluster.create("secret")
    results = ask(cluster, by_id(topic_id), by_name("nowhere"), context=EVE)
    assert [(each.error, each.name) for each in results] == [
        (Error.TOPIC_AUTHORIZATION_FAILED, None),
        (Error.TOPIC_AUTHORIZATION_FAILED, "nowhere"),
    ]
    assert ask(cluster, by_id(TopicId(uuid(5))), context=EVE)[0].error is Error.UNKNOWN_TOPIC_ID


def test_who_may_describe_and_not_delete(cluster: ControlledCluster) -> None:
    topic_id = cluster.create("seen")
    grant = AccessControlEntryRecord(
        id=uuid(77),
        resource_type=ResourceType.TOPIC,
        resource_name="*",
        pattern_type=LITERAL,
        principal="User:eve",
        host="*",
        operation=Operation.DESCRIBE,
        permission_type=ALLOW,
    )
    cluster.append((grant,))
    results = ask(cluster, by_id(topic_id), by_name("nowhere"), context=EVE)
    assert [(each.error, each.name) for each in results] == [
        (Error.TOPIC_AUTHORIZATION_FAILED, "seen"),
        (Error.UNKNOWN_TOPIC_OR_PARTITION, "nowhere"),
    ]
    assert ask(cluster, by_name("seen"), context=EVE)[0].error is Error.TOPIC_AUTHORIZATION_FAILED
    assert "seen" in cluster.image.topics.by_name


def test_no_topics_no_answer_of_any(cluster: ControlledCluster) -> None:
    assert ask(cluster) == ()
