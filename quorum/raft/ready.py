"""The result of `RaftMachine.on_input`: writes and effects for the executor.

Decides: the order between writes and effects (DESIGN 1.5). Must not know: how they are carried out.

The executor's duty, in this order:

1. Take `writes` into its in-memory log and hand them to the disk, in order; never wait here.
2. Do `at_once`: these may leave before the writes are durable. `SendRecords` may read what was just written.
3. Keep each of `after` until its token has completed; then do it, before or after telling the core of the completion.
4. For each write, once durable, give the core its completion: `Flushed` for log writes, `Persisted` for the other.
   A failed write stops the node; it is never retried.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Endpoint, VoterSet
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchResponse, FetchSnapshotResponse, Request, Response


class QuorumStateData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A replica's epoch, leader and vote, durable in Kafka's `quorum-state` file (KIP-595).

    `was_removed`: a committed change removed this replica from the voters. Kafka has no such field; auto-join needs it.
    """

    leader_id: NodeId | None = None
    leader_epoch: Epoch = Epoch(0)
    voted: ReplicaKey | None = None
    was_removed: bool = False


class Destination(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The destination of a request. A negative `node_id` (-2, -3, ...) is a bootstrap server with an unknown id."""

    node_id: int
    endpoints: tuple[Endpoint, ...]


class AppendBatches(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Append `data`: whole batches from `base_offset`, the log's end, to `end_offset` (exclusive).

    `epoch` is that of the last batch. Completes with `Flushed(token, epoch, end_offset)`.
    """

    token: int
    base_offset: Offset
    end_offset: Offset
    epoch: Epoch
    data: bytes


class TruncateLog(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Remove everything at and after `end_offset`, a batch boundary; the last record left has `epoch`.

    Completes with `Flushed(token, epoch, end_offset)`.
    """

    token: int
    end_offset: Offset
    epoch: Epoch


class InstallSnapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Replace the whole log by the received and checked snapshot: the log is then empty and continues at its end.

    `end_offset` and `epoch` are the snapshot's. Completes with `Flushed(token, epoch, end_offset)`.
    """

    token: int
    end_offset: Offset
    epoch: Epoch

    @property
    def snapshot_id(self) -> OffsetAndEpoch:
        """The snapshot's id."""
        return OffsetAndEpoch(offset=self.end_offset, epoch=self.epoch)


class PersistQuorumState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Replace `quorum-state`. Completes with `Persisted(token)`."""

    token: int
    state: QuorumStateData


Write = AppendBatches | TruncateLog | InstallSnapshot | PersistQuorumState


class SendRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Send a request. One `ResponseReceived` or `RequestFailed` with this `correlation` follows within `timeout_ms`."""

    destination: Destination
    correlation: int
    request: Request
    timeout_ms: int


class SendResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Send the response to `request_id`."""

    request_id: int
    response: Response


class SendRecords(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Send the response to the Fetch `request_id`, with the log from `read_from` on as its `records`.

    `max_bytes` bounds the records, but one whole batch is always sent.
    """

    request_id: int
    response: FetchResponse
    read_from: Offset
    max_bytes: int


class SendSnapshotChunk(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Send the response to the FetchSnapshot `request_id`; its `data` are up to `max_bytes` of the file.

    They begin at the response's `position`. If the file was removed meanwhile, the error is SNAPSHOT_NOT_FOUND.
    """

    request_id: int
    response: FetchSnapshotResponse
    max_bytes: int


class StoreChunk(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Write a chunk of a snapshot that is being received. Position 0 begins a new file.

    Followed by `ChunkStored(serial)`; need not be durable.
    """

    serial: int
    snapshot_id: OffsetAndEpoch
    position: int
    data: bytes


class CheckSnapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Check a received snapshot of `size` bytes. Followed by `SnapshotChecked(serial)`."""

    serial: int
    snapshot_id: OffsetAndEpoch
    size: int


class SnapshotInstalled(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The log begins with the snapshot that was checked as `serial`: continue from its image."""

    serial: int
    snapshot_id: OffsetAndEpoch


class LeaderChanged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The leader that this replica knows, its endpoints or its epoch have changed."""

    leader_id: NodeId | None
    epoch: Epoch
    endpoints: tuple[Endpoint, ...] = ()


class BecameLeader(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This replica leads `epoch`, whose LeaderChange is at `epoch_start_offset`.

    It may act as the controller once the high watermark is past that offset.
    """

    epoch: Epoch
    epoch_start_offset: Offset


class LostLeadership(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This replica no longer leads `epoch`. Its uncommitted records may be committed later or truncated."""

    epoch: Epoch


class HighWatermarkAdvanced(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Everything before `offset` is committed."""

    offset: Offset


class LogTruncated(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The log now ends at `end_offset`: a reader of later, uncommitted records must discard them."""

    end_offset: Offset


class VotersChanged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The latest voter set in the log, committed or not."""

    voters: VoterSet


class ProposalRefused(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The `Propose` of this input was not appended: NOT_LEADER_OR_FOLLOWER or MESSAGE_TOO_LARGE."""

    error: Error
    proposed_epoch: Epoch


class ReadBarrierPassed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All reads up to `token` may be answered, from an image of the committed log up to `offset` or further."""

    token: int
    offset: Offset


class ReadBarrierRefused(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The `AskReadBarrier` of this input named an epoch that this replica does not lead."""

    token: int


class PeerRefused(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A peer's message is invalid, and was ignored or rejected. The node logs it."""

    node_id: int
    what: str
    request: str
    """The type of the request that the peer sent or responded to."""


class MajorityLost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """No majority of the `voters` (their number) responds, so no record can commit. Emitted once a loss.

    `missing` are the voters without a response.
    """

    missing: tuple[ReplicaKey, ...]
    voters: int


class MajorityFound(msgspec.Struct, frozen=True, gc=False):
    """A majority, or a leader with a majority, responds again. Emitted once after each `MajorityLost`."""


class ShutdownCompleted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The clean stop is complete: the process may exit."""


Effect = (
    SendRequest
    | SendResponse
    | SendRecords
    | SendSnapshotChunk
    | StoreChunk
    | CheckSnapshot
    | SnapshotInstalled
    | LeaderChanged
    | BecameLeader
    | LostLeadership
    | HighWatermarkAdvanced
    | LogTruncated
    | VotersChanged
    | ProposalRefused
    | ReadBarrierPassed
    | ReadBarrierRefused
    | PeerRefused
    | MajorityFound
    | MajorityLost
    | ShutdownCompleted
)


class Ready(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The writes and effects of one input. `after`: (token of a write of this or an earlier Ready, effect) pairs."""

    writes: tuple[Write, ...] = ()
    at_once: tuple[Effect, ...] = ()
    after: tuple[tuple[int, Effect], ...] = ()

    @property
    def appends(self) -> list[AppendBatches]:
        """The writes that append to the log."""
        return [write for write in self.writes if type(write) is AppendBatches]


NOTHING: Final = Ready()
