"""AlterClientQuotas: values in the log, and what of them is refused."""

from __future__ import annotations

import math

import pytest

from metadata_log.image import QuotaEntity
from metadata_log.records import ClientQuotaRecord, EntityData, MetadataRecord
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.quotas import AlterClientQuotas, AlterClientQuotasResponse, AlteredQuota, QuotaAlteration, QuotaParts
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster

ALICE: QuotaParts = (("user", "alice"),)
RATE = "producer_byte_rate"


@pytest.fixture
def cluster() -> ControlledCluster:
    return ControlledCluster()


def alter(
    cluster: ControlledCluster,
    *entries: tuple[QuotaParts, dict[str, float | None]],
    context: RequestContext | None = None,
    validate_only: bool = False,
) -> tuple[list[AlteredQuota], list[MetadataRecord]]:
    before = cluster.next_offset
    alterations = tuple(QuotaAlteration(entity=entity, ops=tuple(ops.items())) for entity, ops in entries)
    response = cluster.ask(AlterClientQuotas(entries=alterations, validate_only=validate_only), context).response
    assert isinstance(response, AlterClientQuotasResponse)
    return list(response.entries), cluster.log[before:]


def held(cluster: ControlledCluster, *parts: tuple[str, str | None]) -> dict[str, float]:
    return dict(cluster.image.client_quotas.by_entity.get(QuotaEntity(parts=parts), {}))


def test_values_are_set_changed_and_removed(cluster: ControlledCluster) -> None:
    (altered,), records = alter(cluster, (ALICE, {RATE: 1024.0, "request_percentage": 12.5}))
    assert altered == AlteredQuota(entity=ALICE)
    entity = (EntityData(entity_type="user", entity_name="alice"),)
    assert records == [
        ClientQuotaRecord(entity=entity, key=RATE, value=1024.0, remove=False),
        ClientQuotaRecord(entity=entity, key="request_percentage", value=12.5, remove=False),
    ]
    _, records = alter(cluster, (ALICE, {RATE: None, "request_percentage": 12.5, "consumer_byte_rate": None}))
    assert records == [ClientQuotaRecord(entity=entity, key=RATE, value=0.0, remove=True)]
    assert held(cluster, ("user", "alice")) == {"request_percentage": 12.5}


def test_an_entity_is_the_same_in_any_order(cluster: ControlledCluster) -> None:
    alter(cluster, ((("user", "alice"), ("client-id", None)), {RATE: 1.0}))
    _, records = alter(cluster, ((("client-id", None), ("user", "alice")), {RATE: 1.0}))
    assert records == []
    assert held(cluster, ("client-id", None), ("user", "alice")) == {RATE: 1.0}


@pytest.mark.parametrize(
    ("entity", "ops"),
    [
        ((), {RATE: 1.0}),
        ((("group", "g"),), {RATE: 1.0}),
        ((("user", ""),), {RATE: 1.0}),
        ((("ip", "10.0.0.1"), ("user", "alice")), {"connection_creation_rate": 1.0}),
        ((("ip", "no.such.host"),), {"connection_creation_rate": 1.0}),
        ((("ip", "10.0.0.1"),), {RATE: 1.0}),
        (ALICE, {"connection_creation_rate": 1.0}),
        (ALICE, {"no_such_rate": 1.0}),
        (ALICE, {RATE: 0.0}),
        (ALICE, {RATE: -1.0}),
        (ALICE, {RATE: 1.5}),
        (ALICE, {RATE: math.nan}),
        (ALICE, {RATE: 1e19}),
        ((("ip", None),), {"connection_creation_rate": float(1 << 31)}),
    ],
)
def test_what_is_refused_leaves_the_others_be(
    cluster: ControlledCluster, entity: QuotaParts, ops: dict[str, float | None]
) -> None:
    bob: QuotaParts = (("user", "bob"),)
    (refused, done), _ = alter(cluster, (entity, {"controller_mutation_rate": None, **ops}), (bob, {RATE: 1.0}))
    assert (refused.entity, refused.error, done.error) == (entity, Error.INVALID_REQUEST, Error.NONE)
    assert refused.error_message
    assert len(cluster.image.client_quotas.by_entity) == 1


@pytest.mark.parametrize(
    ("entity", "key"),
    [
        ((("user", None),), "controller_mutation_rate"),
        ((("client-id", "c"),), "consumer_byte_rate"),
        ((("ip", "10.0.0.1"),), "connection_creation_rate"),
        ((("ip", "::1"),), "connection_creation_rate"),
        ((("ip", None),), "connection_creation_rate"),
    ],
)
def test_what_may_be_set(cluster: ControlledCluster, entity: QuotaParts, key: str) -> None:
    (altered,), _ = alter(cluster, (entity, {key: 5.0}))
    assert altered.error is Error.NONE
    assert held(cluster, *entity) == {key: 5.0}


def test_named_twice_is_refused_once_and_nothing_of_it_is_done(cluster: ControlledCluster) -> None:
    (refused,), records = alter(cluster, (ALICE, {RATE: 1.0}), (ALICE, {RATE: 2.0}))
    assert (refused.error, records) == (Error.INVALID_REQUEST, [])
    twice = QuotaAlteration(entity=ALICE, ops=((RATE, 1.0), (RATE, 2.0)))
    response = cluster.ask(AlterClientQuotas(entries=(twice,))).response
    assert isinstance(response, AlterClientQuotasResponse)
    assert [each.error for each in response.entries] == [Error.INVALID_REQUEST]


def test_only_validated_nothing_is_written(cluster: ControlledCluster) -> None:
    (altered,), records = alter(cluster, (ALICE, {RATE: 1.0}), validate_only=True)
    assert (altered.error, records) == (Error.NONE, [])


def test_quotas_are_the_clusters(cluster: ControlledCluster) -> None:
    (refused,), records = alter(cluster, (ALICE, {RATE: 1.0}), context=EVE)
    assert (refused.error, records) == (Error.CLUSTER_AUTHORIZATION_FAILED, [])


def test_too_many_at_once() -> None:
    cluster = ControlledCluster(config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=1))
    (refused,), records = alter(cluster, (ALICE, {RATE: 1.0, "consumer_byte_rate": 1.0}))
    assert (refused.error, records) == (Error.POLICY_VIOLATION, [])
