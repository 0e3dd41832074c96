"""BrokerHeartbeat: caught up, unfenced, fenced, shut down; directories lost and cordoned; leaders and ISRs."""

from __future__ import annotations

import pytest

from metadata_log.records import BrokerRegistrationChangeRecord, PartitionChangeRecord
from quorum.api.brokers import BrokerHeartbeat, BrokerHeartbeatResponse
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster, directory


@pytest.fixture
def cluster() -> ControlledCluster:
    return ControlledCluster()


def broker_of(cluster: ControlledCluster, broker_id: int) -> tuple[bool, bool]:
    broker = cluster.image.cluster.brokers[broker_id]  # type: ignore[index]
    return broker.fenced, broker.in_controlled_shutdown


def test_a_broker_of_another_epoch_or_none_is_stale(cluster: ControlledCluster) -> None:
    cluster.register(11)
    before = cluster.next_offset
    assert cluster.beat(11, broker_epoch=12345).error is Error.STALE_BROKER_EPOCH
    unknown = cluster.ask(BrokerHeartbeat(broker_id=9, broker_epoch=0, current_metadata_offset=0)).response
    assert isinstance(unknown, BrokerHeartbeatResponse)
    assert unknown.error is Error.STALE_BROKER_EPOCH
    assert cluster.next_offset == before


def test_a_named_principal_may_not_beat(cluster: ControlledCluster) -> None:
    request = BrokerHeartbeat(broker_id=9, broker_epoch=0, current_metadata_offset=0)
    response = cluster.ask(request, EVE).response
    assert isinstance(response, BrokerHeartbeatResponse)
    assert response.error is Error.CLUSTER_AUTHORIZATION_FAILED


def test_unfenced_once_caught_up_and_wanted(cluster: ControlledCluster) -> None:
    epoch = cluster.register(11).broker_epoch
    behind = cluster.beat(11, current_metadata_offset=epoch - 1)
    assert (behind.is_caught_up, behind.is_fenced) == (False, True)
    waiting = cluster.beat(11, current_metadata_offset=epoch, want_fence=True)
    assert (waiting.is_caught_up, waiting.is_fenced) == (True, True)
    ready = cluster.heartbeat(11, current_metadata_offset=epoch)
    assert ready.records == (BrokerRegistrationChangeRecord(broker_id=11, broker_epoch=epoch, fenced=-1),)  # type: ignore[arg-type]
    assert not cluster.beat(11).is_fenced
    assert broker_of(cluster, 11) == (False, False)


def test_fencing_takes_the_broker_out_of_isrs_first(cluster: ControlledCluster) -> None:
    cluster.start(11, 12)
    topic_id = cluster.place("t", (11, 12), (12, 11))
    result = cluster.heartbeat(11, want_fence=True)
    assert [type(record) for record in result.records] == [PartitionChangeRecord] * 2 + [BrokerRegistrationChangeRecord]
    led, followed = cluster.partition(topic_id, 0), cluster.partition(topic_id, 1)
    assert (led.leader, led.isr, led.leader_epoch, led.partition_epoch) == (12, (12,), 1, 1)
    assert (followed.leader, followed.isr, followed.leader_epoch, followed.partition_epoch) == (12, (12,), 0, 1)
    assert cluster.heartbeat(11, want_fence=True).records == ()


def test_before_3_6_a_shrinking_isr_raises_the_leaders_epoch() -> None:
    cluster = ControlledCluster(level=11, elr=False)
    cluster.start(11, 12)
    topic_id = cluster.place("t", (12, 11))
    cluster.beat(11, want_fence=True)
    partition = cluster.partition(topic_id)
    assert (partition.leader, partition.isr, partition.leader_epoch) == (12, (12,), 1)


@pytest.mark.parametrize("elr", [True, False])
def test_an_unfenced_broker_leads_again_what_waited_for_it(elr: bool) -> None:
    cluster = ControlledCluster(elr=elr)
    cluster.start(11, 12)
    topic_id = cluster.place("t", (11,), (12,))
    cluster.beat(11, want_fence=True)
    assert cluster.partition(topic_id, 0).leader == -1
    result = cluster.heartbeat(11)
    assert [type(record) for record in result.records] == [BrokerRegistrationChangeRecord, PartitionChangeRecord]
    partition = cluster.partition(topic_id, 0)
    assert (partition.leader, partition.isr, partition.elr, partition.last_known_elr) == (11, (11,), (), ())


