"""The executor: feeds the Raft core, carries out its effects, and advances the committed image. Sans-I/O.

Decides: the order of one turn. Must not know: asyncio, threads, its own clock or randomness, gRPC, files. The
asyncio driver and the simulator both call `turn(events)` for events, or when `next_deadline_ms` has come.

In a turn, peers' requests, responses and the disk come first, then timers. A slice of replay follows, unless the leader
waits for this disk or for the Fetch that its sync released. Then the application (a controller's) gets all clients'
requests of the turn. At the end everything that was staged goes to the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from metadata_log.errors import InvariantViolation, MetadataLogError
from metadata_log.image import MetadataImage
from metadata_log.image.replayer import Replayer
from metadata_log.offsets import Epoch, Offset
from quorum.api.calls import AnyCall, ClientAnswer, ClientCall, Rejection
from quorum.api.error_codes import Error
from quorum.node.core.application import Application
from quorum.node.core.changes import Changes
from quorum.node.core.checkpoint_jobs import CheckpointJobDone
from quorum.node.core.effects import Effects
from quorum.node.core.executor_config import ExecutorConfig
from quorum.node.core.fence import Fence
from quorum.node.core.opened import OpenedReplica
from quorum.node.core.peers import Peers, name_of
from quorum.node.core.ports import (
    ControllerAnswered,
    DiskDone,
    DiskFailed,
    Event,
    ImagePublished,
    NodeEvent,
    PeerAnswered,
    PeerFailed,
    PeerGone,
    PeerRequested,
    Ports,
    ReadDone,
    RequestRejected,
    RoleChanged,
    StopAsked,
    VotersKnown,
    Watcher,
)
from quorum.node.core.published import Published
from quorum.node.core.snapshots import Snapshots
from quorum.node.core.topic_id_fencing import TopicIdFence
from quorum.raft.deadlines import earliest
from quorum.raft.dispatch import may_append
from quorum.raft.inputs import AskReadBarrier, Elapsed, Input, Propose, Shutdown, Start
from quorum.raft.machine import RaftMachine
from quorum.raft.ready import (
    NOTHING,
    AppendBatches,
    BecameLeader,
    CheckSnapshot,
    Effect,
    HighWatermarkAdvanced,
    LogTruncated,
    LostLeadership,
    PeerRefused,
    ReadBarrierPassed,
    ReadBarrierRefused,
    Ready,
    SendSnapshotChunk,
    ShutdownCompleted,
    SnapshotInstalled,
    StoreChunk,
    VotersChanged,
)

__all__ = ["Application", "Executor", "ExecutorConfig"]


class Executor:
    """One replica. All calls are made from one task; `machine`, `image` and the rest may be read between turns."""

    effects_type: ClassVar[type[Effects]] = Effects
    topic_id_fence_type: ClassVar[type[TopicIdFence]] = TopicIdFence
    """Replaceable: a test plants a wrong order, or another release's rules."""

    def __init__(
        self,
        opened: OpenedReplica,
        config: ExecutorConfig,
        ports: Ports,
        watcher: Watcher,
        application: Callable[[Executor], Application] | None = None,
    ) -> None:
        self.replica = opened.replica
        self.log = opened.log
        self.ports = ports
        self.machine = RaftMachine(
            opened.replica,
            config.raft,
            opened.storage,
            endpoints=config.endpoints,
            bootstrap=config.bootstrap,
            can_vote=config.can_vote,
            auto_join=config.auto_join,
        )
        self.topic_id_fence = self.topic_id_fence_type(config.cluster_id, opened.committed)
        self.clock = ports.clock.now()
        self.is_shut = False
        self.failure: Exception | None = None
        self.epoch_start_offset: Offset | None = None
        """While leader: the offset of the LeaderChange of its epoch."""
        self._watcher = watcher
        self._effects = self.effects_type(opened.log, ports, self.topic_id_fence, self._on_effect)
        self.fence = Fence(self, opened, self._effects, keeps=config.keeps_committed)
        self.changes = Changes(self.tell)
        self.peers = Peers(self, self._effects, self._feed)
        self._published = Published(opened.replayer, self._read_for_replay, self._on_published)
        self.snapshots = Snapshots(self, opened, config.snapshots, self._effects, self._feed, self._published.reset)
        self._state: tuple[Epoch, str, int | None] = (Epoch(-1), "", None)
        self._is_started = False
        self._has_synced = False
        self._calls: list[AnyCall] = []
        self._on_event = self._event_handlers()
        self._on_raft_effect = self._effect_handlers()
        self.application = application(self) if application else None

    def _event_handlers(self) -> dict[type[Event], Callable[[Any], None]]:
        return {
            PeerRequested: self.peers.on_requested,
            PeerGone: self.peers.on_gone,
            PeerAnswered: self.peers.on_answered,
            PeerFailed: self.peers.on_failed,
            ControllerAnswered: self._on_controller_answered,
            DiskDone: self._on_disk_done,
            DiskFailed: self._on_disk_failed,
            ReadDone: self._on_read_done,
            CheckpointJobDone: self.snapshots.on_done,
            StopAsked: self._on_stop_asked,
            ClientCall: self._calls.append,
        }

    def _effect_handlers(self) -> dict[type[Effect], Callable[[Any], None]]:
        return {
            HighWatermarkAdvanced: self._on_high_watermark,
            BecameLeader: self._on_became_leader,
            LostLeadership: self._on_lost_leadership,
            LogTruncated: self._on_log_truncated,
            VotersChanged: self._on_voters_changed,
            PeerRefused: self._on_peer_refused,
            **self.peers.effect_handlers(),
            ReadBarrierPassed: self._on_read_barrier,
            ReadBarrierRefused: self._on_read_barrier_refused,
            SendSnapshotChunk: self.snapshots.on_send_piece,
            StoreChunk: self.snapshots.on_store,
            CheckSnapshot: self.snapshots.on_check,
            SnapshotInstalled: self.snapshots.on_installed,
            ShutdownCompleted: self._on_shut,
        }

    # --- views

    @property
    def image(self) -> MetadataImage:
        """The published image: committed, outside a transaction."""
        return self._published.replayer.image

    @property
    def replayer(self) -> Replayer:
        """The replayer at the end of the replayed committed records."""
        return self._published.replayer

    @property
    def high_watermark(self) -> Offset:
        """The highest that this process has seen, or that an agent's earlier run had stored."""
        return self._published.high_watermark

    @property
    def is_caught_up(self) -> bool:
        """True if the image has all records that are known to be committed."""
        return self._published.end_offset >= self._published.high_watermark

    @property
    def active_epoch(self) -> Epoch | None:
        """The epoch in which this node is the active controller, or None."""
        return None if self.application is None else self.application.active_epoch

    @property
    def waiting_answers(self) -> int:
        """The number of clients whose responses wait."""
        return 0 if self.application is None else self.application.waiting

    def leader_hint(self, error: Error = Error.NONE, message: str | None = None) -> Rejection:
        """Return an answer without a response: the end of this image, and the leader."""
        machine, end = self.machine, self.image.offset_and_epoch
        return ClientAnswer(
            error=error,
            message=message,
            image_offset=end.offset,
            image_epoch=end.epoch,
            leader_id=-1 if machine.leader_id is None else machine.leader_id,
            leader_epoch=machine.epoch,
            leader_endpoints=machine.leader_endpoints,
        )

    def next_deadline_ms(self) -> int | None:
        """Return when a turn is due without an event; monotonic ms, in the past if work is left now."""
        must_hurry = self._effects.is_writing
        if self._published.is_due(must_hurry=must_hurry):
            return self.clock.monotonic_ms
        application = self.application.next_deadline_ms() if self.application else None
        snapshots = self.snapshots.next_deadline_ms(must_hurry=must_hurry)
        return earliest(self.machine.next_deadline_ms(), application, snapshots, self.fence.next_deadline_ms())

    # --- a turn

    def start(self) -> None:
        """Take the first turn, once the network is attached."""
        if self._is_started:
            raise InvariantViolation("started twice")
        self._is_started = True
        self.clock = self.ports.clock.now()
        self._use_quorum_state_version()
        self.topic_id_fence.on_committed(self.image)
        self._published.advance(self.machine.high_watermark)
        self._feed(Start(draw=self.ports.entropy.draw()))
        self._finish()

    def turn(self, events: Iterable[Event]) -> None:
        """Take one turn. After an error, every further turn raises the same error.

        Raises:
            StorageFailedError: the disk failed; nothing more was sent, and this node must stop.
            MetadataLogError, ReplayError: the log holds records that this software cannot read or replay.
            InvariantViolation: a bug of this software.
        """
        if self.failure is not None:
            raise self.failure
        self.clock = self.ports.clock.now()
        try:
            for event in events:
                self._on_event[type(event)](event)
            self._finish()
        except (MetadataLogError, InvariantViolation, OSError) as failure:
            self.failure = failure
            raise

    def _finish(self) -> None:
        due = self.machine.next_deadline_ms()
        if due is not None and due <= self.clock.monotonic_ms:
            self._feed(Elapsed(draw=self.ports.entropy.draw()))
        # Replay and snapshots yield to a write that is under way, or whose waiting Fetches come now.
        must_hurry = self._effects.is_writing or self._has_synced
        if self._published.is_due(must_hurry=must_hurry):
            self._published.step()
        self.snapshots.step(must_hurry=must_hurry)
        self.fence.step(self.snapshots.newest)
        self._has_synced = False
        calls = self._calls[:]
        self._calls.clear()
        if self.application is not None:
            self.application.on_turn(calls)
        else:
            for call in calls:
                call.respond(self.leader_hint(Error.NOT_CONTROLLER, "this node is no controller"))
        self._effects.flush()

    def propose(self, epoch: Epoch, values: tuple[bytes, ...]) -> AppendBatches | None:
        """For the application: append one batch as leader of `epoch`; return None if the core refuses."""
        ready = self._feed(Propose(epoch=epoch, values=values))
        return next(iter(ready.appends), None)

    def remember(self, replayer: Replayer) -> None:
        """For the application: keep the image after the appended batch, to publish it once the batch commits."""
        self._published.remember(replayer)
        self.topic_id_fence.on_appended(replayer.image)

    def ask_read_barrier(self, token: int) -> None:
        """For the application: start a read barrier; `on_read_barrier` gets the result."""
        self._feed(AskReadBarrier(epoch=self.machine.epoch, token=token))

    def _feed(self, received: Input) -> Ready:
        machine = self.machine
        beside = self.application if may_append(received) else None
        # Staged records already have offsets at the log's end; a control batch must come after them.
        if beside is not None:
            beside.before_voter_change()
        ready = machine.on_input(received, self.clock)
        if ready is not NOTHING:
            self._effects.apply(ready)
            if beside is not None and ready.appends:
                beside.on_voter_change(ready.appends[0].data)
        state = (machine.epoch, machine.role, machine.leader_id)
        if state != self._state:
            self._on_role(state, type(received).__name__)
        return ready

    # --- events

    def _on_controller_answered(self, event: ControllerAnswered) -> None:
        if self.application is not None:
            self.application.on_controller_answer(event)

    def _on_disk_done(self, event: DiskDone) -> None:
        self._has_synced = True
        for completion in self._effects.on_durable(event.sequence):
            self._feed(completion)

    def _on_disk_failed(self, event: DiskFailed) -> None:
        if event.read_id is None or not self._effects.on_read_failed(event.read_id):
            raise event.error

    def _on_read_done(self, event: ReadDone) -> None:
        self._effects.on_read(event.read_id, event.data)

    def _on_stop_asked(self, event: StopAsked) -> None:
        self._feed(Shutdown(draw=self.ports.entropy.draw()))

    # --- effects that are not sent anywhere

    def _on_effect(self, effect: Effect) -> None:
        handle = self._on_raft_effect.get(type(effect))
        if handle is not None:
            handle(effect)

    def _on_high_watermark(self, effect: HighWatermarkAdvanced) -> None:
        self._published.advance(effect.offset)
        self.changes.on_committed(effect.offset)

    def _on_became_leader(self, effect: BecameLeader) -> None:
        self.epoch_start_offset = effect.epoch_start_offset

    def _on_lost_leadership(self, effect: LostLeadership) -> None:
        self.epoch_start_offset = None
        self._published.forget()
        self.topic_id_fence.on_lost_leadership()
        if self.application is not None:
            self.application.on_lost_leadership()
        self.changes.on_lost_leadership()

    def _on_log_truncated(self, effect: LogTruncated) -> None:
        if effect.end_offset < self._published.end_offset:
            raise InvariantViolation(
                f"the log is to be cut to {effect.end_offset}, but up to {self._published.end_offset} it is committed"
            )
        self.fence.on_truncated(effect.end_offset)
        self._published.forget()

    def _on_voters_changed(self, effect: VotersChanged) -> None:
        self._use_quorum_state_version()
        offset, version = self.machine.voters_offset, self.machine.kraft_version
        self.tell(VotersKnown(voters=effect.voters, offset=offset, kraft_version=version))

    def _on_peer_refused(self, effect: PeerRefused) -> None:
        request, peer = effect.request, name_of(effect.node_id)
        self.tell(RequestRejected(request=request, error=Error.INVALID_REQUEST, why=effect.what, by_us=True, peer=peer))

    def _on_read_barrier(self, effect: ReadBarrierPassed) -> None:
        if self.application is not None:
            self.application.on_read_barrier(effect.token, effect.offset)

    def _on_read_barrier_refused(self, effect: ReadBarrierRefused) -> None:
        if self.application is not None:
            self.application.on_read_barrier_refused()

    def _on_shut(self, effect: ShutdownCompleted) -> None:
        self.is_shut = True

    def _use_quorum_state_version(self) -> None:
        self._effects.use_quorum_state_version(self.machine.kraft_version, self.machine.voters.node_ids)

    def _on_published(self, event: ImagePublished) -> None:
        self.topic_id_fence.on_committed(event.after)
        self.fence.on_published(event.after, self.snapshots.on_published(event.after))
        self.tell(event)
        if self.application is not None:
            self.application.on_published()

    def _read_for_replay(self, offset: Offset, max_bytes: int) -> bytes | None:
        return self._effects.read(offset, max_bytes, lambda data: self._published.on_read(data or b""))

    def _on_role(self, state: tuple[Epoch, str, int | None], cause: str) -> None:
        if state[0] != self._state[0]:
            self.topic_id_fence.on_epoch()
        self._state = state
        machine = self.machine
        self.tell(
            RoleChanged(
                role=machine.role,
                epoch=machine.epoch,
                leader_id=machine.leader_id,
                leader_endpoints=machine.leader_endpoints,
                log_end_offset=machine.log_end_offset,
                high_watermark=self.high_watermark,
                cause=cause,
            )
        )

    def tell(self, event: NodeEvent) -> None:
        """Report an event to the watcher."""
        self._watcher.on_event(event)
