"""An executor under asyncio: one task owns it, and all other code queues events for it (DESIGN 3).

Decides: when a turn is taken, and how many events may be queued. Messages of `after_turn` leave before the disk gets
the turn's writes. Must not know: the meaning of the events.

A turn takes all events since the last one, so that under load requests share batches and syncs without a timer. The
disk has two threads. The network calls `Replies` and listeners call `Doors`, all in the loop's thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.image import MetadataImage
from metadata_log.offsets import Offset
from quorum.api.calls import NO_OFFSET, AnyCall, ClientAnswer, ClientCall, PeerCall, PeerResponse, RegistrationAnswer
from quorum.api.error_codes import Error
from quorum.api.quorum_description import QuorumDescription
from quorum.api.request import Request, Response
from quorum.node.core.application import Application
from quorum.node.core.executor import Executor, ExecutorConfig
from quorum.node.core.log_fence import Hold
from quorum.node.core.opened import OpenedReplica
from quorum.node.core.peer_failures import PeerFailure
from quorum.node.core.ports import (
    ControllerAnswered,
    Event,
    Network,
    PeerAnswered,
    PeerFailed,
    PeerGone,
    PeerRequested,
    Ports,
    StopAsked,
    Watcher,
)
from quorum.node.core.view import NodeView
from quorum.node.process.health import heard_age_ms
from quorum.node.process.system_ports import SystemClock, SystemEntropy
from quorum.node.storage.disk_threads import DiskEvent, SyncStats, ThreadedDisk

if TYPE_CHECKING:
    from quorum.api.context import RequestContext
    from quorum.controller.authorizer import Authorizer

_NS_PER_MS: Final = 1_000_000
_MS_PER_S: Final = 1000
_STOPPING: Final = "this node is stopping"


R = TypeVar("R", bound=Response)


class DriverConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds: of queued events, beyond which clients are rejected, and of the events in one turn."""

    max_queued: int = 20_000
    max_events_a_turn: int = 2_000


