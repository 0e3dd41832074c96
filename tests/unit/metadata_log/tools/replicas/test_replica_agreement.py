"""The meaning of different batches at one offset of several replicas."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.tools.findings.advice import ASK, RESTORE
from metadata_log.tools.replicas.committed_bounds import CommittedBounds
from metadata_log.tools.replicas.divergence import Conflict, Held
from metadata_log.tools.replicas.judge import Judge, ReplicaView, leaders_of

OFFSET = 100
NOBODY = -1


def _replicas(*last_epochs: int, known_committed: tuple[int, ...] = ()) -> list[ReplicaView]:
    known = (*known_committed, *([0] * len(last_epochs)))
    return [
        ReplicaView(label=f"node {n}", node_id=n, is_voter=True, last_epoch=epoch, known_committed=known[n])
        for n, epoch in enumerate(last_epochs)
    ]


def _judged(replicas: list[ReplicaView], *sides: tuple[int, set[int]], lower: int = 0) -> list[tuple[str, str, int]]:
    """Kind, severity and replica of each finding at a conflict of (epoch, holders)."""
    judge = Judge(replicas, len(replicas), CommittedBounds(lower=lower, upper=None, because="so it is"))
    conflict = Conflict(
        offset=OFFSET,
        end=OFFSET + 1,
        count=1,
        sides=tuple(Held(epoch=epoch, holders=frozenset(holders)) for epoch, holders in sides),
        places={},
    )
    found = judge.on_conflict(conflict)
    return [(one.kind, one.severity.value, NOBODY if one.node_id is None else one.node_id) for one in found]


def test_other_bytes_of_one_epoch_are_the_minoritys_fault() -> None:
    assert _judged(_replicas(1, 1, 1), (1, {0}), (1, {1, 2})) == [("log_mismatch", "error", 0)]


def test_other_bytes_without_a_majority_accuse_nobody() -> None:
    assert _judged(_replicas(1, 1), (1, {0}), (1, {1})) == [("log_mismatch", "error", NOBODY)]


def test_a_lone_copy_against_one_that_others_contradict_elsewhere_empties_nothing() -> None:
    replicas = _replicas(1, 1, 1, 1)
    judge = Judge(replicas, len(replicas), CommittedBounds(lower=0, upper=None, because="so it is"))
    conflicts = [
        Conflict(
            offset=offset,
            end=offset + 1,
            count=1,
            sides=tuple(Held(epoch=1, holders=holders) for holders in (frozenset({0}), others)),
            places={},
        )
        for offset, others in ((OFFSET, frozenset({1})), (OFFSET + 1, frozenset({1, 2, 3})))
    ]
    judge.weigh(conflicts)

    lone, outvoted = (found for conflict in conflicts for found in judge.on_conflict(conflict))

    assert (lone.node_id, outvoted.node_id) == (0, 0)
    assert (lone.advice, outvoted.advice) == (str(ASK), str(RESTORE))


def test_a_deposed_leaders_tail_is_harmless() -> None:
    assert _judged(_replicas(1, 2, 2), (1, {0}), (2, {1, 2})) == [("uncommitted_tail", "note", 0)]


def test_a_majority_of_an_earlier_epoch_may_have_been_committed() -> None:
    """Raft's figure 8: the lone holder of the later epoch may win, and overwrite what a majority held."""
    assert _judged(_replicas(1, 1, 2), (1, {0, 1}), (2, {2})) == [("committed_prefix_differs", "warning", 2)]


def test_logs_that_part_and_join_again_are_damaged() -> None:
    assert _judged(_replicas(3, 3, 3), (1, {0}), (2, {1, 2})) == [("log_mismatch", "error", 0)]
    found = _judged(_replicas(3, 3), (1, {0}), (2, {1}))
    assert found == [("log_mismatch", "error", NOBODY)]


def test_what_a_checkpoint_covers_cannot_be_two() -> None:
    replicas = _replicas(2, 3, 3, known_committed=(OFFSET + 1, OFFSET + 1))
    assert _judged(replicas, (2, {0}), (3, {1, 2})) == [
        ("committed_prefix_differs", "error", 0),
        ("committed_prefix_differs", "error", 1),
        ("committed_prefix_differs", "error", 2),
    ]


def test_a_majority_that_was_set_back_has_no_stale_tail() -> None:
    """A restored quorum has written, and may have committed, other batches where one more replica knows a commit."""
    replicas = _replicas(8, 4, 4, 4, known_committed=(OFFSET + 1,))
    assert _judged(replicas, (8, {0}), (4, {1, 2, 3})) == [
        ("committed_prefix_differs", "error", 1),
        ("committed_prefix_differs", "error", 2),
        ("committed_prefix_differs", "error", 3),
    ]


def test_below_the_bound_the_majoritys_batch_was_committed() -> None:
    assert _judged(_replicas(5, 2, 2), (5, {0}), (2, {1, 2}), lower=OFFSET + 1) == [
        ("committed_prefix_differs", "error", 0)
    ]


def test_epochs_with_one_leader_are_not_listed() -> None:
    elections = {0: [(1, 3, 0), (2, 1, 50)], 1: [(1, 3, 0), (2, 2, 50)]}

    assert list(leaders_of(elections)) == [(2, {(1, 50): frozenset({0}), (2, 50): frozenset({1})})]


@pytest.mark.parametrize(
    ("denied", "accused"),
    [((), {0}), ((1, 2), {1, 2}), ((0, 1, 2), {None}), ((0,), {0})],
)
def test_of_one_batch_under_two_epochs_the_denied_one_is_wrong(
    denied: tuple[int, ...], accused: set[int | None]
) -> None:
    replicas = [
        msgspec.structs.replace(one, denied_epochs=frozenset({OFFSET} if number in denied else ()))
        for number, one in enumerate(_replicas(9, 9, 9))
    ]
    sides = tuple(
        Held(epoch=epoch, holders=frozenset(holders), checksum=7) for epoch, holders in ((8, {0}), (12, {1, 2}))
    )
    conflict = Conflict(offset=OFFSET, end=OFFSET + 1, count=1, sides=sides, places={})
    judge = Judge(replicas, 3, CommittedBounds(lower=OFFSET + 1, upper=None, because="so it is"))

    found = list(judge.on_conflict(conflict))

    assert {one.node_id for one in found if one.kind == "log_mismatch"} == accused
    assert len(found) == len(accused)
    assert all(("wipe neither" in one.advice) == (one.node_id is None) for one in found)
