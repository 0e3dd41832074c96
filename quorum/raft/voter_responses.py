"""Responses to requests that change the voters, and the end of the change in progress.

Decides: the error and message of a response. Must not know: when a change is allowed or complete.
"""

from __future__ import annotations

from metadata_log.offsets import Offset
from quorum.api.error_codes import Error
from quorum.api.leader_hint import NO_LEADER
from quorum.api.voter_messages import (
    NOTHING_APPENDED,
    AddRaftVoterResponse,
    RemoveRaftVoterResponse,
    UpdateRaftVoterResponse,
    UpgradeKRaftVersionResponse,
)
from quorum.raft.core import Core
from quorum.raft.states import Leader

Answer = (
    type[AddRaftVoterResponse]
    | type[RemoveRaftVoterResponse]
    | type[UpdateRaftVoterResponse]
    | type[UpgradeKRaftVersionResponse]
)

Verdict = tuple[Error, str]
"""The error and message of a rejected change."""

_MAY_STAND = "it is in the log, and not yet known to be committed: describe the quorum to see what became of it"


def answer(
    core: Core,
    request_id: int,
    kind: Answer,
    error: Error = Error.NONE,
    message: str | None = None,
    offset: Offset = NOTHING_APPENDED,
) -> None:
    """Send a response of type `kind` to `request_id`, with the known leader."""
    leader_id = core.leader_id
    core.outbox.respond(
        request_id,
        kind(
            error=error,
            error_message=message,
            leader_id=NO_LEADER if leader_id is None else leader_id,
            leader_epoch=core.epoch,
            leader_endpoints=() if leader_id is None else core.leader_endpoints,
            voters_offset=offset,
        ),
    )


def end_change(core: Core, leader: Leader, error: Error = Error.NONE, message: str | None = None) -> None:
    """End the change and send its response. An appended record stays in the log."""
    change, leader.change = leader.change, None
    if change is not None and change.request_id is not None:
        answer(core, change.request_id, change.answer, error, message, change.offset)


def expire_change(core: Core, leader: Leader) -> None:
    """End the change with REQUEST_TIMED_OUT if its deadline is past."""
    if leader.change is None or leader.change.deadline_ms > core.now_ms:
        return
    is_appended = leader.change.offset != NOTHING_APPENDED
    message = _MAY_STAND if is_appended else "the new voter did not report its ids in time: nothing was done"
    end_change(core, leader, Error.REQUEST_TIMED_OUT, message)


def abandon_change(core: Core, leader: Leader) -> None:
    """End the change because this replica no longer leads. An appended record may be committed or truncated."""
    if leader.change is None:
        return
    if leader.change.offset == NOTHING_APPENDED:
        end_change(core, leader, Error.NOT_LEADER_OR_FOLLOWER, "this replica is not the leader any more")
    else:
        end_change(core, leader, Error.REQUEST_TIMED_OUT, _MAY_STAND)


def drop_asker(leader: Leader, request_id: int) -> None:
    """Note that the client no longer awaits the response; the change continues."""
    if leader.change is not None and leader.change.request_id == request_id:
        leader.change.request_id = None
