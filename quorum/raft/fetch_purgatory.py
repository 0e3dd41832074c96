"""The parked Fetches of a leader: which of them get new records at once, and which a little later.

Decides: a batch goes at once to the voters that are needed to commit it, and to the others soon after. This is
"thrifty" replication, as in Egalitarian Paxos, hedged by a short wait. The longest parked Fetch is first. So the voters
take turns, and each gets two batches in one message instead of two messages. Must not know: which positions are valid.

Commitment does not depend on this choice, only on the offsets that a majority fetches from.
"""

from __future__ import annotations

from typing import Final

from quorum.api.raft_messages import UNKNOWN_OFFSET, FetchRequest
from quorum.raft.core import Core
from quorum.raft.ready import SendRecords
from quorum.raft.states import Leader, ParkedFetch

NEAR_RECORDS: Final = 10_000
"""The most records in a batch of the controller. A replica that is further behind catches up, and never waits."""


def wanted_voters(core: Core) -> int:
    """Return how many other voters are needed to commit the leader's records."""
    return core.members.majority - core.members.is_voter


def must_wait(core: Core, leader: Leader, request: FetchRequest) -> bool:
    """Return True if a Fetch behind the log's end waits, because enough other voters have the newest batch."""
    if core.config.spare_fetch_wait_ms == 0 or not leader.has_committed:
        return False
    if core.log.end_offset - request.fetch_offset > NEAR_RECORDS:
        return False
    return len(leader.serving) >= wanted_voters(core) and request.replica.node_id not in leader.serving


def park(core: Core, leader: Leader, request_id: int, request: FetchRequest) -> None:
    """Park a Fetch for its own maximum wait, or shorter if records or a new high watermark are pending for it."""
    fetch = ParkedFetch(request=request, deadline_ms=core.now_ms + request.max_wait_ms)
    leader.parked[request_id] = fetch
    if request.fetch_offset < core.log.end_offset:
        fetch.hurry(core.now_ms + core.config.spare_fetch_wait_ms)
    elif UNKNOWN_OFFSET < request.high_watermark < leader.answer.high_watermark:
        fetch.hurry(core.now_ms + core.config.high_watermark_wait_ms)
    _wake_at(leader, fetch.deadline_ms)


def answer_appended(core: Core, leader: Leader) -> None:
    """Answer parked Fetches after an append: the needed voters now, all others within `spare_fetch_wait_ms`."""
    leader.serving.clear()
    if core.config.spare_fetch_wait_ms == 0 or not leader.has_committed:
        answer_parked(core, leader)
        return
    wanted = wanted_voters(core)
    parked, leader.parked = leader.parked, {}
    due_ms = core.now_ms + core.config.spare_fetch_wait_ms
    for request_id, fetch in parked.items():
        if len(leader.serving) < wanted and core.members.latest.is_voter(fetch.request.replica):
            answer_fetch(core, leader, request_id, fetch.request)
        else:
            leader.parked[request_id] = fetch
            fetch.hurry(due_ms)
    _rearm(leader)


def answer_parked(core: Core, leader: Leader) -> None:
    """Answer every parked Fetch with the records and high watermark that are new to it."""
    parked, leader.parked = leader.parked, {}
    leader.parked_deadline_ms = None
    for request_id, fetch in parked.items():
        answer_fetch(core, leader, request_id, fetch.request)


def answer_parked_voters(core: Core, leader: Leader) -> None:
    """Answer the parked Fetches of voters. Their next Fetch shows that they live."""
    for request_id, fetch in list(leader.parked.items()):
        if core.members.latest.is_voter(fetch.request.replica):
            del leader.parked[request_id]
            answer_fetch(core, leader, request_id, fetch.request)
    _rearm(leader)


def answer_fetch(core: Core, leader: Leader, request_id: int, request: FetchRequest) -> None:
    """Answer with the log from the Fetch's position, which the caller has validated."""
    if request.fetch_offset >= core.log.end_offset:
        core.outbox.respond(request_id, leader.answer)
        return
    if core.members.latest.is_voter(request.replica):
        leader.serving.add(request.replica.node_id)
    core.outbox.add(
        SendRecords(
            request_id=request_id,
            response=leader.answer,
            read_from=request.fetch_offset,
            max_bytes=request.max_bytes,
        )
    )


def announce_high_watermark(core: Core, leader: Leader) -> None:
    """Let parked Fetches wait for `high_watermark_wait_ms` at most; records that come meanwhile take it along."""
    if core.config.high_watermark_wait_ms == 0:
        answer_parked(core, leader)
        return
    due_ms = core.now_ms + core.config.high_watermark_wait_ms
    for fetch in leader.parked.values():
        fetch.hurry(due_ms)
    _wake_at(leader, due_ms)


def answer_overdue(core: Core, leader: Leader) -> None:
    """Answer the parked Fetches whose wait is over."""
    if leader.parked_deadline_ms is None or leader.parked_deadline_ms > core.now_ms:
        return
    overdue = [request_id for request_id, fetch in leader.parked.items() if fetch.deadline_ms <= core.now_ms]
    for request_id in overdue:
        answer_fetch(core, leader, request_id, leader.parked.pop(request_id).request)
    _rearm(leader)


def _wake_at(leader: Leader, due_ms: int) -> None:
    if leader.parked_deadline_ms is None or due_ms < leader.parked_deadline_ms:
        leader.parked_deadline_ms = due_ms


def _rearm(leader: Leader) -> None:
    leader.parked_deadline_ms = min((fetch.deadline_ms for fetch in leader.parked.values()), default=None)
