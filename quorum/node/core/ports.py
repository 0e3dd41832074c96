"""The ports between the executor and the world, and what goes over them.

Decides: the shape of what the executor asks of disk, network, clock and chance, and of what it is told in return. Must
not know: asyncio, threads, gRPC, files. The asyncio driver and the simulator implement these ports over one executor.

Every call here is made from the one task that owns the executor, never blocks, and never calls back before it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from metadata_log.directory import CommittedState, QuorumState
from metadata_log.ids import TopicId
from metadata_log.image.image import NO_CHANGES
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.cold_read import ColdRead
from metadata_log.storage.write_ops import WriteOp
from metadata_log.voters import Endpoint, VoterSet
from quorum.api.calls import AnyCall, PeerCall, PeerRequest, PeerResponse, RegistrationAnswer
from quorum.api.controllers import RegisterController
from quorum.api.error_codes import Error
from quorum.node.core.checkpoint_jobs import (
    CheckpointJob,
    CheckpointJobDone,
    SnapshotDamaged,
    SnapshotGenerated,
    SnapshotLoaded,
)
from quorum.node.core.log_fence import Hold
from quorum.node.core.metadata_changes import MetadataChanged
from quorum.node.core.peer_failures import LeaderUnreached, PeerFailure, PeersReached, VotersUnreached
from quorum.raft.inputs import Clock
from quorum.raft.ready import Destination

if TYPE_CHECKING:
    from metadata_log.image import ImageChanges, MetadataImage


# --- between replicas


class OutgoingRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request to another replica, with what it must name it by.

    One answer or one failure with the same `correlation` is due within `timeout_ms`.
    """

    destination: Destination
    correlation: int
    cluster_id: str
    topic_id: TopicId
    request: PeerRequest
    timeout_ms: int


class ControllerCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request of this node to the active controller's door (RegisterController).

    One `on_controller_answer` with the same `correlation` is due within `timeout_ms`.
    """

    destination: Destination
    correlation: int
    request: RegisterController
    timeout_ms: int


class Network(Protocol):
    """The outgoing side. Nothing is queued beyond what is in flight: a second Fetch to a peer replaces the first."""

    def attach(self, replies: Replies) -> None:
        """Called once, before anything is sent: where answers and failures go."""

    def send(self, request: OutgoingRequest) -> None:
        """Send, or fail it through `Replies.on_peer_failure` in a later turn."""

    def send_to_controller(self, call: ControllerCall) -> None:
        """Send to a controller's door, or answer None through `Replies.on_controller_answer` in a later turn."""


class Replies(Protocol):
    """What a network calls when something comes back. The driver implements it."""

    def on_peer_response(self, destination_id: int, correlation: int, response: PeerResponse) -> None:
        """The answer to an `OutgoingRequest`; ids as `Destination.node_id` and `correlation` had them."""

    def on_peer_failure(self, destination_id: int, correlation: int, failure: PeerFailure) -> None:
        """No answer will come. `failure.disconnected` makes a leader suspect."""

    def on_controller_answer(self, correlation: int, answer: RegistrationAnswer | None) -> None:
        """The answer to a `ControllerCall`; None when there is none."""


class IncomingRequests(Protocol):
    """What the incoming sides call. The driver implements it."""

    def peer_request(self, call: PeerCall, respond: Callable[[PeerResponse], None]) -> int:
        """Hand in a peer's request; `respond` is called once at most, in a later turn. The id is for `peer_gone`."""

    def peer_gone(self, request_id: int) -> None:
        """The stream that the request came on is broken: what is parked for it is dropped, `respond` never called."""

    def client_request(self, call: AnyCall) -> None:
        """Hand in a client's request. `call.respond` is called exactly once, unless the node stops by a fault."""


# --- disk


