"""The table of epoch states: which may follow which, in which epoch, and why.

Decides: what is a legal transition; `quorum/DESIGN.md` is drawn from here and a test compares. Must not know: what a
state holds or does.

Sources: KIP-595, KIP-996 and the list that Kafka 4.3 keeps; ours adds the rows whose reason says so.
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.offsets import Epoch


class Role(enum.StrEnum):
    """The six epoch states. Voter or observer is none of them: it is looked up in the voter set."""

    UNATTACHED = "unattached"
    PROSPECTIVE = "prospective"
    CANDIDATE = "candidate"
    FOLLOWER = "follower"
    LEADER = "leader"
    RESIGNED = "resigned"


class EpochRule(enum.StrEnum):
    """How the epoch moves."""

    SAME = "same"
    NEXT = "next"
    HIGHER = "higher"
    SAME_OR_HIGHER = "same or higher"

    def allows(self, before: Epoch, after: Epoch) -> bool:
        """Whether this rule lets the epoch go from `before` to `after`."""
        if self is EpochRule.SAME:
            return after == before
        if self is EpochRule.NEXT:
            return after == before + 1
        return after > before or (self is EpochRule.SAME_OR_HIGHER and after == before)


class Transition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row. `observer`: whether a replica that does not vote may take it too."""

    source: Role
    target: Role
    epoch: EpochRule
    observer: bool
    why: str


def _row(source: Role, target: Role, epoch: EpochRule, why: str) -> Transition:
    # A voter that finds itself no longer one, while it leads, may still leave; it may not stand again.
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
        _R.PROSPECTIVE, _R.UNATTACHED, _E.SAME_OR_HIGHER, "refused with no leader known; a vote given; a higher epoch"
    ),
    _row(_R.PROSPECTIVE, _R.CANDIDATE, _E.NEXT, "a majority would vote for it"),
    _row(_R.PROSPECTIVE, _R.FOLLOWER, _E.SAME_OR_HIGHER, "refused with a leader known; the leader shows; a new leader"),
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
        "a new leader; the same leader, told with more endpoints",
    ),
    _row(_R.LEADER, _R.UNATTACHED, _E.HIGHER, "a higher epoch is heard of"),
    _row(_R.LEADER, _R.FOLLOWER, _E.HIGHER, "a new leader"),
    _row(_R.LEADER, _R.RESIGNED, _E.SAME, "clean stop, or no majority has fetched for 1.5 fetch timeouts"),
    _row(_R.RESIGNED, _R.UNATTACHED, _E.HIGHER, "a higher epoch is heard of, or the wait is over: then the next one"),
    _row(_R.RESIGNED, _R.FOLLOWER, _E.HIGHER, "a new leader"),
)

_BY_ROLES: Final = {(row.source, row.target): row for row in TRANSITIONS}


def check_transition(source: Role, before: Epoch, target: Role, after: Epoch, *, can_campaign: bool) -> None:
    """Raises InvariantViolation unless the table holds a row for this move."""
    row = _BY_ROLES.get((source, target))
    if row is None:
        raise InvariantViolation(f"{source} cannot become {target}")
    if not row.epoch.allows(before, after):
        raise InvariantViolation(f"{source} in epoch {before} cannot become {target} in epoch {after}: {row.epoch}")
    if not can_campaign and not row.observer:
        raise InvariantViolation(f"{source} cannot become {target}: this replica is not a voter")
