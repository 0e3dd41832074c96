"""The ports between the executor and the world, and the messages over them.

Decides: the form of the executor's requests to disk, network, clock and randomness, and of the events in return. Must
not know: asyncio, threads, gRPC, files. The asyncio driver and the simulator implement these ports for the same
executor. Every call here is made from the one task that owns the executor, never blocks, and never calls back before it
returns.
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
    """A request to another replica, with the ids that it carries.

    One response or failure with the same `correlation` is due within `timeout_ms`.
    """

    destination: Destination
    correlation: int
    cluster_id: str
    topic_id: TopicId
    request: PeerRequest
    timeout_ms: int


class ControllerCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request of this node to the active controller (RegisterController).

    One `on_controller_answer` with the same `correlation` is due within `timeout_ms`.
    """

    destination: Destination
    correlation: int
    request: RegisterController
    timeout_ms: int


class Network(Protocol):
    """The outgoing side. Nothing is queued beyond what is in flight: a second Fetch to a peer replaces the first."""

    def attach(self, replies: Replies) -> None:
        """Set the receiver of responses and failures; called once, before anything is sent."""

    def send(self, request: OutgoingRequest) -> None:
        """Send, or fail it through `Replies.on_peer_failure` in a later turn."""

    def send_to_controller(self, call: ControllerCall) -> None:
        """Send to a controller's listener, or answer None through `Replies.on_controller_answer` in a later turn."""


class Replies(Protocol):
    """The callbacks of a network. The driver implements them."""

    def on_peer_response(self, destination_id: int, correlation: int, response: PeerResponse) -> None:
        """The response to an `OutgoingRequest`, with its `Destination.node_id` and `correlation`."""

    def on_peer_failure(self, destination_id: int, correlation: int, failure: PeerFailure) -> None:
        """No response follows. `failure.disconnected` makes a follower suspect its leader."""

    def on_controller_answer(self, correlation: int, answer: RegistrationAnswer | None) -> None:
        """The answer to a `ControllerCall`, or None if it failed."""


class IncomingRequests(Protocol):
    """The callbacks of listeners. The driver implements them."""

    def peer_request(self, call: PeerCall, respond: Callable[[PeerResponse], None]) -> int:
        """Accept a peer's request. `respond` is called at most once, in a later turn. The returned id is for
        `peer_gone`."""

    def peer_gone(self, request_id: int) -> None:
        """Drop a parked request whose stream is broken; `respond` is not called."""

    def client_request(self, call: AnyCall) -> None:
        """Accept a client's request. `call.respond` is called exactly once, unless the node stops by a fault."""


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
    """The committed-state file to replace durably. No effect waits for it."""

    sequence: int
    state: CommittedState


DiskJob = LogWrite | StateWrite | CommittedWrite


class LogRead(msgspec.Struct, frozen=True, kw_only=True):
    """Whole batches to read from the files, because memory no longer has them."""

    read_id: int
    plan: ColdRead


class Disk(Protocol):
    """Ordered writes; reads and checkpoint jobs run beside them, the latter in order among themselves.

    After each `write` comes `DiskDone` when all of its jobs are durable, or one `DiskFailed` and nothing more.
    """

    def write(self, jobs: Sequence[DiskJob]) -> None:
        """Write jobs with consecutive sequence numbers; one sync may make several calls durable."""

    def read(self, read: LogRead) -> None:
        """Read; `ReadDone` follows, or `DiskFailed`."""

    def work(self, job: CheckpointJob) -> None:
        """Do the job; `CheckpointJobDone` follows, or `DiskFailed`."""


# --- clock and randomness


class TimeSource(Protocol):
    """The only clock."""

    def now(self) -> Clock:
        """Return monotonic and wall milliseconds; neither goes back."""


class Entropy(Protocol):
    """The only source of randomness."""

    def draw(self) -> int:
        """Return 64 random bits."""

    def new_id(self) -> bytes:
        """Return a random UUID that may become an id (`metadata_log.ids.as_random_uuids`, `is_assignable`)."""


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """All ports of an executor."""

    disk: Disk
    network: Network
    clock: TimeSource
    entropy: Entropy


# --- events to an executor


class PeerRequested(msgspec.Struct, frozen=True, kw_only=True):
    """A peer sent a request."""

    request_id: int
    call: PeerCall
    respond: Callable[[PeerResponse], None]


class PeerGone(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The peer that sent a request is gone."""

    request_id: int


class PeerAnswered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A peer responded."""

    destination_id: int
    correlation: int
    response: PeerResponse


class PeerFailed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request to a peer failed."""

    destination_id: int
    correlation: int
    failure: PeerFailure


class ControllerAnswered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The active controller answered, or (None) did not."""

    correlation: int
    answer: RegistrationAnswer | None


class DiskDone(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Every job up to and including `sequence` is durable."""

    sequence: int


class DiskFailed(msgspec.Struct, frozen=True, kw_only=True):
    """A write, a sync or a read failed, so the node must stop. The exception is a read of bytes that were cut off
    meanwhile."""

    error: Exception
    read_id: int | None = None
    """The id of the failed read; None for a write or a sync."""


class ReadDone(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The batches of a cold read."""

    read_id: int
    data: bytes


class StopAsked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Stop cleanly: transfer leadership first (EndQuorumEpoch)."""


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


# --- events of an executor to its watcher (logging, metrics, an agent)


class RoleChanged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The epoch, the role or the known leader has changed."""

    role: str
    epoch: Epoch
    leader_id: int | None
    leader_endpoints: tuple[Endpoint, ...]
    log_end_offset: Offset
    high_watermark: Offset | None
    cause: str
    """The type's name of the input that caused it."""


class ImagePublished(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The committed image moved. Reported once for each move, in order; one move may span several batches.

    `changes` has for each batch the ids that may differ, oldest first: look them up in both images.
    """

    before: MetadataImage
    after: MetadataImage
    changes: tuple[ImageChanges, ...]
    is_from_snapshot: bool = False
    """True if a received snapshot replaced the log. Then no record was replayed for objects that `after` lacks."""

    @property
    def changes_metadata(self) -> bool:
        """False if only NoOps and control records moved the image: then only its end differs."""
        return any(each != NO_CHANGES for each in self.changes)


class ControllerActivated(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This node is the active controller of `epoch`."""

    epoch: Epoch


class ControllerDeactivated(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This node is no longer the active controller. `unknown_outcomes` clients got an unknown outcome."""

    epoch: Epoch
    unknown_outcomes: int


class VotersKnown(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The latest voter set in the log has changed, committed or not."""

    voters: VoterSet
    offset: Offset
    """The offset of its record; -1 if no record carried it."""
    kraft_version: int


class RequestRejected(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A refused request: of a peer or a registering broker (`by_us`), or of this node (by a peer).

    `passes`: True if it resolves itself in the ordinary course.
    """

    request: str
    error: Error
    why: str
    by_us: bool
    peer: str
    passes: bool = False


class HoldChanged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This replica holds for this reason, or (None) follows its leader again."""

    hold: Hold | None
    directory: str
    """The directory of its metadata log."""
    peer: str
    """The peer whose response it was."""


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
    """Receives events within a turn: it must be quick, and must not call the executor."""

    def on_event(self, event: NodeEvent) -> None:
        """Take one event; events come in the order in which they happen."""
