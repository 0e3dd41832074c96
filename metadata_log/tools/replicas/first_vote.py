"""A voter without a record: one that lost its log, or one that voted for the first leader and was killed right then.

Decides: which of them can have had no record at all. Must not know: files, and what follows.

A replica has the leader's id durable before it fetches from him: Kafka writes it as it begins to follow, we before the
first batch of his. Where its quorum-state has its vote for another and no leader, it acknowledged nothing of that
epoch; and before the first leader there was nothing to acknowledge. A disk that was wiped has no such vote: in that
epoch its leader asks for none any more.
"""

from __future__ import annotations

from collections.abc import Sequence

from metadata_log.directory.quorum_state import QuorumState
from metadata_log.tools.read.control_facts import Election


def has_only_voted(state: QuorumState | None, node_id: int | None) -> bool:
    """Whether it voted for another node in its epoch, and knows of no leader there."""
    if state is None or state.voted_key is None or state.leader_id >= 0:
        return False
    return state.voted_key.node_id != node_id


def is_first_vote(state: QuorumState | None, node_id: int | None, elections: Sequence[Election]) -> bool:
    """Whether that vote is for the leader with whom the best log begins, of which these are the elections in order."""
    if not elections or not has_only_voted(state, node_id) or state is None or state.voted_key is None:
        return False
    first = elections[0]
    return first.offset == 0 and (first.epoch, first.leader_id) == (state.leader_epoch, state.voted_key.node_id)
