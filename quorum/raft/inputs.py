"""Everything that can happen to a replica: the inputs of `RaftMachine.on_input`.

Decides: what the core is told. Must not know: who tells it. Time and randomness are data: `Clock` comes with every
input, and an input that may arm a random timer carries `draw`, 64 random bits.
"""

from __future__ import annotations

import msgspec

from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import VoterSet
from quorum.api.raft_messages import Request, Response
from quorum.raft.config import Snapshot


class Clock(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`monotonic_ms` is for every deadline; `wall_ms` (since 1970) only for timestamps that are written or shown."""

    monotonic_ms: int
    wall_ms: int


class Start(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The first input, exactly once: storage is loaded, the network is there."""

    draw: int


class Elapsed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`next_deadline_ms` has come. Too early or without need is harmless."""

    draw: int


class RequestReceived(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A peer asks. `request_id` is the receiver's own, unique among the requests not yet answered.

    It is answered by exactly one `SendResponse` or `SendRecords`, unless `RequestDropped` comes first.
    """

    request_id: int
    request: Request
    draw: int


class RequestDropped(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Nobody waits for the answer to `request_id` any more: the peer's stream is gone, or it has sent another."""

    request_id: int


class ResponseReceived(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to our request `correlation`, from `destination_id` (the `Destination.node_id` of that request)."""

    destination_id: int
    correlation: int
    response: Response
    draw: int


class RequestFailed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Our request `correlation` got no answer.

    `disconnected`: the connection was refused or reset, so that the process at the other end is likely gone. False for
    a deadline or a cancelled call, which say nothing of the kind.
    """

    destination_id: int
    correlation: int
    disconnected: bool
    draw: int


class Propose(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Append `values` (encoded metadata records) as one data batch, if still the leader of `epoch`.

    Otherwise the answer is `ProposalRefused` and nothing is appended.
    """

    epoch: Epoch
    values: tuple[bytes, ...]


class AskReadBarrier(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Prove that this replica still leads `epoch`, for all reads that have come in by now.

    `token` rises from one to the next. `ReadBarrierPassed` with it, or a later one, is the proof; `ReadBarrierRefused`
    says that this replica does not lead that epoch. Neither comes any more after `LostLeadership`.
    """

    epoch: Epoch
    token: int


class Flushed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The log write `token` is durable: the log up to `end_offset`, whose last record has `epoch`, as the write said.

    Log writes complete in the order in which they were issued.
    """

    token: int
    epoch: Epoch
    end_offset: Offset


class ChunkStored(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The piece of the last `StoreChunk` of this `serial` is in its file."""

    serial: int


class SnapshotChecked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A `CheckSnapshot` is done. `fault` says what is wrong with the snapshot; None: it is whole and sound.

    `voters`: the set that it names, if it names one.
    """

    serial: int
    fault: str | None = None
    voters: VoterSet | None = None


class SnapshotTaken(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A snapshot of this replica's own image is durable. It ends at or below the high watermark, on a batch's bound."""

    snapshot: Snapshot


class LogTrimmed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The log now begins at `start`, the end of a durable snapshot; older ones are gone."""

    start: OffsetAndEpoch


class Persisted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The quorum-state write `token` is durable. They complete in the order in which they were issued."""

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
