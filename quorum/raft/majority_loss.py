"""When a voter tells that no majority of the voters is there, and who is missing.

Decides: what counts as such a loss, and that it is told once: by a leader that gives up its epoch for it, and by
whoever asks for votes when for as long no round was answered by a majority, so that no ordinary election tells of one.
Must not know: what is done about it.
"""

from __future__ import annotations

from quorum.raft.core import Core
from quorum.raft.ready import MajorityLost
from quorum.raft.replication import check_quorum_timeout_ms
from quorum.raft.states import Candidate, Leader, Prospective


def note_round(core: Core, state: Prospective | Candidate) -> None:
    """A round of votes ends without a winner: was it answered by a majority?"""
    suspicion, tally = core.suspicion, state.tally
    answered = tally.voters & {*tally.granted, *tally.rejected, core.me.node_id}
    if len(answered) >= tally.majority:
        core.forget_loss()
    elif suspicion.majority_lost_since_ms is None:
        suspicion.majority_lost_since_ms = core.now_ms
    elif suspicion.majority_lost_since_ms <= core.now_ms - check_quorum_timeout_ms(core):
        _tell(core, tally.voters - answered)


def note_unheard(core: Core, leader: Leader) -> None:
    """A leader has heard of no majority for as long as it leads without one."""
    _tell(core, frozenset(leader.voters) - leader.heard - {core.me.node_id})


def _tell(core: Core, missing: frozenset[int]) -> None:
    if not core.suspicion.is_majority_loss_reported:
        core.suspicion.is_majority_loss_reported = True
        voters = tuple(voter.key for voter in core.members.latest if voter.key.node_id in missing)
        core.outbox.add(MajorityLost(missing=voters, voters=len(core.members.latest)))
