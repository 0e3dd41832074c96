"""DescribeUserScramCredentials: users in order, and users that are named twice or have no credential."""

from __future__ import annotations

import pytest

from quorum.api.error_codes import Error
from quorum.api.scram import (
    AlterUserScramCredentials,
    DescribeUserScramCredentials,
    DescribeUserScramCredentialsResponse,
    ScramUpsertion,
)
from tests.support.controller import EVE, ControlledCluster


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    for name, mechanism, iterations in (("bob", 2, 8192), ("alice", 2, 4096), ("alice", 1, 5000)):
        upsertion = ScramUpsertion(
            name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"word"
        )
        cluster.ask(AlterUserScramCredentials(upsertions=(upsertion,)))
    return cluster


def described(cluster: ControlledCluster, *users: str) -> list[tuple[str, list[tuple[int, int]], Error]]:
    response = cluster.ask(DescribeUserScramCredentials(users=users)).response
    assert isinstance(response, DescribeUserScramCredentialsResponse)
    assert response.error is Error.NONE
    return [
        (each.user, [(one.mechanism, one.iterations) for one in each.credentials], each.error)
        for each in response.results
    ]


def test_all_users_come_by_name_with_their_mechanisms_in_order(cluster: ControlledCluster) -> None:
    assert described(cluster) == [
        ("alice", [(1, 5000), (2, 4096)], Error.NONE),
        ("bob", [(2, 8192)], Error.NONE),
    ]


def test_named_users_come_in_the_order_of_the_request(cluster: ControlledCluster) -> None:
    assert described(cluster, "bob", "carol", "alice", "alice") == [
        ("bob", [(2, 8192)], Error.NONE),
        ("carol", [], Error.RESOURCE_NOT_FOUND),
        ("alice", [], Error.DUPLICATE_RESOURCE),
    ]


def test_it_requires_describe_on_the_cluster(cluster: ControlledCluster) -> None:
    response = cluster.ask(DescribeUserScramCredentials(), EVE).response
    assert isinstance(response, DescribeUserScramCredentialsResponse)
    assert (response.error, response.results) == (Error.CLUSTER_AUTHORIZATION_FAILED, ())
