"""Transfer of leadership on request, without the loss of a record or of a request's outcome.

Decides: when the leader may end its epoch for a successor, and when it stops waiting. Must not know: how the successor
is elected (EndQuorumEpoch names it, `follower` does the rest).

Only a voter that fetches after the request can be the successor, so that the epoch does not end for a dead one. Parked
Fetches are answered at once, so that live voters fetch again. The leader waits until the successor is near the log's
end. Then it appends no record (`is_handing_over`), for an election timeout at most, until the whole log is committed
and durable at the successor. So every client's request has a known outcome, and the successor wins at once: no other
log is longer.
"""

from __future__ import annotations

from typing import Final

from metadata_log.ids import NodeId
from quorum.api.error_codes import Error
from quorum.api.transfer_messages import TransferLeadershipRequest, TransferLeadershipResponse
from quorum.draws import NO_DRAWS
from quorum.raft.core import Core
from quorum.raft.fetch_purgatory import answer_parked_voters
from quorum.raft.leader_discovery import known_leader
from quorum.raft.roles import transition_to_resigned
from quorum.raft.states import Leader, Progress, Transfer

NEAR_RECORDS: Final = 10_000
"""If the successor lacks at most so many records, appends stop. The largest batch of a controller has as many."""


def handle_transfer(core: Core, request_id: int, request: TransferLeadershipRequest) -> None:
    """Reject the request, or begin to wait for the successor."""
    state = core.state
    if type(state) is not Leader:
        _answer(core, request_id, Error.NOT_LEADER_OR_FOLLOWER, "it does not lead")
        return
    if request.to == core.me.node_id:
        _answer(core, request_id, Error.NONE)
        return
    error, why = _validate(core, state, request)
    if error is not Error.NONE:
        _answer(core, request_id, error, why)
        return
    core.transfer = Transfer(
        request_id=request_id,
        to=request.to,
        epoch=core.epoch,
        deadline_ms=core.now_ms + request.timeout_ms,
        heard=set(),
    )
    answer_parked_voters(core, state)


def _validate(core: Core, leader: Leader, request: TransferLeadershipRequest) -> tuple[Error, str | None]:
    if core.transfer is not None:
        return Error.INVALID_REQUEST, "leadership is being handed over already: wait for the outcome"
    if request.timeout_ms < 0:
        return Error.INVALID_REQUEST, f"the timeout is {request.timeout_ms} ms: it must not be negative"
    if not core.members.peers:
        return Error.INVALID_REQUEST, f"node {core.me.node_id} is the only voter: no other voter can take over"
    if request.to is None or request.to in leader.voters:
        return Error.NONE, None
    voters = ", ".join(str(node_id) for node_id in sorted(leader.voters))
    if any(key.node_id == request.to for key in leader.observers):
        return Error.VOTER_NOT_FOUND, f"node {request.to} is an observer: only voters can lead, which are {voters}"
    return Error.VOTER_NOT_FOUND, f"there is no voter {request.to}: the voters are {voters}"


def is_handing_over(core: Core) -> bool:
    """Return True if no record may be appended, because the successor is about to have the whole log."""
    transfer = core.transfer
    return transfer is not None and transfer.closing_deadline_ms is not None and type(core.state) is Leader


def after_input(core: Core, transfer: Transfer) -> None:
    """Advance or end a transfer after any input."""
    state = core.state
    if type(state) is Leader and core.epoch == transfer.epoch:
        _advance(core, state, transfer)
        return
    transfer.closing_deadline_ms = transfer.due_ms = None
    if core.leader_id is not None and core.epoch > transfer.epoch:
        _end(core, transfer, Error.NONE)
    elif transfer.deadline_ms <= core.now_ms:
        why = f"node {core.me.node_id} leads no more, but no new leader is known yet: see kraft quorum describe"
        _end(core, transfer, Error.REQUEST_TIMED_OUT, why)


def _advance(core: Core, leader: Leader, transfer: Transfer) -> None:
    best = _furthest(core, leader, transfer)
    transfer.due_ms = None
    if best is not None and _has_everything(core, best):
        if core.draws is NO_DRAWS:
            transfer.due_ms = core.now_ms
        else:
            transition_to_resigned(core, leader, to=best.key)
        return
    if transfer.closing_deadline_ms is None and best is not None and _lag(core, best) <= NEAR_RECORDS:
        transfer.closing_deadline_ms = core.now_ms + core.config.election_timeout_ms
    closing_ms = transfer.closing_deadline_ms
    if transfer.deadline_ms <= core.now_ms or (closing_ms is not None and closing_ms <= core.now_ms):
        _end(core, transfer, Error.REQUEST_TIMED_OUT, _why_not(core, best, transfer.to))


def _furthest(core: Core, leader: Leader, transfer: Transfer) -> Progress | None:
    """Return the eligible voter with the longest log, or None. It must have fetched since the request, and recently."""
    since = core.now_ms - core.config.fetch_timeout_ms
    meant = (
        progress
        for node_id, progress in leader.voters.items()
        if node_id in transfer.heard and transfer.to in (None, node_id)
    )
    alive = [progress for progress in meant if progress.has_fetched_since(since)]
    return max(alive, key=lambda progress: (progress.log_end_offset, -progress.key.node_id), default=None)


def _lag(core: Core, progress: Progress) -> int:
    return core.log.end_offset - progress.log_end_offset


def _has_everything(core: Core, progress: Progress) -> bool:
    return progress.log_end_offset == core.log.end_offset == core.log.high_watermark


def _why_not(core: Core, best: Progress | None, to: NodeId | None) -> str:
    still = f"node {core.me.node_id} still leads"
    if best is None:
        return f"{'no other voter has' if to is None else f'node {to} has not'} fetched lately: {still}"
    return f"node {best.key.node_id} lacks {_lag(core, best)} records and did not catch up in time: {still}"


def _end(core: Core, transfer: Transfer, error: Error, why: str | None = None) -> None:
    core.transfer = None
    _answer(core, transfer.request_id, error, why)


def _answer(core: Core, request_id: int, error: Error, why: str | None = None) -> None:
    leader_id, endpoints = known_leader(core)
    core.outbox.respond(
        request_id,
        TransferLeadershipResponse(
            error=error, why=why, leader_id=leader_id, leader_epoch=core.epoch, leader_endpoints=endpoints
        ),
    )


def on_transfer_dropped(core: Core, request_id: int) -> None:
    """Drop the transfer if its client no longer awaits the outcome."""
    if core.transfer is not None and core.transfer.request_id == request_id:
        core.transfer = None
