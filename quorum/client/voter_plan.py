"""The effect of a voter change on the majority, computed from the leader's view of every replica.

Decides: which voter counts as live, and whether a removal would leave no majority of live voters. This warns before
any request is sent; the leader checks again when it makes the change (`quorum.raft.voter_changes`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.ids import NodeId, ReplicaKey, id_text
from metadata_log.voters import majority_of
from quorum.client.quorum_status import QuorumStatus, ReplicaStatus

LIVE_MS: Final = 3_000
"""A voter is live if it fetched within this time before the leader's response.

The leader itself waits as long for a majority: 1.5 default fetch timeouts.
"""


class VoterPlan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The voters before and after a change, and the live ones among them. `problem`: the objection to the change."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    live_before: tuple[int, ...]
    live_after: tuple[int, ...]
    leader_id: int
    problem: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def majority_after(self) -> int:
        """The size of a majority after the change."""
        return majority_of(len(self.after))

    @property
    def tolerated(self) -> int:
        """How many of the live voters may be lost afterwards."""
        return len(self.live_after) - self.majority_after


def live_voters(status: QuorumStatus) -> tuple[int, ...]:
    """Return the leader, and the voters that fetched within `LIVE_MS`. All times are of the leader's clock."""
    now_ms = _leaders_clock_ms(status)
    return tuple(each.replica.node_id for each in status.voters if _is_live(each, status.leader_id, now_ms))


def _leaders_clock_ms(status: QuorumStatus) -> int:
    """Return the leader's time at its response, or, if it is no longer a voter, that of the newest Fetch."""
    if status.leader is not None:
        return status.leader.last_fetch_timestamp_ms
    return max((each.last_fetch_timestamp_ms for each in (*status.voters, *status.observers)), default=-1)


def _is_live(each: ReplicaStatus, leader_id: int, now_ms: int) -> bool:
    if each.replica.node_id == leader_id:
        return True
    return each.last_fetch_timestamp_ms >= 0 and now_ms - each.last_fetch_timestamp_ms <= LIVE_MS


def plan_removal(status: QuorumStatus, key: ReplicaKey) -> VoterPlan:
    """Return the effect of the removal of that voter."""
    before, live = tuple(each.replica.node_id for each in status.voters), live_voters(status)
    after = tuple(node_id for node_id in before if node_id != key.node_id)
    live_after = tuple(node_id for node_id in live if node_id != key.node_id)
    notes = []
    if key.node_id == status.leader_id:
        notes.append(f"controller {key.node_id} leads: once its removal is committed it resigns")
    elif key.node_id in live:
        notes.append(f"controller {key.node_id} is running: it goes on as an observer until it is stopped")
    majority = majority_of(len(after))
    problem = None
    if after and len(live_after) < majority:
        problem = (
            f"of the {len(after)} voters left, {majority} decide, and only {len(live_after)} "
            f"{'is' if len(live_after) == 1 else 'are'} live ({_named(live_after)}): nothing could be committed any "
            f"more. Start {_named(tuple(n for n in after if n not in live_after))} first, or remove that"
        )
    return VoterPlan(
        before=before,
        after=after,
        live_before=live,
        live_after=live_after,
        leader_id=status.leader_id,
        problem=problem,
        notes=tuple(notes),
    )


def plan_addition(status: QuorumStatus, key: ReplicaKey) -> VoterPlan:
    """Return the effect of the addition of that replica, which counts as live if it fetches.

    No voter may have its node id.
    """
    before, live = tuple(each.replica.node_id for each in status.voters), live_voters(status)
    after = (*before, int(key.node_id))
    observer = next((each for each in status.observers if each.replica == key), None)
    problem = None
    if observer is None or not _is_live(observer, status.leader_id, _leaders_clock_ms(status)):
        problem = (
            f"controller {key.node_id} with directory {id_text(key.directory_id)} does not fetch from the leader. Is "
            "it running, formatted with --no-initial-controllers and this cluster's id?"
        )
    notes = []
    if len(after) % 2 == 0:
        notes.append(f"{len(after)} voters tolerate no more losses than {len(after) - 1}: add another one")
    return VoterPlan(
        before=before,
        after=after,
        live_before=live,
        live_after=live if problem else (*live, int(key.node_id)),
        leader_id=status.leader_id,
        problem=problem,
        notes=tuple(notes),
    )


def _named(node_ids: tuple[int, ...]) -> str:
    return ", ".join(str(NodeId(node_id)) for node_id in node_ids) or "none"