class LogWrite(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Bytes to append or to cut, as the log staged them."""

    sequence: int
    op: WriteOp


class StateWrite(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The quorum-state file to replace durably."""

    sequence: int
    state: QuorumState


class CommittedWrite(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The committed-state file to replace durably. Nothing waits for it."""

    sequence: int
    state: CommittedState


DiskJob = LogWrite | StateWrite | CommittedWrite


class LogRead(msgspec.Struct, frozen=True, kw_only=True):
    """Whole batches to read from the files because memory no longer has them."""

    read_id: int
    plan: ColdRead


class Disk(Protocol):
    """Writes in order, reads and work on checkpoints beside them, these in order among themselves.

    Every `write` is followed by `DiskDone` when all of its jobs are durable, or by one `DiskFailed` and nothing more.
    """

    def write(self, jobs: Sequence[DiskJob]) -> None:
        """Take jobs, whose sequences rise by one; several calls may be made durable by one sync."""

    def read(self, read: LogRead) -> None:
        """Read; `ReadDone` follows, or `DiskFailed`."""

    def work(self, job: CheckpointJob) -> None:
        """Do it; `CheckpointJobDone` follows, or `DiskFailed`."""


# --- clock and chance


class TimeSource(Protocol):
    """The only clock."""

    def now(self) -> Clock:
        """Monotonic and wall milliseconds; neither goes back."""


class Entropy(Protocol):
    """The only source of randomness."""

    def draw(self) -> int:
        """64 random bits."""

    def new_id(self) -> bytes:
        """A random UUID that may become an id (`metadata_log.ids.as_random_uuids`, `is_assignable`)."""


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """All that an executor needs of the world."""

    disk: Disk
    network: Network
    clock: TimeSource
    entropy: Entropy


# --- events: what an executor is told


class PeerRequested(msgspec.Struct, frozen=True, kw_only=True):
    """A peer asks."""

    request_id: int
    call: PeerCall
    respond: Callable[[PeerResponse], None]


class PeerGone(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The peer that asked can no longer be answered."""

    request_id: int


class PeerAnswered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A peer answered."""

    destination_id: int
    correlation: int
    response: PeerResponse


class PeerFailed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A peer will not answer."""

    destination_id: int
    correlation: int
    failure: PeerFailure


class ControllerAnswered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The active controller's door answered, or (None) will not."""

    correlation: int
    answer: RegistrationAnswer | None


class DiskDone(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Every job up to and with `sequence` is durable."""

    sequence: int


class DiskFailed(msgspec.Struct, frozen=True, kw_only=True):
    """A write, a sync or a read failed: the node must stop; but not for a read of bytes that were cut off meanwhile."""

    error: Exception
    read_id: int | None = None
    """Of the read that failed; None for a write or a sync."""


class ReadDone(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A cold read's batches."""

    read_id: int
    data: bytes


class StopAsked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Stop in good order: hand over first (EndQuorumEpoch)."""


Event = (
    PeerRequested
    | PeerGone
    | PeerAnswered
    | PeerFailed
    | ControllerAnswered
    | DiskDone
    | DiskFailed
    | ReadDone
    | CheckpointJobDone
    | StopAsked
    | AnyCall
)


# --- what an executor tells to whoever watches it (logging, metrics, an agent)


class RoleChanged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The epoch, the role or the known leader is another one now."""

    role: str
    epoch: Epoch
    leader_id: int | None
    leader_endpoints: tuple[Endpoint, ...]
    log_end_offset: Offset
    high_watermark: Offset | None
    cause: str
    """The input that did it, by its type's name."""


class ImagePublished(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The committed image moved. Told once for each move, in order; several batches may be in one.

    `changes` says of each batch what may differ, oldest first: look it up in both images.
    """

    before: MetadataImage
    after: MetadataImage
    changes: tuple[ImageChanges, ...]
    is_from_snapshot: bool = False
    """A received snapshot took the log's place. No record was replayed for what `after` lacks."""

    @property
    def changes_metadata(self) -> bool:
        """Return False if NoOps and control records alone moved the image: only its end is another."""
        return any(each != NO_CHANGES for each in self.changes)


class ControllerActivated(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This node is the active controller of `epoch`."""

    epoch: Epoch


class ControllerDeactivated(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This node is it no more; `unknown_outcomes` clients were told that theirs is not known."""

    epoch: Epoch
    unknown_outcomes: int


class VotersKnown(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The latest voter set in the log is another one, committed or not."""

    voters: VoterSet
    offset: Offset
    """Of the record that carried it; -1 where none did."""
    kraft_version: int


class RequestRejected(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request was refused, of a peer or of a broker that registers (by us), or of ours (by a peer).

    `passes`: it mends itself in the ordinary course.
    """

    request: str
    error: Error
    why: str
    by_us: bool
    peer: str
    passes: bool = False


class HoldChanged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This replica holds, for this reason; None: it follows its leader again."""

    hold: Hold | None
    directory: str
    """Of its metadata log."""
    peer: str
    """Whose answer it was."""


NodeEvent = (
    HoldChanged
    | LeaderUnreached
    | MetadataChanged
    | RoleChanged
    | ImagePublished
    | ControllerActivated
    | ControllerDeactivated
    | VotersKnown
    | RequestRejected
    | PeersReached
    | VotersUnreached
    | SnapshotDamaged
    | SnapshotGenerated
    | SnapshotLoaded
)


class Watcher(Protocol):
    """Is told what happens, from within the turn: it must be quick, and must not call the executor."""

    def on_event(self, event: NodeEvent) -> None:
        """One event, in the order in which they happen."""
