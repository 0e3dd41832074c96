"""The quota `controller_mutation_rate` (KIP-599): whom it is for, what is left of it, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.image import QuotaEntity
from quorum.api.context import ANONYMOUS, RequestContext
from quorum.api.error_codes import Error
from quorum.api.partition_counts import CreatePartitions, CreatePartitionsResponse, GrowingTopic
from quorum.api.quotas import AlterClientQuotas, QuotaAlteration, QuotaParts
from quorum.api.topics import (
    CreatableTopic,
    CreateTopics,
    CreateTopicsResponse,
    DeleteTopics,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from quorum.controller.mutation_quota import MOST_BUCKETS, MutationQuotas
from tests.support.controller import ControlledCluster

RATE = "controller_mutation_rate"
ALICE = RequestContext(principal="User:alice", client_id="c")
OLD = msgspec.structs.replace(ALICE, knows_throttling=False)
THROTTLED = Error.THROTTLING_QUOTA_EXCEEDED
BURST_S = 11


def quota(rate: float, *parts: tuple[str, str | None]) -> dict[QuotaEntity, Mapping[str, float]]:
    return {QuotaEntity(parts=parts): {RATE: rate, "producer_byte_rate": 1.0}}


USER_LEVELS = [
    quota(1, ("client-id", "c"), ("user", "alice")),
    quota(2, ("client-id", None), ("user", "alice")),
    quota(3, ("user", "alice")),
    quota(4, ("client-id", "c"), ("user", None)),
    quota(5, ("client-id", None), ("user", None)),
    quota(6, ("user", None)),
    quota(7, ("client-id", "c")),
    quota(8, ("client-id", None)),
]
"""In Kafka's order, the most specific first; the rate is the level."""


def burst_of(quotas: Mapping[QuotaEntity, Mapping[str, float]], context: RequestContext) -> int | None:
    """How many partitions, one at a time, may be created at once; None: without end."""
    buckets = MutationQuotas(1)
    for taken in range(100):
        if not buckets.of(context, quotas, 0).take(1):
            return taken - 1  # the last one was spent on credit
    return None


@pytest.mark.parametrize("first", range(8))
def test_the_most_specific_quota_holds(first: int) -> None:
    quotas = {entity: values for level in USER_LEVELS[first:] for entity, values in level.items()}
    others = {**quota(90, ("user", "bob")), **quota(90, ("client-id", "d")), **quota(90, ("ip", "10.0.0.1"))}
    assert burst_of({**quotas, **others}, ALICE) == first + 1
    assert burst_of(others, ALICE) is None


def test_who_names_no_client_id_is_under_no_quota_of_client_ids() -> None:
    nameless = RequestContext(principal="User:alice")
    for level in (0, 1, 3, 4, 6, 7):
        assert burst_of(USER_LEVELS[level], nameless) is None
    assert burst_of(USER_LEVELS[5], nameless) == 6
    assert burst_of(USER_LEVELS[5], RequestContext(principal=ANONYMOUS)) == 6


def test_a_quota_of_another_kind_limits_no_mutations() -> None:
    assert burst_of({QuotaEntity(parts=(("user", "alice"),)): {"producer_byte_rate": 1.0}}, ALICE) is None


@pytest.mark.parametrize(
    ("level", "shares_with_bob", "shares_with_d"),
    [(1, False, False), (2, False, True), (4, False, False), (5, False, True), (7, True, False)],
)
def test_whom_a_bucket_is_shared_with(level: int, shares_with_bob: bool, shares_with_d: bool) -> None:
    buckets = MutationQuotas(1)
    assert buckets.of(ALICE, USER_LEVELS[level], 0).take(100)
    bob = RequestContext(principal="User:bob", client_id="c")
    with_d = RequestContext(principal="User:alice", client_id="d")
    if level not in (1, 2):
        assert buckets.of(bob, USER_LEVELS[level], 0).take(1) is not shares_with_bob
    assert buckets.of(with_d, USER_LEVELS[level], 0).take(1) is not shares_with_d
    assert not buckets.of(ALICE, USER_LEVELS[level], 0).take(1)


