"""Snapshots in Raft (KIP-630): both sides of FetchSnapshot, own snapshots, trimming the log, installing a snapshot.

Decides: which snapshot is fetched, from which leader and position, and when it replaces the log. Must not know: files,
the content of a snapshot, or when this replica takes one.

A snapshot is fetched from one leader in one epoch: files of two replicas with the same end may differ in their bytes.
The log changes only after the whole received snapshot was checked.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.offsets import OffsetAndEpoch
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchSnapshotRequest, FetchSnapshotResponse
from quorum.raft.config import Snapshot
from quorum.raft.core import MAX_EPOCH, Core
from quorum.raft.fetching import fetch_loop_of, maybe_send_fetch, retry_failed_fetch, retry_fetch
from quorum.raft.inputs import ChunkStored, LogTrimmed, SnapshotChecked, SnapshotTaken
from quorum.raft.leader_discovery import EpochUpdate, known_leader, match_response
from quorum.raft.leader_fetch import note_heard, redirect_to_snapshot
from quorum.raft.ready import (
    CheckSnapshot,
    HighWatermarkAdvanced,
    SendSnapshotChunk,
    SnapshotInstalled,
    StoreChunk,
    VotersChanged,
)
from quorum.raft.states import Follower, Leader, Receiving

LARGEST_SNAPSHOT_BYTES: Final = (1 << 31) - 1
"""Kafka's positions in a snapshot have 32 bits."""


# --- the leader's side


def handle_fetch_snapshot(core: Core, request_id: int, request: FetchSnapshotRequest) -> None:
    """Respond with a chunk of a snapshot of this leader, or with an error."""
    state = core.state
    error = _validate(core, request)
    if error is not Error.NONE or type(state) is not Leader:
        _refuse(core, request_id, error if error is not Error.NONE else Error.NOT_LEADER_OR_FOLLOWER)
        return
    snapshot = core.log.snapshot_of(request.snapshot_id)
    if snapshot is None or snapshot.id.offset == 0:
        # The first leader writes the records of the formatted checkpoint into its log: no replica needs to install it.
        _refuse(core, request_id, Error.SNAPSHOT_NOT_FOUND)
        return
    if not 0 <= request.position < snapshot.size:
        _refuse(core, request_id, Error.POSITION_OUT_OF_RANGE)
        return
    note_heard(core, state, request.replica)
    leader_id, endpoints = known_leader(core)
    answer = FetchSnapshotResponse(
        leader_id=leader_id,
        leader_epoch=core.epoch,
        leader_endpoints=endpoints,
        snapshot_id=snapshot.id,
        size=snapshot.size,
        position=request.position,
    )
    core.outbox.add(SendSnapshotChunk(request_id=request_id, response=answer, max_bytes=request.max_bytes))


def _validate(core: Core, request: FetchSnapshotRequest) -> Error:
    epoch = request.current_leader_epoch
    if request.max_bytes < 1 or not 0 <= epoch <= MAX_EPOCH or request.replica.node_id == core.me.node_id:
        return Error.INVALID_REQUEST
    if epoch < core.epoch:
        return Error.FENCED_LEADER_EPOCH
    return Error.UNKNOWN_LEADER_EPOCH if epoch > core.epoch else Error.NONE


def _refuse(core: Core, request_id: int, error: Error) -> None:
    leader_id, endpoints = known_leader(core)
    core.outbox.respond(
        request_id,
        FetchSnapshotResponse(error=error, leader_id=leader_id, leader_epoch=core.epoch, leader_endpoints=endpoints),
    )


# --- the follower's side


def note_snapshot(core: Core, snapshot_id: OffsetAndEpoch) -> bool:
    """Begin to receive the snapshot that the leader names; return False if its response is invalid."""
    # The checkpoint of a formatted directory ends at 0: no log lacks it.
    if snapshot_id.offset <= 0 or not 0 <= snapshot_id.epoch <= core.epoch or not core.log.lacks(snapshot_id):
        core.refuse(core.leader_id or 0, f"it names snapshot {snapshot_id} to a log that ends at {core.log.end}")
        return False
    if snapshot_id.offset < core.log.high_watermark:
        what = f"it names snapshot {snapshot_id}, before the committed {core.log.high_watermark}"
        core.refuse(core.leader_id or 0, what)
        return False
    if core.current_receiving is None:
        core.last_serial += 1
        core.receiving = Receiving(serial=core.last_serial, snapshot_id=snapshot_id, leader_epoch=core.epoch)
    return True


