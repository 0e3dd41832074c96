"""Votes that elected a leader, against the quorum-state of the voter that gave them.

Decides: whose vote a LeaderChange counts, and when the voter's file should know of it. Must not know: which
LeaderChanges are believed, and what follows.

A LeaderChange names only node ids. A voter may have been removed and added again with a new disk in that epoch. The new
disk does not know the old one's vote (KIP-853).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from metadata_log.directory import QuorumState
from metadata_log.ids import ReplicaKey
from metadata_log.tools.findings.facts import ForgottenVote
from metadata_log.tools.read.control_facts import Election, Voting
from metadata_log.tools.replicas.voters_in_force import is_voter

_KEEPS_VOTES: Final = 22
"""4.0-IV0: every release that supports this level keeps the vote in `quorum-state` beside the leader's id."""


class HeldElection(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A LeaderChange in one replica's log, with that replica's name and the voter sets that it has."""

    on: str
    voter_sets: tuple[Voting, ...]
    election: Election


def forgotten_vote(
    key: ReplicaKey, state: QuorumState, level: int | None, held: Sequence[HeldElection]
) -> ForgottenVote | None:
    """Return the vote of this directory that elected a leader, if its quorum-state does not know it.

    A leader's own file never has its vote. Before 4.0, a follower drops the vote once it knows the leader; KIP-996
    keeps it.

    `level`: metadata.version. `held`: the LeaderChanges of the epoch of `state`.
    """
    if state.voted_key is not None or level is None or level < _KEEPS_VOTES:
        return None
    if len({one.election.leader_id for one in held}) > 1:
        return None  # one of these logs is wrong, which is another finding
    for one in held:
        election = one.election
        if state.data_version == 0 and not _is_with_directories(key, one.voter_sets, election):
            continue
        is_own = election.leader_id == key.node_id or election.is_repairs
        if not is_own and was_granted(key, one.voter_sets, election):
            return ForgottenVote(
                node_id=key.node_id, epoch=election.epoch, elected=election.leader_id, offset=election.offset, on=one.on
            )
    return None


def was_granted(key: ReplicaKey, voter_sets: Sequence[Voting], election: Election) -> bool:
    """Return True if the leader had the vote of this very directory, by the voter sets of a log that has both."""
    if key.node_id not in election.granting:
        return False
    ordered = sorted(voter_sets, key=lambda voting: voting.offset)
    before = [voting for voting in ordered if voting.offset < election.offset]
    if before:
        return all(is_voter(key, [voter]) for voter in before[-1].voters if voter.node_id == key.node_id)
    return not ordered or is_voter(key, ordered[0].voters)


def _is_with_directories(key: ReplicaKey, voter_sets: Sequence[Voting], election: Election) -> bool:
    """Return True if it is a voter, and voters had directory ids at that election.

    Its `quorum-state` is then of version 1 from that vote on (KIP-853), so one of version 0 has lost it.
    """
    if not any(voter.node_id == key.node_id for voting in voter_sets for voter in voting.voters):
        return False
    return any(voting.offset <= election.offset for voting in voter_sets)
