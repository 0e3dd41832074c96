"""DescribeCluster: the registered brokers as the image has them, and the levels of features."""

from __future__ import annotations

import pytest

from quorum.api.cluster import DescribeCluster, DescribeClusterResponse
from quorum.api.error_codes import Error
from tests.support.controller import CLUSTER_ID, ELR, EVE, LEVEL, ControlledCluster, directory, uuid


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(1, racks={1: "a"})
    cluster.register(2, dirs=2)
    return cluster


def described(cluster: ControlledCluster) -> DescribeClusterResponse:
    response = cluster.ask(DescribeCluster()).response
    assert isinstance(response, DescribeClusterResponse)
    return response


def test_brokers_come_by_id_with_what_they_registered(cluster: ControlledCluster) -> None:
    response = described(cluster)
    one, two = response.brokers
    assert (response.error, response.cluster_id, response.node_id) == (Error.NONE, CLUSTER_ID, 1)
    assert (one.broker_id, one.rack, one.is_fenced, one.incarnation_id) == (1, "a", False, uuid(1))
    assert (two.broker_id, two.rack, two.is_fenced, two.log_dirs) == (2, None, True, (directory(2), directory(2, 1)))
    assert one.broker_epoch < two.broker_epoch
    assert [(at.name, at.port) for at in one.listeners] == [("PLAINTEXT", 9001)]


def test_a_broker_that_registers_again_keeps_its_epoch(cluster: ControlledCluster) -> None:
    before = described(cluster).brokers
    cluster.register(1, rack="b")
    after = described(cluster).brokers
    assert [each.broker_epoch for each in after] == [each.broker_epoch for each in before]
    assert after[0].rack == "b"


def test_features_have_their_levels_as_of_the_last_record(cluster: ControlledCluster) -> None:
    response = described(cluster)
    levels = {each.name: each.level for each in response.finalized_features}
    assert (levels["metadata.version"], levels[ELR]) == (LEVEL, 1)
    assert response.finalized_features_epoch == cluster.last_offset


def test_it_requires_alter_on_the_cluster(cluster: ControlledCluster) -> None:
    response = cluster.ask(DescribeCluster(), EVE).response
    assert isinstance(response, DescribeClusterResponse)
    assert (response.error, response.brokers) == (Error.CLUSTER_AUTHORIZATION_FAILED, ())
