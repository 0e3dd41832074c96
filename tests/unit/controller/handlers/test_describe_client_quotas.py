"""DescribeClientQuotas: which entities a filter means, and which filters there cannot be."""

from __future__ import annotations

import pytest

from quorum.api.error_codes import Error
from quorum.api.quotas import (
    AlterClientQuotas,
    DescribeClientQuotas,
    DescribeClientQuotasResponse,
    QuotaAlteration,
    QuotaComponent,
    QuotaMatch,
    QuotaParts,
)
from tests.support.controller import EVE, ControlledCluster

ALICE: QuotaParts = (("user", "alice"),)
ANY_USER: QuotaParts = (("user", None),)
ALICE_IN_APP: QuotaParts = (("client-id", "app"), ("user", "alice"))
APP: QuotaParts = (("client-id", "app"),)
ADDRESS: QuotaParts = (("ip", "10.0.0.1"),)
EVERYBODY = (APP, ALICE_IN_APP, ADDRESS, ANY_USER, ALICE)
"""The entities, in the order of the response."""


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    ops = dict.fromkeys(EVERYBODY, (("consumer_byte_rate", 2.0), ("producer_byte_rate", 1500.0)))
    ops[ADDRESS] = (("connection_creation_rate", 3.0),)
    alterations = tuple(QuotaAlteration(entity=entity, ops=each) for entity, each in ops.items())
    response = cluster.ask(AlterClientQuotas(entries=alterations)).response
    assert {entry.error for entry in response.entries} == {Error.NONE}  # type: ignore[union-attr]
    return cluster


def exactly(kind: str, name: str) -> QuotaComponent:
    return QuotaComponent(entity_type=kind, match_type=QuotaMatch.EXACT, match=name)


def default(kind: str) -> QuotaComponent:
    return QuotaComponent(entity_type=kind, match_type=QuotaMatch.DEFAULT)


def specified(kind: str) -> QuotaComponent:
    return QuotaComponent(entity_type=kind, match_type=QuotaMatch.SPECIFIED)


def described(cluster: ControlledCluster, *components: QuotaComponent, strict: bool = False) -> list[QuotaParts]:
    result = cluster.ask(DescribeClientQuotas(components=components, strict=strict))
    assert result.records == ()
    assert isinstance(result.response, DescribeClientQuotasResponse)
    assert result.response.error is Error.NONE
    return [entry.entity for entry in result.response.entries]


def test_values_are_told_by_key(cluster: ControlledCluster) -> None:
    response = cluster.ask(DescribeClientQuotas(components=(default("user"),))).response
    assert isinstance(response, DescribeClientQuotasResponse)
    (entry,) = response.entries
    assert (entry.entity, entry.values) == (ANY_USER, (("consumer_byte_rate", 2.0), ("producer_byte_rate", 1.5e3)))


def test_which_entities_are_meant(cluster: ControlledCluster) -> None:
    assert described(cluster) == list(EVERYBODY)
    assert described(cluster, exactly("user", "alice")) == [ALICE_IN_APP, ALICE]
    assert described(cluster, exactly("user", "alice"), strict=True) == [ALICE]
    assert described(cluster, default("user")) == [ANY_USER]
    assert described(cluster, specified("user")) == [ALICE_IN_APP, ANY_USER, ALICE]
    assert described(cluster, specified("user"), exactly("client-id", "app")) == [ALICE_IN_APP]
    assert described(cluster, specified("ip")) == [ADDRESS]
    assert described(cluster, exactly("user", "bob")) == []
    assert described(cluster, strict=True) == []


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ((specified(""),), Error.INVALID_REQUEST),
        ((specified("group"),), Error.UNSUPPORTED_VERSION),
        ((specified("user"), default("user")), Error.INVALID_REQUEST),
        ((QuotaComponent(entity_type="user", match_type=3),), Error.INVALID_REQUEST),
        ((QuotaComponent(entity_type="user", match_type=QuotaMatch.EXACT),), Error.INVALID_REQUEST),
        ((QuotaComponent(entity_type="user", match_type=QuotaMatch.DEFAULT, match="x"),), Error.INVALID_REQUEST),
        ((QuotaComponent(entity_type="user", match_type=QuotaMatch.SPECIFIED, match="x"),), Error.INVALID_REQUEST),
        ((specified("ip"), specified("user")), Error.INVALID_REQUEST),
        ((specified("client-id"), exactly("ip", "10.0.0.1")), Error.INVALID_REQUEST),
    ],
)
def test_filters_that_there_cannot_be(
    cluster: ControlledCluster, components: tuple[QuotaComponent, ...], error: Error
) -> None:
    response = cluster.ask(DescribeClientQuotas(components=components)).response
    assert isinstance(response, DescribeClientQuotasResponse)
    assert (response.error, response.entries) == (error, ())
    assert response.error_message


def test_who_may_not_describe_configs_of_the_cluster(cluster: ControlledCluster) -> None:
    response = cluster.ask(DescribeClientQuotas(), EVE).response
    assert isinstance(response, DescribeClientQuotasResponse)
    assert (response.error, response.entries) == (Error.CLUSTER_AUTHORIZATION_FAILED, ())