def test_a_burst_a_debt_and_its_end() -> None:
    buckets, quotas = MutationQuotas(BURST_S), quota(2, ("user", "alice"))
    assert buckets.of(ALICE, quotas, 0).take(22), "eleven seconds' worth"
    assert buckets.of(ALICE, quotas, 0).take(3), "nothing is left, but no debt yet"
    refused = buckets.of(ALICE, quotas, 0)
    assert not refused.take(1)
    assert (refused.throttle_time_ms, refused.why_not.endswith("ask again in 1500 ms.")) == (1500, True)
    assert not buckets.of(ALICE, quotas, 1_499).take(1)
    assert buckets.of(ALICE, quotas, 1_500).take(1)
    long_after = buckets.of(ALICE, quotas, 10_000_000)
    assert [long_after.take(22), long_after.take(1), long_after.take(1)] == [True, True, False], "at most a burst"


def test_who_would_not_understand_a_refusal_is_told_to_wait() -> None:
    buckets, quotas = MutationQuotas(BURST_S), quota(2, ("user", "alice"))
    first, second = buckets.of(OLD, quotas, 0), buckets.of(OLD, quotas, 0)
    assert (first.take(22), first.throttle_time_ms) == (True, 0)
    assert (second.take(8), second.throttle_time_ms) == (True, 4_000)
    assert not buckets.of(ALICE, quotas, 0).take(1)


def test_another_rate_holds_from_now_on() -> None:
    buckets = MutationQuotas(BURST_S)
    assert buckets.of(ALICE, quota(2, ("user", "alice")), 0).take(122)
    faster = buckets.of(ALICE, quota(100, ("user", "alice")), 0)
    assert (faster.take(1), faster.throttle_time_ms) == (False, 1_000)
    assert buckets.of(ALICE, {}, 0).take(10_000)


@given(st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 40)), max_size=40), st.integers(1, 20))
def test_in_the_long_run_nobody_gets_more_than_the_rate(asks: list[tuple[int, int]], rate: int) -> None:
    """At any moment: no more than a burst, what has come back since, and the one request that went into debt."""
    buckets, quotas = MutationQuotas(BURST_S), quota(rate, ("user", "alice"))
    now_ms, spent = 0, 0
    for pause_ms, partitions in asks:
        now_ms += pause_ms
        if buckets.of(ALICE, quotas, now_ms).take(partitions):
            spent += partitions
        assert spent <= rate * (BURST_S + now_ms / 1000) + 40 + 1e-6


def test_the_buckets_of_clients_that_are_gone_do_not_pile_up() -> None:
    buckets, quotas = MutationQuotas(BURST_S), quota(1, ("client-id", None))
    for number in range(MOST_BUCKETS + 100):
        assert buckets.of(RequestContext(client_id=str(number)), quotas, number).take(20)
        buckets.of(RequestContext(client_id="0"), quotas, number)
    assert len(buckets) == MOST_BUCKETS
    assert not buckets.of(RequestContext(client_id="0"), quotas, 0).take(1), "who is in use stays"


# --- what the requests make of it


@pytest.fixture
def cluster() -> ControlledCluster:
    """Alice may create or delete one partition a second; she has topics `t` of 20 and `u` of 2."""
    cluster = ControlledCluster()
    cluster.start(11, 12, 13)
    cluster.create("t", partitions=20)
    cluster.create("u", partitions=2)
    user: QuotaParts = (("user", "alice"),)
    cluster.ask(AlterClientQuotas(entries=(QuotaAlteration(entity=user, ops=((RATE, 1.0),)),)))
    return cluster