def on_fetch_snapshot_response(core: Core, node_id: int, correlation: int, response: FetchSnapshotResponse) -> None:
    """Store a chunk, or give up the snapshot and continue with a Fetch."""
    found = match_response(core, node_id, correlation, response)
    if found is None:
        return
    loop, news = found
    state, receiving = core.state, core.current_receiving
    if news is EpochUpdate.STALE or type(state) is not Follower or node_id != core.leader_id or receiving is None:
        retry_failed_fetch(core, loop)
        return
    fault = _fault_of(receiving, response)
    if fault is not None:
        core.receiving = None
        core.refuse(node_id, f"its answer to FetchSnapshot {receiving.snapshot_id}: {fault}")
        retry_failed_fetch(core, loop)
        return
    state.note_served(core.now_ms + core.config.fetch_timeout_ms)
    core.trust_leader()
    receiving.size, receiving.stored_next = response.size, response.position + len(response.data)
    receiving.is_busy = True
    core.outbox.add(
        StoreChunk(
            serial=receiving.serial,
            snapshot_id=receiving.snapshot_id,
            position=response.position,
            data=response.data,
        )
    )
    retry_fetch(core, loop, core.config.fetch_max_wait_ms)


def _fault_of(receiving: Receiving, response: FetchSnapshotResponse) -> str | None:
    """Return why the response is not the requested chunk, or None. After a fault the whole snapshot starts over."""
    if response.error is not Error.NONE:
        return response.error.name
    if response.snapshot_id != receiving.snapshot_id:
        return f"it is of snapshot {response.snapshot_id}"
    if response.position != receiving.position:
        return f"it begins at {response.position}, not at {receiving.position}"
    if receiving.size not in (None, response.size) or not 0 < response.size <= LARGEST_SNAPSHOT_BYTES:
        return f"the snapshot has {response.size} bytes, it had {receiving.size}"
    if not response.data or response.position + len(response.data) > response.size:
        return f"{len(response.data)} bytes at {response.position} of {response.size}"
    return None


def on_chunk_stored(core: Core, stored: ChunkStored) -> None:
    """Request the next chunk after one is stored, or have the complete snapshot checked."""
    receiving = core.current_receiving
    if receiving is None or receiving.serial != stored.serial or receiving.size is None:
        return
    receiving.position = receiving.stored_next
    if receiving.position == receiving.size:
        core.outbox.add(CheckSnapshot(serial=receiving.serial, snapshot_id=receiving.snapshot_id, size=receiving.size))
        return
    receiving.is_busy = False
    loop = fetch_loop_of(core)
    if loop is not None and loop.correlation is None:
        retry_fetch(core, loop, 0)


def on_snapshot_checked(core: Core, checked: SnapshotChecked) -> None:
    """Install a received snapshot that passed its check, or discard it."""
    receiving = core.current_receiving
    if receiving is None or receiving.serial != checked.serial or receiving.size is None:
        return
    core.receiving = None
    if checked.fault is not None:
        core.refuse(core.leader_id or 0, f"its snapshot {receiving.snapshot_id} is not sound: {checked.fault}")
        loop = fetch_loop_of(core)
        if loop is not None and loop.correlation is None:
            retry_fetch(core, loop, core.config.retry_backoff_max_ms)
    elif type(core.state) is Follower and core.log.is_flushed and core.log.lacks(receiving.snapshot_id):
        _install(core, Snapshot(id=receiving.snapshot_id, size=receiving.size), checked)


def _install(core: Core, snapshot: Snapshot, checked: SnapshotChecked) -> None:
    """Replace the log by a snapshot. Its state is committed, so it may be read before it is durable."""
    log, members = core.log, core.members
    is_news = snapshot.id.offset > log.high_watermark
    voters_changed = members.begin_with(members.history.begin_at(snapshot.id.offset, checked.voters), log.proven_offset)
    core.remember_removal()
    token = core.outbox.install(snapshot.id)
    log.install(token, snapshot)
    core.outbox.add(SnapshotInstalled(serial=checked.serial, snapshot_id=snapshot.id))
    if is_news:
        core.outbox.add(HighWatermarkAdvanced(offset=log.high_watermark))
    if voters_changed:
        core.outbox.add(VotersChanged(voters=members.latest))
    loop = fetch_loop_of(core)
    if loop is not None and loop.correlation is None:
        loop.retry_at_ms = core.now_ms
        maybe_send_fetch(core)


# --- our own


def on_snapshot_taken(core: Core, taken: SnapshotTaken) -> None:
    """Note a durable snapshot of this replica: the log before its end may be trimmed, and followers may fetch it."""
    core.log.take_snapshot(taken.snapshot)


def on_log_trimmed(core: Core, trimmed: LogTrimmed) -> None:
    """Note that the log now begins at the end of a snapshot, and redirect parked Fetches before it."""
    core.log.trim(trimmed.start)
    core.members.begin_with(core.members.history.trim_to(trimmed.start.offset), core.log.proven_offset)
    if type(core.state) is Leader:
        core.state.answer = msgspec.structs.replace(core.state.answer, log_start_offset=core.log.start_offset)
        redirect_to_snapshot(core, core.state)