def test_a_fenced_broker_may_stop_at_once(cluster: ControlledCluster) -> None:
    cluster.register(11)
    response = cluster.beat(11, want_shut_down=True)
    assert (response.should_shut_down, response.is_fenced) == (True, True)


def test_a_broker_that_leads_nothing_may_stop_at_once(cluster: ControlledCluster) -> None:
    cluster.start(11, 12)
    topic_id = cluster.place("t", (12, 11))
    response = cluster.beat(11, want_shut_down=True)
    assert response.should_shut_down
    assert cluster.partition(topic_id).isr == (12,)
    assert broker_of(cluster, 11)[0]


def test_want_fence_and_want_shut_down_stop_at_once(cluster: ControlledCluster) -> None:
    cluster.start(11)
    topic_id = cluster.place("t", (11,))
    assert cluster.beat(11, want_shut_down=True, want_fence=True).should_shut_down
    assert cluster.partition(topic_id).leader == -1


def test_controlled_shutdown_moves_leaders_and_waits_for_the_others_to_see_it(cluster: ControlledCluster) -> None:
    cluster.start(11, 12)
    topic_id = cluster.place("t", (11, 12))
    before = cluster.last_offset
    cluster.beat(12, current_metadata_offset=before)
    result = cluster.heartbeat(11, want_shut_down=True)
    assert [type(record) for record in result.records] == [BrokerRegistrationChangeRecord, PartitionChangeRecord]
    assert cluster.partition(topic_id).leader == 12
    assert broker_of(cluster, 11) == (False, True)
    moved = cluster.last_offset
    assert not cluster.beat(11, want_shut_down=True).should_shut_down
    cluster.beat(12, current_metadata_offset=moved - 1)
    assert not cluster.beat(11, want_shut_down=True).should_shut_down
    cluster.beat(12, current_metadata_offset=moved)
    response = cluster.beat(11, want_shut_down=True)
    assert (response.should_shut_down, response.is_fenced) == (True, True)
    assert broker_of(cluster, 11)[0]


def test_the_last_broker_may_stop_when_nobody_is_left_to_see_it(cluster: ControlledCluster) -> None:
    cluster.start(11)
    topic_id = cluster.place("t", (11,))
    assert not cluster.beat(11, want_shut_down=True).should_shut_down
    partition = cluster.partition(topic_id)
    assert (partition.leader, partition.isr, partition.elr, partition.last_known_elr) == (-1, (), (11,), (11,))
    assert cluster.beat(11, want_shut_down=True).should_shut_down


def test_a_controlled_shutdown_goes_on_after_a_failover(cluster: ControlledCluster) -> None:
    cluster.start(11, 12)
    cluster.place("t", (11, 12))
    cluster.beat(11, want_shut_down=True)
    cluster.fail_over()
    cluster.beat(12)
    assert cluster.beat(11, want_shut_down=True).should_shut_down


def test_taking_leave_is_spread_over_turns() -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=4)
    cluster = ControlledCluster(config=config)
    cluster.start(11, 12)
    topics = [cluster.place(f"t{index}", (11, 12)) for index in range(10)]
    sizes = []
    while not (response := cluster.beat(11, want_fence=True)).is_fenced:
        sizes.append(sum(cluster.partition(topic_id).leader == 12 for topic_id in topics))
        if len(sizes) == 1:
            topics.append(cluster.place("meanwhile", (11, 12)))
    assert response.error is Error.NONE
    assert sizes[:2] == [4, 8]
    assert all(cluster.partition(topic_id).isr == (12,) for topic_id in topics)


def test_elections_for_a_returning_broker_are_spread_over_turns() -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=4)
    cluster = ControlledCluster(config=config)
    cluster.start(11)
    topics = [cluster.place(f"t{index}", (11,)) for index in range(10)]
    while not cluster.beat(11, want_fence=True).is_fenced:
        pass
    assert all(cluster.partition(topic_id).leader == -1 for topic_id in topics)
    assert not cluster.beat(11).is_fenced
    assert sum(cluster.partition(topic_id).leader == 11 for topic_id in topics) == 4
    cluster.settle()
    assert all(cluster.partition(topic_id).leader == 11 for topic_id in topics)