def create(cluster: ControlledCluster, *partitions: int, **kw: object) -> tuple[list[Error], int]:
    context = kw.pop("context", ALICE)
    start = len(cluster.log)
    topics = tuple(CreatableTopic(name=f"n{start}-{n}", num_partitions=count) for n, count in enumerate(partitions))
    response = cluster.ask(CreateTopics(topics=topics, **kw), context).response  # type: ignore[arg-type]
    assert isinstance(response, CreateTopicsResponse)
    return [topic.error for topic in response.topics], response.throttle_time_ms


def test_topics_of_one_request_are_refused_from_where_nothing_is_left(cluster: ControlledCluster) -> None:
    assert create(cluster, 5, 10, 1, 1) == ([Error.NONE, Error.NONE, THROTTLED, THROTTLED], 4_000)
    assert len(cluster.image.topics.by_name) == 2 + 2 + 1, "and the metadata topic"
    cluster.elapse(3_999)
    assert create(cluster, 1)[0] == [THROTTLED]
    cluster.elapse(1)
    assert create(cluster, 1) == ([Error.NONE], 0)


def test_what_is_wrong_in_itself_is_said_first_and_costs_nothing(cluster: ControlledCluster) -> None:
    wrong = Error.INVALID_PARTITIONS
    assert create(cluster, 0, 11, 0, 1)[0] == [wrong, Error.NONE, wrong, Error.NONE]
    assert create(cluster, 0, 1)[0] == [wrong, THROTTLED]


def test_only_to_check_costs_as_much(cluster: ControlledCluster) -> None:
    assert create(cluster, 12, validate_only=True) == ([Error.NONE], 0)
    assert create(cluster, 1, validate_only=True) == ([THROTTLED], 1_000)


def test_others_are_not_concerned(cluster: ControlledCluster) -> None:
    create(cluster, 100)
    assert create(cluster, 1)[0] == [THROTTLED]
    assert create(cluster, 1, context=RequestContext(principal="User:bob"))[0] == [Error.NONE]


def test_a_new_controller_knows_no_debts(cluster: ControlledCluster) -> None:
    create(cluster, 100)
    cluster.fail_over()
    assert create(cluster, 1)[0] == [Error.NONE]


def test_deletions_cost_what_they_delete(cluster: ControlledCluster) -> None:
    def delete(*names: str) -> tuple[list[Error], int]:
        request = DeleteTopics(topics=tuple(DeleteTopicState(name=name) for name in names))
        response = cluster.ask(request, ALICE).response
        assert isinstance(response, DeleteTopicsResponse)
        return [topic.error for topic in response.topics], response.throttle_time_ms

    assert delete("none", "t", "u") == ([Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NONE, THROTTLED], 9_000)
    assert "u" in cluster.image.topics.by_name
    cluster.elapse(9_000)
    assert delete("u") == ([Error.NONE], 0)


def test_growing_costs_what_it_adds(cluster: ControlledCluster) -> None:
    def grow(*topics: GrowingTopic, **kw: object) -> tuple[list[Error], int]:
        response = cluster.ask(CreatePartitions(topics=topics, **kw), ALICE).response  # type: ignore[arg-type]
        assert isinstance(response, CreatePartitionsResponse)
        return [topic.error for topic in response.topics], response.throttle_time_ms

    by_hand = GrowingTopic(name="u", count=3, assignments=())
    assert grow(GrowingTopic(name="t", count=32), by_hand, validate_only=True) == (
        [Error.NONE, Error.INVALID_REPLICA_ASSIGNMENT],
        0,
    )
    assert grow(GrowingTopic(name="t", count=1), GrowingTopic(name="u", count=3)) == (
        [Error.INVALID_PARTITIONS, THROTTLED],
        1_000,
    )
    cluster.elapse(1_000)
    assert grow(GrowingTopic(name="u", count=3)) == ([Error.NONE], 0)


def test_an_old_request_is_done_and_its_client_told_to_wait(cluster: ControlledCluster) -> None:
    assert create(cluster, 13, context=OLD) == ([Error.NONE], 2_000)
    assert create(cluster, 1, context=OLD) == ([Error.NONE], 3_000)
    assert create(cluster, 1) == ([THROTTLED], 3_000)
