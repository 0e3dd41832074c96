"""What any request of an administrator is refused with, whatever it asks: here, and by whom it was asked."""

from __future__ import annotations

import pytest

from quorum.controller import requests as r
from quorum.controller.context import RequestContext
from quorum.errors import Error
from tests.support.controller import EVE, ControlledCluster
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
