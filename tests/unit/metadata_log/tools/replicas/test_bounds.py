"""The bounds of what is committed, for sets of replicas that crashes leave behind."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.replicas.committed_bounds import (
    CommittedBounds,
    ProvenCommit,
    ReplicaExtent,
    certain_bounds,
    committed_bounds,
)
from metadata_log.tools.replicas.voters_in_force import VotersInForce


def key(node_id: int) -> ReplicaKey:
    return ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes([node_id] * 16)))


def replica(
    node_id: int, *ends: tuple[int, int], snapshot: tuple[int, int] = (0, -1), high_watermark: int | None = None
) -> ReplicaExtent:
    """A log of these (epoch, end offset) pairs, from offset 0."""
    starts = [0, *(end for _, end in ends)]
    spans = tuple(
        EpochSpan(epoch=epoch, start_offset=start, end_offset=end)
        for (epoch, end), start in zip(ends, starts, strict=False)
    )
    return ReplicaExtent(
        key=key(node_id),
        epochs=spans,
        log_end_offset=ends[-1][1] if ends else 0,
        snapshot_end=snapshot[0],
        snapshot_epoch=snapshot[1],
        high_watermark=high_watermark,
    )


VOTERS = [key(1), key(2), key(3)]


def bounds(*replicas: ReplicaExtent) -> tuple[int, int | None]:
    found = committed_bounds(replicas, VOTERS)
    return found.lower, found.upper


def test_a_majority_in_the_last_epoch_vouches() -> None:
    assert bounds(replica(1, (1, 80)), replica(2, (1, 95)), replica(3, (1, 96))) == (95, 95)


def test_a_log_that_could_not_be_read_to_its_end_may_have_any() -> None:
    unread = msgspec.structs.replace(replica(1), is_authoritative=False)
    assert bounds(unread, replica(2, (1, 90), (2, 120)), replica(3, (1, 90))) == (90, 120)
    assert bounds(replica(1), replica(2, (1, 90), (2, 120)), replica(3, (1, 90))) == (90, 90)


def test_a_tail_that_one_replica_has_is_above_the_upper_bound() -> None:
    assert bounds(replica(1, (1, 100)), replica(2, (1, 90), (2, 120)), replica(3, (1, 90), (2, 120))) == (120, 120)


def test_an_epoch_that_no_majority_holds_leaves_a_range() -> None:
    assert bounds(replica(1, (1, 100)), replica(2, (1, 100)), replica(3, (1, 60), (2, 90))) == (60, 100)


def test_the_old_epoch_vouches_where_the_new_one_builds_on_it() -> None:
    assert bounds(replica(1, (1, 100)), replica(2, (1, 100)), replica(3, (1, 100), (2, 130))) == (100, 100)


def test_snapshots_and_high_watermarks_vouch_alone() -> None:
    assert bounds(replica(1, (1, 50), snapshot=(40, 1))) == (40, None)
    assert bounds(replica(1, (1, 50), high_watermark=45)) == (45, None)


def test_absent_voters_may_hold_anything() -> None:
    assert bounds(replica(1, (1, 50)), replica(2, (1, 40))) == (40, 50)
    assert bounds(replica(1, (1, 50))) == (0, None)


def test_a_snapshot_counts_as_holding_what_it_covers() -> None:
    from_snapshot = replica(2, snapshot=(70, 3))
    assert bounds(replica(1, (3, 90)), from_snapshot, replica(3)) == (70, 70)


def test_observers_and_second_copies_do_not_vote() -> None:
    observer = replica(9, (1, 99))
    assert bounds(replica(1, (1, 50)), observer, observer) == (0, None)
    assert bounds(replica(1, (1, 50)), replica(1, (1, 60)), replica(2, (1, 55))) == (55, 60)


def test_without_known_voters_nothing_is_above() -> None:
    found = committed_bounds([replica(1, (1, 50), snapshot=(10, 1))], [])
    assert found == CommittedBounds(lower=10, upper=None, because="the checkpoint of node 1 ends there")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_order_of_replicas_does_not_matter(order: tuple[int, ...]) -> None:
    replicas = [replica(1, (1, 10), (4, 30)), replica(2, (1, 10), (3, 25)), replica(3, (1, 10), (4, 20))]
    assert bounds(*(replicas[number] for number in order)) == (20, 25)


def test_what_a_cut_log_once_held_may_have_been_committed() -> None:
    cut = msgspec.structs.replace(replica(1, (1, 40)), proved_end=96)
    assert bounds(cut, replica(2, (1, 40)), replica(3, (1, 96))) == (96, 96)
    assert bounds(cut, replica(2, (1, 40)), replica(3, (1, 40))) == (40, 40)
    assert bounds(cut, replica(3, (1, 40))) == (40, 96)


def test_a_log_that_is_not_its_voters_last_bounds_nothing_from_above() -> None:
    old = msgspec.structs.replace(replica(2, (1, 40)), is_authoritative=False)
    assert bounds(replica(1, (1, 90)), old, replica(3, (1, 96))) == (90, 96)
    assert bounds(replica(1, (1, 90)), old) == (40, None)


def test_where_more_is_committed_than_a_majority_holds_nothing_is_known_from_above() -> None:
    led = msgspec.structs.replace(replica(3, (1, 80), (2, 120)), committed_before=90)
    assert bounds(replica(1, (1, 80)), replica(2, (1, 80)), led) == (90, None)


def test_a_leader_whose_followers_have_more_of_its_epoch_bounds_nothing_from_above() -> None:
    led = msgspec.structs.replace(replica(1, (1, 40)), leaders=((1, 1),))
    assert bounds(led, replica(2, (1, 40)), replica(3, (1, 96))) == (40, 96)
    assert bounds(replica(1, (1, 40)), replica(2, (1, 40)), replica(3, (1, 96))) == (40, 40)
    assert bounds(led, replica(2, (1, 40)), replica(3, (1, 40)), replica(11, (1, 96))) == (40, 40)


def test_any_log_may_name_the_leader_whose_followers_have_more() -> None:
    follower = msgspec.structs.replace(replica(3, (1, 96)), leaders=((1, 1),))
    assert bounds(replica(1, (1, 40)), replica(2, (1, 40)), follower) == (40, 96)


def test_a_leader_may_have_cut_its_log_after_a_later_leader() -> None:
    led = msgspec.structs.replace(replica(1, (1, 40)), leaders=((1, 1),))
    assert bounds(led, replica(2, (1, 40), (2, 41)), replica(3, (1, 96))) == (40, 41)


def test_two_leaders_of_one_epoch_prove_nothing_of_either() -> None:
    led = msgspec.structs.replace(replica(1, (1, 40)), leaders=((1, 1),))
    other = msgspec.structs.replace(replica(3, (1, 96)), leaders=((1, 3),))
    assert bounds(led, replica(2, (1, 40)), other) == (40, 40)


def test_a_leader_whose_log_lacks_its_own_epoch_bounds_nothing_from_above() -> None:
    other = msgspec.structs.replace(replica(3, (1, 126), (2, 127), (3, 128)), leaders=((2, 2), (3, 3)))
    assert bounds(replica(1, (1, 126)), replica(2, (1, 126)), other) == (126, 128)
    by_3 = msgspec.structs.replace(other, leaders=((2, 3), (3, 3)))
    assert bounds(replica(1, (1, 126)), replica(2, (1, 126)), by_3) == (126, 126)


def test_a_later_leader_may_have_cut_the_epoch_of_an_earlier_one() -> None:
    other = msgspec.structs.replace(replica(3, (1, 126), (2, 127)), leaders=((2, 2),))
    assert bounds(replica(1, (1, 126), (3, 127)), replica(2, (1, 126)), other) == (126, 127)
    assert bounds(replica(1, (1, 126)), replica(2, (1, 120), (3, 126)), other) == (120, 126)


def test_lost_records_count_in_an_epoch_that_the_log_took_part_in() -> None:
    cut = msgspec.structs.replace(replica(1, (1, 40)), proved_end=96)
    others = replica(2, (1, 50), (2, 90)), replica(3, (1, 50))
    assert bounds(cut, *others) == (50, 90), "it may have lost records of epoch 1 alone"
    assert bounds(msgspec.structs.replace(cut, state_epoch=2), *others) == (90, 90)


def test_an_epoch_that_its_own_files_deny_limits_nothing() -> None:
    false = msgspec.structs.replace(replica(11, (1, 40), (7, 41)), denied=frozenset({40}))
    others = replica(1, (1, 96)), replica(2, (1, 96)), replica(3, (1, 96))
    assert bounds(false, *others) == (96, 96)
    assert bounds(msgspec.structs.replace(false, denied=frozenset()), *others) == (40, 96)
    assert bounds(false, replica(12, (1, 40), (7, 45)), *others) == (40, 96), "another log has that epoch, too"


def test_bounds_hold_by_each_set_that_may_be_in_force() -> None:
    replicas = replica(1, (1, 96)), replica(2, (1, 90)), replica(3, (1, 80))
    both = VotersInForce(keys=(key(1),), before=tuple(VOTERS), source="record")
    found = certain_bounds(replicas, both)
    assert (found.lower, found.upper) == (90, 96)


def test_an_election_alone_names_no_voters_that_set_an_upper_bound() -> None:
    replicas = replica(1, (1, 96)), replica(2, (1, 90)), replica(3, (1, 80))
    found = certain_bounds(replicas, VotersInForce(keys=tuple(VOTERS), source="election"))
    assert (found.lower, found.upper) == (90, None)


def test_a_tie_limits_what_a_majority_and_a_directory_prove() -> None:
    proven = ProvenCommit(end=93, because="a directory", disk="disk")
    replicas = msgspec.structs.replace(replica(1, (1, 96)), proven=proven), replica(2, (1, 90)), replica(3, (1, 80))
    in_force = VotersInForce(keys=tuple(VOTERS), source="record")
    assert certain_bounds(replicas, in_force).lower == 93
    assert certain_bounds(replicas, in_force, tie=85).lower == 85
    assert certain_bounds(replicas, in_force, tie=91).lower == 93
