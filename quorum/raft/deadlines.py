"""The next deadline of a replica.

Decides: which deadline of the present state comes first. Must not know: what follows from it.
"""

from __future__ import annotations

from quorum.raft.auto_join import ask_due_ms
from quorum.raft.core import Core
from quorum.raft.fetching import fetch_loop_of, next_fetch_ms
from quorum.raft.states import Candidate, Follower, Leader, Prospective, Resigned


def next_deadline_ms(core: Core) -> int | None:
    """Return the next deadline in monotonic ms, or None if nothing is due without another input."""
    if not core.is_started or core.is_shut:
        return None
    own = _of_the_state(core)
    transfer = core.transfer
    return (
        own if transfer is None else earliest(own, transfer.deadline_ms, transfer.closing_deadline_ms, transfer.due_ms)
    )


def _of_the_state(core: Core) -> int | None:
    state = core.state
    if isinstance(state, Leader):
        return earliest(
            state.check_quorum_deadline_ms,
            state.begin_deadline_ms,
            state.parked_deadline_ms,
            state.barrier.retry_at_ms,
            None if state.change is None else state.change.deadline_ms,
        )
    if isinstance(state, Follower):
        return earliest(state.fetch_deadline_ms, next_fetch_ms(core, state.fetch), ask_due_ms(core, state))
    if isinstance(state, Prospective):
        return earliest(state.election_deadline_ms, state.defer_until_ms)
    if isinstance(state, Candidate | Resigned):
        return earliest(state.election_deadline_ms, state.retry_at_ms)
    loop = fetch_loop_of(core)
    return state.election_deadline_ms if loop is None else next_fetch_ms(core, loop)


def earliest(*deadlines: int | None) -> int | None:
    """Return the earliest deadline, ignoring None, or None. A loop, as it runs several times an input."""
    first = None
    for deadline in deadlines:
        if deadline is not None and (first is None or deadline < first):
            first = deadline
    return first
