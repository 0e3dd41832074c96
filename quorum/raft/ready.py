"""What the core wants done: the answer of `RaftMachine.on_input`.

Decides: the order between what is written and what leaves (DESIGN 2 and 3). Must not know: how any of it is done.

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
    """What a replica must remember of its epoch across a crash: Kafka's `quorum-state` file (KIP-595).

    `was_removed`: its vote was once taken from it, by a committed change; ours alone, for auto-join.
    """

    leader_id: NodeId | None = None
    leader_epoch: Epoch = Epoch(0)
    voted: ReplicaKey | None = None
    was_removed: bool = False


class Destination(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a request goes. A negative `node_id` is a bootstrap server, whose real id is not known (-2, -3, ...)."""

    node_id: int
    endpoints: tuple[Endpoint, ...]


class AppendBatches(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Append `data`, whole batches that begin at `base_offset` = the log's end, and end (exclusive) at `end_offset`.

    `epoch` is that of the last batch. Completes with `Flushed(token, epoch, end_offset)`.
    """

    token: int
    base_offset: Offset
    end_offset: Offset
    epoch: Epoch
    data: bytes


class TruncateLog(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Remove everything at and after `end_offset`, a batch bound; the last record left has `epoch`.

    Completes with `Flushed(token, epoch, end_offset)`.
    """

    token: int
    end_offset: Offset
    epoch: Epoch


class InstallSnapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Put the received and checked snapshot in place of the whole log, which is empty then and goes on from its end.

    `end_offset` and `epoch` are the snapshot's. Completes with `Flushed(token, epoch, end_offset)`.
    """

    token: int
    end_offset: Offset
    epoch: Epoch

    @property
    def snapshot_id(self) -> OffsetAndEpoch:
        """Which one."""
        return OffsetAndEpoch(offset=self.end_offset, epoch=self.epoch)


class PersistQuorumState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Replace `quorum-state`. Completes with `Persisted(token)`."""

    token: int
    state: QuorumStateData


Write = AppendBatches | TruncateLog | InstallSnapshot | PersistQuorumState


class SendRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Ends in one `ResponseReceived` or `RequestFailed` with this `correlation`, at the latest after `timeout_ms`."""

    destination: Destination
    correlation: int
    request: Request
    timeout_ms: int


class SendResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Answers `request_id`."""

    request_id: int
    response: Response


class SendRecords(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Answers the Fetch `request_id` with `response` and, as its `records`, the log from `read_from` on.

    `max_bytes` bounds the records, but one whole batch is always sent.
    """

    request_id: int
    response: FetchResponse
    read_from: Offset
    max_bytes: int


class SendSnapshotChunk(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Answers the FetchSnapshot `request_id` with `response` and, as its `data`, up to `max_bytes` of the snapshot's
    file from its `position` on; with SNAPSHOT_NOT_FOUND where the file has gone meanwhile."""

    request_id: int
    response: FetchSnapshotResponse
    max_bytes: int


class StoreChunk(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Write a piece of a snapshot that is being received. At position 0 a file of that name is begun anew.

    Followed by `ChunkStored(serial)`; need not be durable.
    """

    serial: int
    snapshot_id: OffsetAndEpoch
    position: int
    data: bytes


class CheckSnapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Look at the whole of a received snapshot of `size` bytes. Followed by `SnapshotChecked(serial)`."""

    serial: int
    snapshot_id: OffsetAndEpoch
    size: int


class SnapshotInstalled(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The log begins with the snapshot that was checked as `serial`: go on from its image."""

    serial: int
    snapshot_id: OffsetAndEpoch


class LeaderChanged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The leader that this replica knows, or its epoch, is another now."""

    leader_id: NodeId | None
    epoch: Epoch
    endpoints: tuple[Endpoint, ...] = ()


class BecameLeader(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This replica leads `epoch`, whose LeaderChange stands at `epoch_start_offset`.

    It may act as the controller once the high watermark is past that offset.
    """

    epoch: Epoch
    epoch_start_offset: Offset


class LostLeadership(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This replica led `epoch` and no longer does. What it appended and did not see committed may or may not stay."""

    epoch: Epoch


class HighWatermarkAdvanced(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Everything before `offset` is committed."""

    offset: Offset


class LogTruncated(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The log now ends at `end_offset`: whoever read uncommitted records past it must forget them."""

    end_offset: Offset


class VotersChanged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The latest voter set in the log, committed or not."""

    voters: VoterSet


class ProposalRefused(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The `Propose` of this very input was not appended: NOT_LEADER_OR_FOLLOWER or MESSAGE_TOO_LARGE."""

    error: Error
    proposed_epoch: Epoch


class ReadBarrierPassed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All reads up to `token` may be answered, from an image of the committed log up to `offset` or further."""

    token: int
    offset: Offset


class ReadBarrierRefused(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The `AskReadBarrier` of this very input named an epoch that this replica does not lead."""

    token: int


class PeerRefused(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A peer's message makes no sense and was ignored or answered with an error; to be logged."""

    node_id: int
    what: str
    request: str
    """The kind of request that it sent or answered."""


class MajorityLost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Too few of so many `voters` answer for anything to be committed; `missing` do not. Told once a loss."""

    missing: tuple[ReplicaKey, ...]
    voters: int


class MajorityFound(msgspec.Struct, frozen=True, gc=False):
    """After a `MajorityLost`: a majority responds again, or a leader that has one. Once a loss."""


class ShutdownCompleted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The clean stop is done, the process may exit."""


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
    """See the module's docstring. `after`: the token of a write, of this Ready or an earlier one, and an effect."""

    writes: tuple[Write, ...] = ()
    at_once: tuple[Effect, ...] = ()
    after: tuple[tuple[int, Effect], ...] = ()

    @property
    def appends(self) -> list[AppendBatches]:
        """What of the writes grows the log."""
        return [write for write in self.writes if type(write) is AppendBatches]


NOTHING: Final = Ready()