class Driver:
    """One running replica: `Doors` and `Replies` for the outside, and the owner of the executor."""

    def __init__(
        self,
        opened: OpenedReplica,
        config: ExecutorConfig,
        network: Network,
        watcher: Watcher,
        *,
        application: Callable[[Executor], Application] | None = None,
        bounds: DriverConfig | None = None,
        syncs: SyncStats | None = None,
        authorizer: Authorizer | None = None,
    ) -> None:
        self.authorizer: Final = authorizer
        self._opened = opened
        self._config = config
        self._network = network
        self._bounds = bounds or DriverConfig()
        self._disk = ThreadedDisk(opened.disk, self._post_from_thread, syncs or SyncStats())
        self._clock = SystemClock()
        ports = Ports(disk=self._disk, network=network, clock=self._clock, entropy=SystemEntropy())
        self.executor: Final = Executor(opened, config, ports, watcher, application)
        self._inbox: list[Event] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms = 0
        self._request_id = 0
        self._is_in_turn = False
        self._answers: list[Callable[[], None]] = []
        self._is_over = False
        self._turns = 0
        self._turn_ns = 0
        self._longest_turn_ns = 0
        self._events = 0

    async def run(self) -> None:
        """Run until a clean stop is complete. The replica's directory is closed when this returns or raises.

        Raises:
            StorageFailedError: the disk failed; exit with a non-zero status.
            MetadataLogError, ReplayError: the log holds records that this software cannot read.
            InvariantViolation: a bug of this software.
        """
        self._loop = asyncio.get_running_loop()
        self._network.attach(self)
        self._disk.start()
        is_clean = False
        try:
            self.executor.start()
            self._disk.hand_over()
            while not self.executor.is_shut:
                await self._wait()
                self._turn()
            is_clean = True
        finally:
            self._is_over = True
            self._disk.stop()
            self._finish(is_clean=is_clean)

    def stop(self) -> None:
        """Begin a clean stop: transfer leadership, then `run` returns."""
        self._post(StopAsked())

    # --- listeners

    def peer_request(self, call: PeerCall, respond: Callable[[PeerResponse], None]) -> int:
        """See `ports.IncomingRequests`."""
        self._request_id += 1
        self._post(PeerRequested(request_id=self._request_id, call=call, respond=respond))
        return self._request_id

    def peer_gone(self, request_id: int) -> None:
        """See `ports.IncomingRequests`."""
        self._post(PeerGone(request_id=request_id))

    def client_request(self, call: AnyCall) -> None:
        """See `ports.IncomingRequests`."""
        if self._is_over:
            self._refuse(call, Error.NOT_CONTROLLER, _STOPPING)
        elif self._queued >= self._bounds.max_queued:
            self._refuse(call, Error.THROTTLING_QUOTA_EXCEEDED, "too many requests are queued here: try again later")
        else:
            self._post(call)

    def after_turn(self, send: Callable[[], None]) -> None:
        """See `server.node.Node`."""
        if self._is_in_turn:
            self._answers.append(send)
        else:
            self._running_loop.call_soon(send)

    async def submit(
        self, request: Request[R], context: RequestContext, *, at_least_offset: Offset = NO_OFFSET
    ) -> ClientAnswer[R]:
        """Submit a `client_request`, and wait for its answer in the calling task."""
        answered: asyncio.Future[ClientAnswer[R]] = asyncio.get_running_loop().create_future()

        def respond(answer: ClientAnswer[R]) -> None:
            if not answered.done():
                answered.set_result(answer)

        self.client_request(
            ClientCall(request=request, context=context, respond=respond, at_least_offset=at_least_offset)
        )
        return await answered

    # --- replies

    def on_peer_response(self, destination_id: int, correlation: int, response: PeerResponse) -> None:
        """See `ports.Replies`."""
        self._post(PeerAnswered(destination_id=destination_id, correlation=correlation, response=response))

    def on_peer_failure(self, destination_id: int, correlation: int, failure: PeerFailure) -> None:
        """See `ports.Replies`."""
        self._post(PeerFailed(destination_id=destination_id, correlation=correlation, failure=failure))

    def on_controller_answer(self, correlation: int, answer: RegistrationAnswer | None) -> None:
        """See `ports.Replies`."""
        self._post(ControllerAnswered(correlation=correlation, answer=answer))

    # --- views, to be read in the loop's thread

    @property
    def image(self) -> MetadataImage:
        """The published image."""
        return self.executor.image

    @property
    def kraft_version(self) -> int:
        """The latest kraft.version in the log."""
        return self.executor.machine.kraft_version

    @property
    def held(self) -> Hold | None:
        """The reason why this replica takes nothing from its leader, or None."""
        return self.executor.fence.held

    def describe_quorum(self) -> QuorumDescription:
        """Return the result of DescribeQuorum; complete only on the leader."""
        return self.executor.machine.describe_quorum()

    def now_ms(self) -> int:
        """Return the time of the monotonic clock to which requests' deadlines refer."""
        return time.monotonic_ns() // _NS_PER_MS

    def view(self) -> NodeView:
        """Return a snapshot for health and metrics."""
        executor, machine, clock = self.executor, self.executor.machine, self._clock.now()
        held = next(reversed(executor.snapshots.held), None)
        return NodeView(
            node_id=executor.replica.node_id,
            cluster_id=self._config.cluster_id,
            role=machine.role,
            epoch=machine.epoch,
            leader_id=machine.leader_id,
            log_start_offset=executor.log.start_offset,
            log_end_offset=machine.log_end_offset,
            flushed_offset=machine.flushed_offset,
            high_watermark=executor.high_watermark,
            image=executor.image,
            is_voter=machine.voters.is_voter(executor.replica),
            voter_count=len(machine.voters),
            active_epoch=executor.active_epoch,
            heard_age_ms=heard_age_ms(executor, clock.monotonic_ms, clock.wall_ms),
            fetch_timeout_ms=self._config.raft.fetch_timeout_ms,
            disk_stalled_ms=int(self._disk.stats.stalled_seconds() * _MS_PER_S),
            queued=self._queued,
            waiting_answers=executor.waiting_answers,
            failure=None if executor.failure is None else str(executor.failure),
            snapshot_end_offset=Offset(-1) if held is None else held.end.offset,
            snapshot_bytes=0 if held is None else held.size,
            snapshot_time_ms=-1 if held is None else held.last_contained_ms,
            held=executor.fence.held,
            unreached=executor.peers.unreached(),
            recovery_warnings=self._opened.recovery.warnings,
            turns=self._turns,
            turn_seconds=self._turn_ns / 1e9,
            longest_turn_seconds=self._longest_turn_ns / 1e9,
            events=self._events,
        )

    @property
    def _queued(self) -> int:
        application = self.executor.application
        return len(self._inbox) + (0 if application is None else application.backlog)

    @property
    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise InvariantViolation("the driver was used before it was run")
        return self._loop

    # --- turns

    def _turn(self) -> None:
        most = self._bounds.max_events_a_turn
        events, self._inbox = self._inbox[:most], self._inbox[most:]
        started = time.monotonic_ns()
        self._is_in_turn = True
        try:
            self.executor.turn(events)
        finally:
            took = time.monotonic_ns() - started
            self._is_in_turn = False
            # Answers leave before the disk's threads wake up and compete for the interpreter.
            self._answer()
            self._disk.hand_over()
        self._turns += 1
        self._turn_ns += took
        self._longest_turn_ns = max(self._longest_turn_ns, took)
        self._events += len(events)

    def _answer(self) -> None:
        """Send what the turn deferred. A failure of one affects no other: it goes to the loop's exception handler."""
        answers, self._answers = self._answers, []
        for send in answers:
            try:
                send()
            except Exception as error:  # noqa: BLE001  (as the loop does with what it calls)
                told = {"message": "an answer could not be sent", "exception": error}
                self._running_loop.call_exception_handler(told)

    async def _wait(self) -> None:
        """Wait for an event or a deadline; let other tasks run in any case."""
        due_ms = self.executor.next_deadline_ms()
        if self._inbox or (due_ms is not None and due_ms <= self.now_ms()):
            await asyncio.sleep(0)
            return
        self._arm(due_ms)
        self._waiter = self._running_loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _arm(self, due_ms: int | None) -> None:
        """Set the one timer. It moves only if something is due earlier: a timer that fires too early costs an empty
        turn."""
        if due_ms is None or (self._timer is not None and self._timer_at_ms <= due_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at_ms = due_ms
        self._timer = self._running_loop.call_later((due_ms - self.now_ms()) / _MS_PER_S, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._wake()

    def _post(self, event: Event) -> None:
        self._inbox.append(event)
        self._wake()

    def _post_from_thread(self, event: DiskEvent) -> None:
        self._running_loop.call_soon_threadsafe(self._post, event)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- the end

    def _refuse(self, call: AnyCall, error: Error, message: str) -> None:
        self._running_loop.call_soon(call.respond, self.executor.leader_hint(error, message))

    def _finish(self, *, is_clean: bool) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not is_clean:
            self._opened.abandon()
            return
        if self.executor.application is not None:
            self.executor.application.refuse_all(_STOPPING)
        for event in self._inbox:
            if isinstance(event, ClientCall):
                self._refuse(event, Error.NOT_CONTROLLER, _STOPPING)
        self._inbox.clear()
        self._opened.close()
