"""The reasons to reject any request of an administrator: a standby, a late request, no right, too many entries."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorum.api.configs import AlterableResource, AlterConfigs, IncrementalAlterConfigs, ReplacedResource
from quorum.api.context import RequestContext
from quorum.api.described_configs import DescribeConfigs, ResourceToDescribe
from quorum.api.elections import ElectLeaders
from quorum.api.error_codes import Error
from quorum.api.partition_counts import CreatePartitions, GrowingTopic
from quorum.api.quotas import AlterClientQuotas, QuotaAlteration
from quorum.api.reassignments import (
    AlterPartitionReassignments,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from quorum.api.request import Request
from quorum.api.scram import AlterUserScramCredentials, ScramDeletion
from quorum.api.topics import CreatableTopic, CreateTopics, DeleteTopics, DeleteTopicState
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster
from tests.support.errors_in import errors_in

REQUESTS = (
    CreateTopics(topics=(CreatableTopic(name="new"),)),
    DeleteTopics(topics=(DeleteTopicState(name="t"),)),
    CreatePartitions(topics=(GrowingTopic(name="t", count=2),)),
    AlterPartitionReassignments(
        topics=(ReassignableTopic(name="t", partitions=(ReassignablePartition(partition_index=0, replicas=(12,)),)),)
    ),
    ElectLeaders(election_type=0, partitions=(TopicPartitions(topic="t", partitions=(0,)),)),
)
MANY = (
    lambda names: CreateTopics(topics=tuple(CreatableTopic(name=name, num_partitions=0) for name in names)),
    lambda names: DeleteTopics(topics=tuple(DeleteTopicState(name=name) for name in names)),
    lambda names: CreatePartitions(topics=tuple(GrowingTopic(name=name, count=2) for name in names)),
    lambda names: DescribeConfigs(resources=tuple(ResourceToDescribe(resource_type=2, name=name) for name in names)),
    lambda names: AlterConfigs(
        resources=tuple(ReplacedResource(resource_type=2, name=name, configs=()) for name in names)
    ),
    lambda names: IncrementalAlterConfigs(
        resources=tuple(AlterableResource(resource_type=2, name=name, configs=()) for name in names)
    ),
    lambda names: AlterClientQuotas(entries=tuple(QuotaAlteration(entity=(("user", name),), ops=()) for name in names)),
    lambda names: AlterUserScramCredentials(deletions=tuple(ScramDeletion(name=name, mechanism=1) for name in names)),
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


def refused(cluster: ControlledCluster, request: Request, context: RequestContext | None = None) -> set[Error]:
    before = cluster.next_offset
    response = cluster.ask(request, context).response
    assert cluster.next_offset == before
    return errors_in(response) - {Error.NONE}


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_a_standby_does_nothing(cluster: ControlledCluster, request_: Request) -> None:
    cluster.machine.deactivate()
    assert refused(cluster, request_) == {Error.NOT_CONTROLLER}


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_what_comes_too_late_is_not_looked_at(cluster: ControlledCluster, request_: Request) -> None:
    late = RequestContext(deadline_ms=cluster.time.monotonic_ms)
    assert refused(cluster, request_, late) == {Error.REQUEST_TIMED_OUT}


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_who_has_no_right_to_it(cluster: ControlledCluster, request_: Request) -> None:
    error = Error.TOPIC_AUTHORIZATION_FAILED
    if isinstance(request_, AlterPartitionReassignments | ElectLeaders):
        error = Error.CLUSTER_AUTHORIZATION_FAILED
    assert refused(cluster, request_, EVE) == {error}


@pytest.mark.parametrize("make", MANY)
def test_who_asks_about_too_many_is_refused_before_any_is_looked_at(
    make: Callable[[tuple[str, ...]], Request],
) -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=2)
    cluster = ControlledCluster(config=config)
    cluster.start(11)
    assert refused(cluster, make(("a", "b", "c"))) == {Error.POLICY_VIOLATION}
    assert Error.POLICY_VIOLATION not in refused(cluster, make(("a", "b")))
