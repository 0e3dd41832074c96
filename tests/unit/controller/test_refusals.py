"""What any request of an administrator is refused with, whatever it asks: here, and by whom it was asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorum import api as r
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster
from tests.support.errors_in import errors_in

REQUESTS = (
    r.CreateTopics(topics=(r.CreatableTopic(name="new"),)),
    r.DeleteTopics(topics=(r.DeleteTopicState(name="t"),)),
    r.CreatePartitions(topics=(r.GrowingTopic(name="t", count=2),)),
    r.AlterPartitionReassignments(
        topics=(
            r.ReassignableTopic(name="t", partitions=(r.ReassignablePartition(partition_index=0, replicas=(12,)),)),
        )
    ),
    r.ElectLeaders(election_type=0, partitions=(r.TopicPartitions(topic="t", partitions=(0,)),)),
)
MANY = (
    lambda names: r.CreateTopics(topics=tuple(r.CreatableTopic(name=name, num_partitions=0) for name in names)),
    lambda names: r.DeleteTopics(topics=tuple(r.DeleteTopicState(name=name) for name in names)),
    lambda names: r.CreatePartitions(topics=tuple(r.GrowingTopic(name=name, count=2) for name in names)),
    lambda names: r.DescribeConfigs(
        resources=tuple(r.ResourceToDescribe(resource_type=2, name=name) for name in names)
    ),
    lambda names: r.AlterConfigs(
        resources=tuple(r.ReplacedResource(resource_type=2, name=name, configs=()) for name in names)
    ),
    lambda names: r.IncrementalAlterConfigs(
        resources=tuple(r.AlterableResource(resource_type=2, name=name, configs=()) for name in names)
    ),
    lambda names: r.AlterClientQuotas(
        entries=tuple(r.QuotaAlteration(entity=(("user", name),), ops=()) for name in names)
    ),
    lambda names: r.AlterUserScramCredentials(
        deletions=tuple(r.ScramDeletion(name=name, mechanism=1) for name in names)
    ),
)
"""Requests about each of some names that need no record, whatever the names are."""


@pytest.fixture
def cluster() -> ControlledCluster:
    """Broker 12 leads `t`, though 11 should."""
    cluster = ControlledCluster()
    cluster.start(11, 12)
    cluster.place("t", (11, 12))
    cluster.beat(11, want_fence=True)
    cluster.beat(11)
    return cluster


def refused(cluster: ControlledCluster, request: r.Request, context: RequestContext | None = None) -> set[Error]:
    before = cluster.next_offset
    response = cluster.ask(request, context).response
    assert cluster.next_offset == before
    return errors_in(response) - {Error.NONE}


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_a_standby_does_nothing(cluster: ControlledCluster, request_: r.Request) -> None:
    cluster.machine.deactivate()
    assert refused(cluster, request_) == {Error.NOT_CONTROLLER}


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_what_comes_too_late_is_not_looked_at(cluster: ControlledCluster, request_: r.Request) -> None:
    late = RequestContext(deadline_ms=cluster.time.monotonic_ms)
    assert refused(cluster, request_, late) == {Error.REQUEST_TIMED_OUT}


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_who_has_no_right_to_it(cluster: ControlledCluster, request_: r.Request) -> None:
    error = Error.TOPIC_AUTHORIZATION_FAILED
    if isinstance(request_, r.AlterPartitionReassignments | r.ElectLeaders):
        error = Error.CLUSTER_AUTHORIZATION_FAILED
    assert refused(cluster, request_, EVE) == {error}


@pytest.mark.parametrize("make", MANY)
def test_who_asks_about_too_many_is_refused_before_any_is_looked_at(
    make: Callable[[tuple[str, ...]], r.Request],
) -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=2)
    cluster = ControlledCluster(config=config)
    cluster.start(11)
    assert refused(cluster, make(("a", "b", "c"))) == {Error.POLICY_VIOLATION}
    assert Error.POLICY_VIOLATION not in refused(cluster, make(("a", "b")))
