"""The inputs of `RaftMachine.on_input`: everything that can happen to a replica.

Time and randomness are data: `Clock` comes with every input, and an input that may arm a random timer has a `draw`, 64
random bits.
"""

from __future__ import annotations

import msgspec

from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import VoterSet
from quorum.api.raft_messages import Request, Response
from quorum.raft.config import Snapshot


class Clock(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The time of an input: `monotonic_ms` for deadlines, `wall_ms` (since 1970) for timestamps."""

    monotonic_ms: int
    wall_ms: int


class Start(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The first input, exactly once: storage is loaded, the network is ready."""

    draw: int


class Elapsed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`next_deadline_ms` has come. Too early or without need is harmless."""

    draw: int


class RequestReceived(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A peer's request. `request_id` is local and unique among open requests.

    Exactly one `SendResponse`, `SendRecords` or `SendSnapshotChunk` answers it, unless `RequestDropped` comes first.
    """

    request_id: int
    request: Request
    draw: int


class RequestDropped(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The peer no longer awaits the response to `request_id`: its stream is closed, or it has sent another request."""

    request_id: int


class ResponseReceived(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The response to this replica's request `correlation`, which went to `Destination.node_id` `destination_id`."""

    destination_id: int
    correlation: int
    response: Response
    draw: int


class RequestFailed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This replica's request `correlation` got no response.

    `disconnected`: the connection was refused or reset, so the process at the other end is probably gone. False after a
    deadline or a cancelled call, which do not show that.
    """

    destination_id: int
    correlation: int
    disconnected: bool
    draw: int


class Propose(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Append `values` (encoded metadata records) as one data batch, if still the leader of `epoch`.

    Otherwise `ProposalRefused` follows and nothing is appended.
    """

    epoch: Epoch
    values: tuple[bytes, ...]


class AskReadBarrier(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Prove that this replica still leads `epoch`, for all reads that have come in by now.

    `token` rises from input to input. `ReadBarrierPassed` with this or a later token is the proof; `ReadBarrierRefused`
    means that this replica does not lead the epoch. Neither comes after `LostLeadership`.
    """

    epoch: Epoch
    token: int


class Flushed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The log write `token` is durable. `end_offset` and `epoch` (of the last record) repeat the write's values.

    Log writes complete in the order in which they were issued.
    """

    token: int
    epoch: Epoch
    end_offset: Offset


class ChunkStored(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The chunk of the last `StoreChunk` with this `serial` is in its file."""

    serial: int


class SnapshotChecked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A `CheckSnapshot` is done. `fault`: why the snapshot is invalid, or None if it is whole and sound.

    `voters`: the voter set in it, or None.
    """

    serial: int
    fault: str | None = None
    voters: VoterSet | None = None


class SnapshotTaken(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A snapshot of this replica's image is durable. It ends at or below the high watermark, at a batch boundary."""

    snapshot: Snapshot


class LogTrimmed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The log now begins at `start`, the end of a durable snapshot; older ones are gone."""

    start: OffsetAndEpoch


class Persisted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The quorum-state write `token` is durable. Such writes complete in the order in which they were issued."""

    token: int


class Shutdown(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Stop cleanly: a leader resigns and informs the voters. `ShutdownCompleted` follows, at once or afterwards."""

    draw: int


Input = (
    Start
    | Elapsed
    | RequestReceived
    | RequestDropped
    | ResponseReceived
    | RequestFailed
    | Propose
    | AskReadBarrier
    | Flushed
    | Persisted
    | ChunkStored
    | SnapshotChecked
    | SnapshotTaken
    | LogTrimmed
    | Shutdown
)