def test_elections_that_a_predecessor_did_not_get_to_are_made_up_for() -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=4)
    cluster = ControlledCluster(config=config)
    cluster.start(11)
    topics = [cluster.place(f"t{index}", (11,)) for index in range(10)]
    while not cluster.beat(11, want_fence=True).is_fenced:
        pass
    cluster.beat(11)
    cluster.fail_over()
    cluster.settle()
    assert all(cluster.partition(topic_id).leader == 11 for topic_id in topics)


def test_a_lost_directory_takes_its_replicas_out_of_isrs(cluster: ControlledCluster) -> None:
    cluster.start(12)
    cluster.start(11, dirs=2)
    topic_id = cluster.place("t", (11, 12), (11, 12))
    lost, kept = directory(11, 0), directory(11, 1)
    for index, where in enumerate((lost, kept)):
        cluster.append(
            (PartitionChangeRecord(topic_id=topic_id, partition_id=index, directories=(where, directory(12))),)
        )
    result = cluster.heartbeat(11, offline_log_dirs=(lost,))
    assert result.records[-1] == BrokerRegistrationChangeRecord(
        broker_id=11,  # type: ignore[arg-type]
        broker_epoch=cluster.image.cluster.brokers[11].epoch,  # type: ignore[index]
        log_dirs=(kept,),
    )
    assert (cluster.partition(topic_id, 0).leader, cluster.partition(topic_id, 0).isr) == (12, (12,))
    assert (cluster.partition(topic_id, 1).leader, cluster.partition(topic_id, 1).isr) == (11, (11, 12))
    assert cluster.heartbeat(11, offline_log_dirs=(lost,)).records == ()


def test_cordoned_directories_are_written_when_they_change(cluster: ControlledCluster) -> None:
    cluster.register(11)
    assert cluster.heartbeat(11, want_fence=True).records == ()
    first = cluster.heartbeat(11, want_fence=True, cordoned_log_dirs=())
    assert [record.cordoned_log_dirs for record in first.records] == [()]  # type: ignore[union-attr]
    assert cluster.heartbeat(11, want_fence=True, cordoned_log_dirs=()).records == ()
    second = cluster.heartbeat(11, want_fence=True, cordoned_log_dirs=(directory(11),))
    assert [record.cordoned_log_dirs for record in second.records] == [(directory(11),)]  # type: ignore[union-attr]


@pytest.mark.parametrize("named", ["offline_log_dirs", "cordoned_log_dirs"])
def test_more_directories_than_a_broker_has_are_not_looked_at(cluster: ControlledCluster, named: str) -> None:
    cluster.start(11, 12)
    topic_id = cluster.place("t", (11, 12))
    cluster.elapse(5_000)
    directories = tuple(directory(11, number) for number in range(1_001))
    result = cluster.heartbeat(11, want_fence=True, **{named: directories})
    assert isinstance(result.response, BrokerHeartbeatResponse)
    assert (result.response.error, result.records) == (Error.INVALID_REQUEST, ())
    cluster.elapse(4_001)
    cluster.heartbeat(12)
    cluster.settle()
    assert broker_of(cluster, 11)[0], "it is no sign of life"
    assert cluster.partition(topic_id).isr == (12,), "nothing had been begun of which it could be missing"
    taken = cluster.heartbeat(11, want_fence=True, **{named: directories[1:]}).response
    assert isinstance(taken, BrokerHeartbeatResponse)
    assert taken.error is Error.NONE


def test_below_4_3_nothing_is_written_of_cordoned_directories() -> None:
    cluster = ControlledCluster(level=29)
    cluster.register(11)
    assert cluster.heartbeat(11, want_fence=True, cordoned_log_dirs=()).records == ()


def test_a_heartbeat_that_came_too_late_still_shows_life(cluster: ControlledCluster) -> None:
    cluster.start(11)
    cluster.elapse(9_000)
    epoch = cluster.image.cluster.brokers[11].epoch  # type: ignore[index]
    late = BrokerHeartbeat(broker_id=11, broker_epoch=epoch, current_metadata_offset=0, want_fence=True)
    response = cluster.ask(late, RequestContext(deadline_ms=cluster.time.monotonic_ms)).response
    assert isinstance(response, BrokerHeartbeatResponse)
    assert response.error is Error.REQUEST_TIMED_OUT
    cluster.elapse(9_000)
    cluster.settle()
    assert broker_of(cluster, 11) == (False, False)
