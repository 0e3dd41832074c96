"""What a replica starts as, from what it finds on its disk.

Decides: the first transition. Must not know: how storage is loaded.
"""

from __future__ import annotations

from metadata_log.errors import InvariantViolation
from quorum.raft.core import Core
from quorum.raft.fetching import maybe_send_fetch
from quorum.raft.roles import become_follower, become_prospective, enter_resigned


def start(core: Core) -> None:
    """A voter that knows no leader asks for pre-votes at once (DESIGN 5); one that led resigns from its old epoch."""
    if core.is_started:
        raise InvariantViolation("a second Start")
    core.is_started = True
    leader_id = core.standing.leader_id
    may_stand = core.may_stand
    if core.members.is_only_voter:
        become_prospective(core)
    elif leader_id == core.me.node_id and may_stand:
        enter_resigned(core, (), core.election_backoff_ms())
    elif leader_id is not None and leader_id != core.me.node_id and core.members.endpoints_of(leader_id):
        become_follower(core, core.epoch, leader_id, core.members.endpoints_of(leader_id))
    elif may_stand:
        become_prospective(core)
    else:
        maybe_send_fetch(core)
