"""Reports that no majority of the voters responds, and which voters are missing.

Decides: when that counts as a loss. A leader reports it when it resigns for that reason. A prospective or candidate
reports it after as long a time without a majority, so that an ordinary election is no loss. Each loss is reported once.
Must not know: the reaction to it.
"""

from __future__ import annotations

from quorum.raft.core import Core
from quorum.raft.ready import MajorityLost
from quorum.raft.replication import check_quorum_timeout_ms
from quorum.raft.states import Candidate, Leader, Prospective


def note_round(core: Core, state: Prospective | Candidate) -> None:
    """Start, end or report a loss when a round of votes ends without a winner, by the number of responses."""
    suspicion, tally = core.suspicion, state.tally
    answered = tally.voters & {*tally.granted, *tally.rejected, core.me.node_id}
    if len(answered) >= tally.majority:
        core.forget_loss()
    elif suspicion.majority_lost_since_ms is None:
        suspicion.majority_lost_since_ms = core.now_ms
    elif suspicion.majority_lost_since_ms <= core.now_ms - check_quorum_timeout_ms(core):
        _tell(core, tally.voters - answered)


def note_unheard(core: Core, leader: Leader) -> None:
    """Report a loss when a leader has received no Fetches of a majority within its check-quorum timeout."""
    _tell(core, frozenset(leader.voters) - leader.heard - {core.me.node_id})


def _tell(core: Core, missing: frozenset[int]) -> None:
    if not core.suspicion.is_majority_loss_reported:
        core.suspicion.is_majority_loss_reported = True
        voters = tuple(voter.key for voter in core.members.latest if voter.key.node_id in missing)
        core.outbox.add(MajorityLost(missing=voters, voters=len(core.members.latest)))
