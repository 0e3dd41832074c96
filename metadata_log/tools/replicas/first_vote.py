"""Distinguishes a voter that lost its log from one that was killed right after it voted for the first leader.

Decides: which voter without a record never had one. Must not know: files, and findings.

A follower writes the leader's id to `quorum-state` before it appends a batch of that leader: Kafka writes it as it
begins to follow; this implementation, before the first batch. If the file has a vote for another node and no leader,
the voter acknowledged nothing in that epoch. Before the first leader, there was nothing to acknowledge. A wiped disk
has no such vote: the leader of that epoch no longer asks for votes.
"""

from __future__ import annotations

from collections.abc import Sequence

from metadata_log.directory.quorum_state import QuorumState
from metadata_log.tools.read.control_facts import Election


def has_only_voted(state: QuorumState | None, node_id: int | None) -> bool:
    """Return True if it voted for another node in its epoch, and knows no leader of that epoch."""
    if state is None or state.voted_key is None or state.leader_id >= 0:
        return False
    return state.voted_key.node_id != node_id


def is_first_vote(state: QuorumState | None, node_id: int | None, elections: Sequence[Election]) -> bool:
    """Return True if that vote is for the leader with whom the most advanced log begins.

    Args:
        elections: those of that log, in order.
    """
    if not elections or not has_only_voted(state, node_id) or state is None or state.voted_key is None:
        return False
    first = elections[0]
    return first.offset == 0 and (first.epoch, first.leader_id) == (state.leader_epoch, state.voted_key.node_id)
