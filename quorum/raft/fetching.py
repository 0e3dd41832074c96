"""Sending Fetch: to the leader, or, while an observer cannot find or reach it, to each other replica in turn.

Decides: when the next Fetch leaves and its destination. Must not know: the meaning of a response.

A Fetch states that the log up to its offset is durable, so it waits for a log write in progress. FetchSnapshot replaces
it while a snapshot is received. While a received chunk is stored or the snapshot is checked, an occasional Fetch shows
the leader that this replica still follows.
"""

from __future__ import annotations

from quorum.api.raft_messages import FetchRequest, FetchSnapshotRequest
from quorum.raft.core import QUICK_ATTEMPTS, Core
from quorum.raft.membership import destination_of
from quorum.raft.ready import Destination
from quorum.raft.states import FetchLoop, Follower, Receiving, Unattached


def fetch_loop_of(core: Core) -> FetchLoop | None:
    """Return the fetch loop of a follower or an unattached observer, or None in any other state."""
    state = core.state
    if type(state) is Follower:
        return state.fetch
    return state.fetch if type(state) is Unattached and not core.can_campaign else None


def maybe_send_fetch(core: Core) -> None:
    """Send the next Fetch if it is due, no other is in flight, and the log is durable to its end."""
    loop = fetch_loop_of(core)
    if loop is None or loop.correlation is not None or core.now_ms < loop.retry_at_ms or core.is_shutting_down:
        return
    log = core.log
    if not log.is_flushed:
        return
    destination = _next_destination(core, loop)
    if destination is None:
        loop.retry_at_ms = core.now_ms + core.config.fetch_timeout_ms
        return
    receiving = core.current_receiving
    request: FetchRequest | FetchSnapshotRequest
    if receiving is None or receiving.is_busy or destination.node_id != core.leader_id:
        request = _fetch_request(core)
    else:
        request = _fetch_snapshot_request(core, receiving)
    loop.correlation = core.outbox.send(destination, request, core.config.request_timeout_ms)


def _fetch_request(core: Core) -> FetchRequest:
    log = core.log
    end = log.end
    return FetchRequest(
        replica=core.me,
        current_leader_epoch=core.epoch,
        fetch_offset=end.offset,
        last_fetched_epoch=end.epoch,
        max_bytes=core.config.fetch_max_bytes,
        max_wait_ms=0 if core.suspicion.is_active else core.config.longest_wait_ms,
        high_watermark=log.high_watermark,
    )


def _fetch_snapshot_request(core: Core, receiving: Receiving) -> FetchSnapshotRequest:
    """Return a request for the bytes after the stored chunks."""
    return FetchSnapshotRequest(
        replica=core.me,
        current_leader_epoch=core.epoch,
        snapshot_id=receiving.snapshot_id,
        position=receiving.position,
        max_bytes=core.config.fetch_snapshot_max_bytes,
    )


def next_fetch_ms(core: Core, loop: FetchLoop) -> int | None:
    """Return when the next Fetch may leave (monotonic ms), or None while a Fetch or a log write is in progress."""
    return loop.retry_at_ms if loop.correlation is None and core.log.is_flushed else None


def retry_fetch(core: Core, loop: FetchLoop, wait_ms: int) -> None:
    """End the last Fetch; the next leaves in `wait_ms`."""
    loop.correlation = None
    loop.retry_at_ms = core.now_ms + wait_ms
    maybe_send_fetch(core)


def retry_failed_fetch(core: Core, loop: FetchLoop) -> None:
    """End a Fetch without result; the next waits a little, and after `QUICK_ATTEMPTS` failures ever longer."""
    config = core.config
    doublings = min(max(0, loop.failures - QUICK_ATTEMPTS), 16)
    loop.failures += 1
    longest = config.id_taken_backoff_max_ms if loop.is_id_taken else config.retry_backoff_max_ms
    longest = max(config.retry_backoff_ms, longest)
    retry_fetch(core, loop, min(config.retry_backoff_ms << doublings, longest))


def _next_destination(core: Core, loop: FetchLoop) -> Destination | None:
    state = core.state
    if type(state) is Follower and not state.is_leader_out_of_reach and core.leader_id is not None:
        return Destination(node_id=core.leader_id, endpoints=core.leader_endpoints)
    others = [destination_of(voter) for voter in core.members.peers if voter.endpoints]
    others += [server for server in core.bootstrap if server.endpoints != core.endpoints]
    if not others:
        return None
    loop.turn += 1
    return others[loop.turn % len(others)]
