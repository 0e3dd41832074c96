"""The table of legal transitions between epoch states, with the epoch rule and the reason of each.

A test compares `quorum/DESIGN.md` with this table. Must not know: the data or behaviour of a state.

Sources: KIP-595, KIP-996 and the list in Kafka 4.3's QuorumState.
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.offsets import Epoch


class Role(enum.StrEnum):
    """The six epoch states. Voter and observer are no states: the voter set decides that."""

    UNATTACHED = "unattached"
    PROSPECTIVE = "prospective"
    CANDIDATE = "candidate"
    FOLLOWER = "follower"
    LEADER = "leader"
    RESIGNED = "resigned"


class EpochRule(enum.StrEnum):
    """The change of the epoch in a transition."""

    SAME = "same"
    NEXT = "next"
    HIGHER = "higher"
    SAME_OR_HIGHER = "same or higher"

    def allows(self, before: Epoch, after: Epoch) -> bool:
        """Return True if this rule allows the change from `before` to `after`."""
        if self is EpochRule.SAME:
            return after == before
        if self is EpochRule.NEXT:
            return after == before + 1
        return after > before or (self is EpochRule.SAME_OR_HIGHER and after == before)


class Transition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row of the table. `observer`: True if a replica that is not a voter may make this transition, too."""

    source: Role
    target: Role
    epoch: EpochRule
    observer: bool
    why: str


def _row(source: Role, target: Role, epoch: EpochRule, why: str) -> Transition:
    # A leader that was removed from the voters may still leave its state, but may not campaign again.
    observer = target in (Role.UNATTACHED, Role.FOLLOWER) or source is Role.LEADER
    return Transition(source=source, target=target, epoch=epoch, observer=observer, why=why)


_R = Role
_E = EpochRule

TRANSITIONS: Final = (
    _row(
        _R.UNATTACHED,
        _R.UNATTACHED,
        _E.SAME_OR_HIGHER,
        "a higher epoch is heard of, or a vote is given",
    ),
    _row(_R.UNATTACHED, _R.PROSPECTIVE, _E.SAME, "the election timeout, or the start of a voter that knows no leader"),
    _row(_R.UNATTACHED, _R.FOLLOWER, _E.SAME_OR_HIGHER, "a leader is heard of"),
    _row(_R.UNATTACHED, _R.RESIGNED, _E.SAME, "the start of a voter that led this epoch when it stopped"),
    _row(
        _R.PROSPECTIVE, _R.UNATTACHED, _E.SAME_OR_HIGHER, "rejected with no leader known; a vote given; a higher epoch"
    ),
    _row(_R.PROSPECTIVE, _R.CANDIDATE, _E.NEXT, "a majority would vote for it"),
    _row(
        _R.PROSPECTIVE, _R.FOLLOWER, _E.SAME_OR_HIGHER, "rejected with a leader known; the leader shows; a new leader"
    ),
    _row(_R.CANDIDATE, _R.UNATTACHED, _E.HIGHER, "a higher epoch is heard of"),
    _row(_R.CANDIDATE, _R.PROSPECTIVE, _E.SAME, "the election is lost or timed out"),
    _row(_R.CANDIDATE, _R.FOLLOWER, _E.SAME_OR_HIGHER, "another has won"),
    _row(_R.CANDIDATE, _R.LEADER, _E.SAME, "a majority has voted for it, its own vote durable"),
    _row(
        _R.FOLLOWER,
        _R.UNATTACHED,
        _E.HIGHER,
        "a higher epoch is heard of",
    ),
    _row(_R.FOLLOWER, _R.PROSPECTIVE, _E.SAME, "the leader is silent for the fetch timeout, gone, or has resigned"),
    _row(
        _R.FOLLOWER,
        _R.FOLLOWER,
        _E.SAME_OR_HIGHER,
        "a new leader; more endpoints of the same leader",
    ),
    _row(_R.LEADER, _R.UNATTACHED, _E.HIGHER, "a higher epoch is heard of"),
    _row(_R.LEADER, _R.FOLLOWER, _E.HIGHER, "a new leader"),
    _row(_R.LEADER, _R.RESIGNED, _E.SAME, "clean stop, or no majority has fetched for 1.5 fetch timeouts"),
    _row(_R.RESIGNED, _R.UNATTACHED, _E.HIGHER, "a higher epoch is heard of, or the wait is over: then the next one"),
    _row(_R.RESIGNED, _R.FOLLOWER, _E.HIGHER, "a new leader"),
)

_BY_ROLES: Final = {(row.source, row.target): row for row in TRANSITIONS}


def check_transition(source: Role, before: Epoch, target: Role, after: Epoch, *, can_campaign: bool) -> None:
    """Raise InvariantViolation unless the table has a row for this transition."""
    row = _BY_ROLES.get((source, target))
    if row is None:
        raise InvariantViolation(f"{source} cannot become {target}")
    if not row.epoch.allows(before, after):
        raise InvariantViolation(f"{source} in epoch {before} cannot become {target} in epoch {after}: {row.epoch}")
    if not can_campaign and not row.observer:
        raise InvariantViolation(f"{source} cannot become {target}: this replica is not a voter")
