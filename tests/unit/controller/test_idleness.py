"""NoOps of an idle controller (KIP-835): when one is due, and when none may be written."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.image import MetadataImage
from metadata_log.image.features import FeaturesImage
from metadata_log.records import MetadataRecord, NoOpRecord
from quorum.api.topics import CreateTopics
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, ControlledCluster

INTERVAL_MS = 500
NO_OP = (NoOpRecord(),)


def _cluster(interval_ms: int | None = INTERVAL_MS) -> ControlledCluster:
    """A controller that has just written something, with nothing left to do."""
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_idle_interval_ms=interval_ms)
    cluster = ControlledCluster(config=config)
    cluster.start(11)
    cluster.settle()
    cluster.place("t", (11,))
    return cluster


def _look(cluster: ControlledCluster, *, all_committed: bool) -> tuple[MetadataRecord, ...]:
    machine = cluster.machine
    return machine.on_elapsed(cluster.image, cluster.next_offset, cluster.time, all_committed=all_committed).records


def test_kafkas_interval_is_the_default() -> None:
    assert ControllerConfig(node_id=1, cluster_id=CLUSTER_ID).max_idle_interval_ms == INTERVAL_MS


def test_a_no_op_is_due_once_nothing_was_appended_for_the_interval() -> None:
    cluster = _cluster()
    assert cluster.machine.next_deadline_ms() == cluster.time.monotonic_ms + INTERVAL_MS
    cluster.elapse(INTERVAL_MS - 1)
    assert cluster.look() == ()
    cluster.elapse(1)
    assert cluster.look() == NO_OP
    assert cluster.look() == ()
    cluster.elapse(INTERVAL_MS)
    assert cluster.settle() == [NoOpRecord()]


def test_whatever_is_appended_puts_it_off() -> None:
    cluster = _cluster()
    cluster.elapse(INTERVAL_MS - 1)
    cluster.place("u", (11,))
    cluster.elapse(INTERVAL_MS - 1)
    assert cluster.look() == ()
    cluster.machine.on_control_batch(cluster.time)
    cluster.elapse(INTERVAL_MS - 1)
    assert cluster.look() == ()
    cluster.elapse(1)
    assert cluster.look() == NO_OP


def test_a_request_that_writes_nothing_does_not() -> None:
    cluster = _cluster()
    cluster.elapse(INTERVAL_MS - 1)
    cluster.ask(CreateTopics(topics=()))
    cluster.beat(11)
    cluster.elapse(1)
    assert cluster.look() == NO_OP


def test_none_while_commits_are_stuck_and_no_haste_afterwards() -> None:
    cluster = _cluster()
    for _ in range(10):
        cluster.elapse(INTERVAL_MS)
        assert _look(cluster, all_committed=False) == ()
        deadline = cluster.machine.next_deadline_ms()
        assert deadline is not None
        assert deadline > cluster.time.monotonic_ms, "a turn would follow the other without a pause"
    assert _look(cluster, all_committed=True) == ()
    cluster.elapse(INTERVAL_MS)
    assert _look(cluster, all_committed=True) == NO_OP


def test_what_is_due_goes_first() -> None:
    cluster = _cluster()
    cluster.elapse(9_001)
    first = cluster.look()
    assert first
    assert NoOpRecord() not in first


@pytest.mark.parametrize(("level", "expected"), [(None, ()), (4, ()), (5, NO_OP), (7, NO_OP)])
def test_none_below_the_level_that_knows_it(level: int | None, expected: tuple[MetadataRecord, ...]) -> None:
    cluster = _cluster()
    cluster.settle()
    image = msgspec.structs.replace(cluster.image, features=FeaturesImage(metadata_version=level))
    cluster.elapse(INTERVAL_MS)
    assert cluster.machine.on_elapsed(image, cluster.next_offset, cluster.time).records == expected
    deadline = cluster.machine.next_deadline_ms()
    assert deadline is not None
    assert deadline > cluster.time.monotonic_ms


def test_none_where_it_is_off_and_none_on_a_standby() -> None:
    cluster = _cluster(None)
    cluster.elapse(8_000)
    assert cluster.look() == ()
    standby = _cluster()
    standby.elapse(INTERVAL_MS)
    standby.machine.deactivate()
    assert standby.look() == ()
    assert standby.machine.next_deadline_ms() is None


def test_a_new_controller_counts_from_its_activation() -> None:
    cluster = _cluster()
    cluster.elapse(INTERVAL_MS)
    cluster.fail_over()
    cluster.settle()
    cluster.elapse(INTERVAL_MS - 1)
    assert cluster.settle() == []
    cluster.elapse(1)
    assert cluster.settle() == [NoOpRecord()]


def test_it_changes_nothing_but_the_end_of_the_image() -> None:
    cluster = _cluster()
    before: MetadataImage = cluster.image
    cluster.elapse(INTERVAL_MS)
    cluster.settle()
    assert cluster.image.offset_and_epoch.offset == before.offset_and_epoch.offset + 1
    assert cluster.image.says_the_same_as(before)
