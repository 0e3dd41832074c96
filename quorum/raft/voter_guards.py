"""What a removal may ask its leader to look at first: that a majority is left, that the voter itself is gone.

Decides: who lives, by the Fetches of this very leader, at the moment at which it would append the change. So neither a
change that came between nor one under way can make a removal harmful that was harmless when it was planned. Must not
know: what else a removal needs (`voter_changes`).
"""

from __future__ import annotations

from metadata_log.ids import NodeId, ReplicaKey, id_text
from metadata_log.voters import majority_of
from quorum.errors import Error
from quorum.raft.core import Core
from quorum.raft.leading import check_quorum_timeout_ms
from quorum.raft.states import Leader
from quorum.raft.voter_answers import Verdict
from quorum.raft.voter_messages import RemoveRaftVoterRequest


def validate_guards(core: Core, leader: Leader, request: RemoveRaftVoterRequest) -> Verdict | None:
    """Why the removal is not to be made, as far as its asker wants that looked at."""
    refusal = _validate_silent(core, leader, request.voter) if request.only_if_silent else None
    if refusal is None and request.keeps_majority:
        refusal = _validate_majority(core, leader, request.voter.node_id)
    return refusal


def _validate_silent(core: Core, leader: Leader, key: ReplicaKey) -> Verdict | None:
    if _lives(core, leader, key.node_id):
        return Error.INVALID_REQUEST, (
            f"node {key.node_id} votes with directory {id_text(key.directory_id)}, which lives: two processes have "
            "that node.id. Stop the wrong one, or give it a node.id of its own. A directory whose process has stopped "
            f"is removed after {check_quorum_timeout_ms(core)} ms of silence"
        )
    return _not_known_yet(core, leader)


def _validate_majority(core: Core, leader: Leader, leaving: NodeId) -> Verdict | None:
    left = [node_id for node_id in core.members.latest.node_ids if node_id != leaving]
    live = [node_id for node_id in left if _lives(core, leader, node_id)]
    if len(live) >= majority_of(len(left)):
        return None
    return _not_known_yet(core, leader) or (
        Error.INVALID_REQUEST,
        f"of the {len(left)} voters left, {majority_of(len(left))} decide, and only {len(live)} "
        f"({', '.join(map(str, live)) or 'none'}) fetched within {check_quorum_timeout_ms(core)} ms: nothing could be "
        "committed any more",
    )


def _lives(core: Core, leader: Leader, node_id: NodeId) -> bool:
    since = core.now_ms - check_quorum_timeout_ms(core)
    return node_id == core.me.node_id or leader.voters[node_id].has_fetched_since(since)


def _not_known_yet(core: Core, leader: Leader) -> Verdict | None:
    """Whoever did not fetch may have had no time to find this leader."""
    if leader.began_at_ms <= core.now_ms - check_quorum_timeout_ms(core):
        return None
    return Error.REQUEST_TIMED_OUT, "this leader is too new to know who is gone: ask again"
