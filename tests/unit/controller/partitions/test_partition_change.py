"""The changes of one partition: rules of the ELR, elections, completed reassignments (KIP-966, 704, 455)."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.ids import NodeId, TopicId
from metadata_log.image import PartitionImage
from metadata_log.records import PartitionChangeRecord
from quorum.controller.partitions.partition_change import ElectionRules, change_of
from tests.support.controller import directory, uuid

TOPIC = TopicId(uuid(1))


def ids(*values: int) -> tuple[NodeId, ...]:
    return tuple(NodeId(value) for value in values)


def partition(isr: tuple[int, ...], **fields: object) -> PartitionImage:
    base = PartitionImage(
        partition_id=0,
        replicas=ids(1, 2, 3),
        directories=tuple(directory(broker) for broker in (1, 2, 3)),
        isr=ids(*isr),
        leader=NodeId(isr[0] if isr else -1),
    )
    return msgspec.structs.replace(base, **fields)


def rules(*active: int, min_isr: int = 1, elr: bool = True, unclean: bool = False, lost: int = -1) -> ElectionRules:
    return ElectionRules(
        is_acceptable=lambda _, broker: broker in active,
        min_isr=min_isr,
        elr_enabled=elr,
        allows_unclean=unclean,
        bumps_epoch_on_shrink=False,
        writes_directories=True,
        default_directory=directory,
        unclean_shutdown=NodeId(lost),
    )


def change(was: PartitionImage, given: ElectionRules, *isr: int, **kw: int) -> dict[str, object]:
    """The fields of the record that say something."""
    record = change_of(TOPIC, was, given, isr=ids(*isr), **kw)
    if record is None:
        return {}
    nothing = PartitionChangeRecord(topic_id=TOPIC, partition_id=0)
    return {name: value for name, value in msgspec.structs.asdict(record).items() if value != getattr(nothing, name)}


def test_nothing_changes() -> None:
    assert change(partition((1, 2, 3)), rules(1, 2, 3), 1, 2, 3) == {}


def test_an_isr_that_shrinks_and_grows_keeps_its_leader() -> None:
    assert change(partition((1, 2, 3)), rules(1, 2, 3), 1, 3) == {"isr": (1, 3)}
    assert change(partition((1, 3)), rules(1, 2, 3), 1, 3, 2) == {"isr": (1, 3, 2)}


def test_a_leader_that_goes_is_followed_by_the_first_replica_in_sync() -> None:
    assert change(partition((3, 2, 1), leader=NodeId(3)), rules(1, 2), 2, 1) == {"isr": (2, 1), "leader": 1}
    assert change(partition((1, 2, 3)), rules(3), 2, 3) == {"isr": (2, 3), "leader": 3}


def test_below_the_smallest_isr_who_leaves_stays_eligible() -> None:
    was = partition((1, 2, 3))
    assert change(was, rules(1, 2, min_isr=2), 1, 2) == {"isr": (1, 2)}
    assert change(was, rules(1, min_isr=2), 1) == {"isr": (1,), "eligible_leader_replicas": (2, 3)}


def test_eligible_ones_add_up_and_end_when_the_isr_is_large_enough() -> None:
    was = partition((1, 2), elr=ids(3))
    assert change(was, rules(1, min_isr=3), 1) == {"isr": (1,), "eligible_leader_replicas": (2, 3)}
    assert change(was, rules(1, 2, 3, min_isr=3), 1, 2, 3) == {"isr": (1, 2, 3), "eligible_leader_replicas": ()}


def test_an_empty_isr_remembers_its_last_leader() -> None:
    assert change(partition((1,)), rules(2, 3)) == {
        "isr": (),
        "leader": -1,
        "eligible_leader_replicas": (1,),
        "last_known_elr": (1,),
    }


def test_an_eligible_replica_leads_when_nobody_is_in_sync() -> None:
    was = partition((), elr=ids(1, 3), last_known_elr=ids(1))
    assert change(was, rules(3)) == {
        "isr": (3,),
        "leader": 3,
        "eligible_leader_replicas": (1,),
        "last_known_elr": (),
    }


def test_nobody_eligible_alive_nothing_happens() -> None:
    assert change(partition((), elr=ids(1), last_known_elr=ids(1)), rules(2, 3)) == {}


def test_a_replica_in_sync_comes_before_an_eligible_one() -> None:
    was = partition((2,), elr=ids(1))
    assert change(was, rules(1, 2, min_isr=2), 2) == {}
    assert change(was, rules(1, min_isr=2), 2) == {"leader": -1, "last_known_elr": (2,)}


def test_after_an_unclean_shutdown_a_replica_is_not_eligible() -> None:
    was = partition((1,), elr=ids(2))
    assert change(was, rules(min_isr=2, lost=1)) == {"isr": (), "leader": -1, "last_known_elr": (1,)}
    assert change(was, rules(1, min_isr=2, lost=2), 1) == {"eligible_leader_replicas": ()}


def test_the_last_known_leader_leads_uncleanly_when_none_is_left() -> None:
    was = partition((), last_known_elr=ids(1))
    assert change(was, rules(2)) == {}
    assert change(was, rules(1, 2)) == {"isr": (1,), "leader": 1, "leader_recovery_state": 1, "last_known_elr": ()}


def test_without_elr_the_last_member_stays_in_the_isr() -> None:
    assert change(partition((1,)), rules(2, 3, elr=False)) == {"leader": -1}
    assert change(partition((1,), leader=NodeId(-1)), rules(1, 2, elr=False), 1) == {"leader": 1}


@pytest.mark.parametrize("elr", [True, False])
def test_an_unclean_election_takes_the_first_replica_alive_and_forgets_the_rest(elr: bool) -> None:
    was = partition((1,), elr=ids(2) if elr else ())
    expected: dict[str, object] = {"isr": (3,), "leader": 3, "leader_recovery_state": 1}
    if elr:
        expected |= {"eligible_leader_replicas": ()}
    assert change(was, rules(3, elr=elr, unclean=True)) == expected


def test_an_unclean_election_is_the_last_resort() -> None:
    assert change(partition((1, 2)), rules(2, 3, unclean=True), 2) == {"isr": (2,), "leader": 2}


def test_a_leader_that_has_recovered() -> None:
    was = partition((1,), leader_recovery_state=1)
    assert change(was, rules(1, 2), 1, recovery=0) == {"leader_recovery_state": 0}


def test_old_levels_raise_the_epoch_when_the_isr_shrinks() -> None:
    old = msgspec.structs.replace(rules(1, 2, 3, elr=False), bumps_epoch_on_shrink=True)
    assert change(partition((1, 2, 3)), old, 1, 2) == {"isr": (1, 2), "leader": 1}
    assert change(partition((1, 2)), old, 1, 2, 3) == {"isr": (1, 2, 3)}


def reassigning(isr: tuple[int, ...], *, adding: tuple[int, ...], removing: tuple[int, ...]) -> PartitionImage:
    replicas = ids(1, 2, 3, *adding)
    return partition(
        isr,
        replicas=replicas,
        directories=tuple(directory(broker) for broker in replicas),
        adding=ids(*adding),
        removing=ids(*removing),
    )


def test_a_reassignment_completes_when_all_added_are_in_sync() -> None:
    was = reassigning((1, 2, 3), adding=(4, 5), removing=(1, 2))
    assert change(was, rules(1, 2, 3, 4, 5), 1, 2, 3, 4) == {"isr": (1, 2, 3, 4)}
    assert change(was, rules(1, 2, 3, 4, 5), 1, 2, 3, 4, 5) == {
        "isr": (3, 4, 5),
        "leader": 3,
        "replicas": (3, 4, 5),
        "removing_replicas": (),
        "adding_replicas": (),
        "directories": (directory(3), directory(4), directory(5)),
    }


def test_a_reassignment_that_keeps_the_leader_still_raises_its_epoch() -> None:
    was = reassigning((1, 2, 3), adding=(4,), removing=(3,))
    record = change(was, rules(1, 2, 3, 4), 1, 2, 3, 4)
    assert (record["leader"], record["replicas"]) == (1, (1, 2, 4))


def test_a_smaller_replication_factor_waits_for_all_that_remain() -> None:
    was = reassigning((1, 2, 3), adding=(), removing=(3,))
    assert change(was, rules(1, 3), 1, 3) == {"isr": (1, 3)}
    assert change(was, rules(1, 2, 3), 1, 2)["replicas"] == (1, 2)


def test_a_reassignment_never_leaves_an_empty_isr() -> None:
    was = reassigning((1, 2), adding=(), removing=(1, 2))
    assert change(was, rules(1, 2), 1) == {"isr": (1,)}
