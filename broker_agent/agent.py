"""One running agent: its observer, its registration, its directories, and the reads from partition leaders.

Decides: which task runs when, and which events one task passes to another. Must not know: gRPC's own types, signals,
or how a plan is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

import structlog

from broker_agent.changes import NO_TOPIC_CHANGES, joined
from broker_agent.comparison import Comparison
from broker_agent.controllers import Controllers
from broker_agent.followers import follow_leaders
from broker_agent.lifecycle import Lifecycle, Phase, SendHeartbeat, SendRegistration
from broker_agent.partitions import Partitions
from broker_agent.replication import Leadership
from broker_agent.watch import watch_log_dirs
from metadata_log.ids import NodeId, TopicId, Uuid
from metadata_log.image import MetadataImage
from metadata_log.offsets import Offset
from quorum.api.error_codes import Error
from quorum.node.core.checkpoint_jobs import SnapshotLoaded
from quorum.node.core.ports import HoldChanged, ImagePublished, NodeEvent
from quorum.node.process.driver import Driver

_MS_PER_S: Final = 1000
_RECONCILE_EVERY_S: Final = 0.02
"""The pause after a reconciliation: a burst of changes to one topic is carried out once."""
_REMOVAL_LOOK_S: Final = 60.0
"""The longest wait between two checks for due removals: the wall clock may be set, and the clock is saved."""
_COMPARE_EVERY_S: Final = 3_600.0
"""The interval of comparing the disks with the image, which finds directories that another process removed."""
_TELL_LEAVING_EVERY_MS: Final = 2_000

log = structlog.get_logger("broker_agent")


class Agent:
    """The tasks of one agent, assembled by `broker_agent.main`."""

    def __init__(
        self,
        broker_id: NodeId,
        incarnation_id: Uuid,
        partitions: Partitions,
        lifecycle: Lifecycle,
        controllers: Controllers,
        *,
        received_end: Offset | None = None,
    ) -> None:
        """`received_end`: end offset of the received snapshot that the log begins with, or None."""
        self.broker_id: Final = broker_id
        self.incarnation_id: Final = incarnation_id
        self.partitions: Final = partitions
        self.lifecycle: Final = lifecycle
        self.leadership: Final = Leadership(broker_id, self._local_topic_id)
        self._controllers = controllers
        self._changes = NO_TOPIC_CHANGES
        self._received_end = received_end
        self._has_changed = asyncio.Event()
        self._disks = asyncio.Lock()
        """Held during a call of `partitions`: its calls are made one at a time."""
        self._comparing: asyncio.Task[Comparison] | None = None
        self._has_staged = asyncio.Event()
        self._has_readers = asyncio.Event()
        self._is_registered_in_image = False
        self._may_remove = asyncio.Event()
        self._life_moves = asyncio.Event()
        self._driver: Driver | None = None
        self._tell_leaving_at_ms = 0

    @property
    def driver(self) -> Driver:
        """The observer's driver.

        Raises:
            RuntimeError: `attach` was not called yet.
        """
        if self._driver is None:
            raise RuntimeError("the agent has no driver yet")
        return self._driver

    def attach(self, driver: Driver) -> None:
        """Set the driver, once and before `run`. The driver takes this agent as a watcher, so it is made second."""
        self._driver = driver

    @property
    def image(self) -> MetadataImage:
        """The committed image."""
        return self.driver.image

    # --- the watcher of the driver

    def on_event(self, event: NodeEvent) -> None:
        """Collect changed topics, or stop changing directories on a hold. The driver calls it within its turn."""
        if isinstance(event, HoldChanged):
            self._on_hold()
        if isinstance(event, SnapshotLoaded):
            self._received_end = event.end.offset
        if not isinstance(event, ImagePublished) or not event.changes_metadata:
            return
        self._changes = joined(self._changes, event)
        own = event.after.cluster.brokers.get(self.broker_id)
        self._is_registered_in_image |= own is not None and own.incarnation_id == self.incarnation_id
        if self._is_registered_in_image:
            self._has_changed.set()
        self._judge_image()

    def _on_hold(self) -> None:
        """Stop staging, removals and heartbeats while the observer holds. The agent registers again afterwards."""
        self._judge_image()
        self.lifecycle.forget_registration(self.driver.now_ms())
        self._life_moves.set()

    def _judge_image(self) -> None:
        """Allow changes of directories if the image has this start's registration and the observer does not hold."""
        if self._is_registered_in_image and self.driver.held is None:
            self._may_remove.set()
        else:
            self._may_remove.clear()

    def why_not_compared(self) -> str | None:
        """Return why the image may change no directory now, or None if it may."""
        if self.driver.held is not None:
            return f"the agent holds, and changes nothing: {self.driver.held.what}"
        if not self._is_registered_in_image:
            return "the agent has not applied the log up to its own registration yet"
        return None

    # --- running

    async def run(self) -> None:
        """Run until the broker has left after `stop` and the observer has stopped, or a task fails.

        Raises:
            OSError: the metadata's log directory failed, or the last one. Others: as `Driver.run`.
        """
        observer = asyncio.create_task(self.driver.run(), name="observer")
        life = asyncio.create_task(self._live(), name="life")
        others = [
            asyncio.create_task(work, name=name)
            for name, work in (
                ("reconcile", self._reconcile()),
                ("remove", self._remove()),
                ("compare", self._compare()),
                ("watch", watch_log_dirs(self)),
                ("isr", self._grow_isrs()),
                ("follow", follow_leaders(self)),
            )
        ]
        try:
            await _first_failure_or(life, observer, *others)
            self.driver.stop()
            await _first_failure_or(observer, *others)
        finally:
            for task in (life, observer, *others):
                task.cancel()
            await asyncio.gather(life, observer, *others, return_exceptions=True)

    def stop(self) -> None:
        """Begin a controlled shutdown; leave at once on a second call."""
        self.lifecycle.stop(self.driver.now_ms())
        self._tell_leaving()
        self._life_moves.set()

    async def _live(self) -> None:
        """Register and send heartbeats until the broker has left."""
        while self.lifecycle.phase is not Phase.LEFT:
            now = self.driver.now_ms()
            if self.driver.held is not None and self.lifecycle.leaves_in_ms(now) is None:
                await self._sleep_until(None)
                continue
            before = (self.lifecycle.phase, self.lifecycle.last_refusal)
            sent = self.lifecycle.next_send(now, self.image.offset_and_epoch.offset - 1)
            if sent is None:
                await self._sleep_until(self.lifecycle.next_due_ms())
                continue
            if isinstance(sent, SendRegistration):
                await self._controllers.register(self.lifecycle, sent, self.driver.now_ms)
            else:
                await self._controllers.heartbeat(self.lifecycle, sent, self.driver.now_ms)
            self._tell(sent, *before)

    def _tell(self, sent: SendRegistration | SendHeartbeat, phase: Phase, refusal: Error | None) -> None:
        life = self.lifecycle
        if life.last_refusal is not None and life.last_refusal is not refusal:
            log.warning(
                "the controller refuses this broker",
                node_id=self.broker_id,
                phase=life.phase.value,
                request="RegisterBroker" if isinstance(sent, SendRegistration) else "BrokerHeartbeat",
                error=life.last_refusal.name,
                why=life.refusal_text,
            )
        if life.phase is not phase:
            log.info("broker", phase=life.phase.value, broker_epoch=life.broker_epoch, fenced=life.is_fenced)
        if self.driver.now_ms() >= self._tell_leaving_at_ms:
            self._tell_leaving()

    def _tell_leaving(self) -> None:
        """Log that the agent is leaving and for how long at most, so that the operator sees the request arrived."""
        now_ms = self.driver.now_ms()
        leaves_in_ms = self.lifecycle.leaves_in_ms(now_ms)
        if leaves_in_ms is not None:
            log.info(
                "leaving: asks to shut down until a controller has moved its leaders, or none answers any more",
                without_an_answer_in_s=round(leaves_in_ms / _MS_PER_S),
            )
            self._tell_leaving_at_ms = now_ms + _TELL_LEAVING_EVERY_MS

    async def _sleep_until(self, due_ms: int | None) -> None:
        self._life_moves.clear()
        timeout = None if due_ms is None else max(0.0, (due_ms - self.driver.now_ms()) / _MS_PER_S)
        await wait_for_event(self._life_moves, timeout)

    async def _reconcile(self) -> None:
        while True:
            await self._has_changed.wait()
            await self._may_remove.wait()
            self._has_changed.clear()
            changes, self._changes = self._changes, NO_TOPIC_CHANGES
            async with self._disks:
                await asyncio.to_thread(self.partitions.reconcile, self.image, changes, self._received_end)
            self._has_staged.set()
            await asyncio.sleep(_RECONCILE_EVERY_S)

    async def _remove(self) -> None:
        while True:
            await self._may_remove.wait()
            self._has_staged.clear()
            async with self._disks:
                next_ms = await asyncio.to_thread(self.partitions.remove_due)
            wait_s = None if next_ms is None else min(next_ms / _MS_PER_S, _REMOVAL_LOOK_S)
            await wait_for_event(self._has_staged, wait_s)

    async def _compare(self) -> None:
        while True:
            await asyncio.sleep(_COMPARE_EVERY_S)
            await self.compare()

    async def compare(self) -> Comparison | None:
        """Compare the disks with the image now; return None while `why_not_compared` has a reason.

        Callers that come while one comparison is under way share it.
        """
        if self.why_not_compared() is not None:
            return None
        if self._comparing is None or self._comparing.done():
            self._comparing = asyncio.create_task(self._compare_now(), name="comparison")
        return await asyncio.shield(self._comparing)

    async def compare_if_changed(self, entries: Collection[tuple[str, str]] | None) -> bool:
        """Compare if an entry (log directory, name) differs from what the agent knows; return True if it compared.

        None as `entries`: any entry may have changed. The call waits while no directory may be changed.
        """
        while True:
            await self._may_remove.wait()
            if entries is not None and not await self._differ(entries):
                return False
            if await self.compare() is not None:
                return True

    async def _differ(self, entries: Collection[tuple[str, str]]) -> bool:
        async with self._disks:  # no move of the agent is half done, so its own moves do not look like a change
            return await asyncio.to_thread(lambda: any(self.partitions.differs(*each) for each in entries))

    async def _compare_now(self) -> Comparison:
        async with self._disks:
            found = await asyncio.to_thread(self.partitions.compare, self.image, self._received_end)
        self._has_staged.set()
        return found

    async def _grow_isrs(self) -> None:
        while True:
            await self._has_readers.wait()
            self._has_readers.clear()
            proposals = list(self.leadership.proposals(self.image))
            if proposals and self.lifecycle.phase is Phase.RUNNING:
                await self._controllers.alter_partition(self.lifecycle.broker_epoch, proposals, self.image)

    def on_read(self) -> None:
        """Start a round of ISR proposals if a follower that the ISR lacks has read."""
        if self.leadership.has_waiting:
            self._has_readers.set()

    def _local_topic_id(self, name: str) -> TopicId | None:
        return self.partitions.topic_id_in(name)


async def wait_for_event(event: asyncio.Event, timeout_s: float | None) -> bool:
    """Return True if the event is set within `timeout_s`.

    `asyncio.wait_for` of Python 3.11 loses a cancellation that arrives as the event is set: the agent then never stops.
    """
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return False
    return True


async def _first_failure_or(wanted: asyncio.Task[None], *others: asyncio.Task[None]) -> None:
    """Wait for `wanted`, and raise the first failure of any task.

    Raises:
        RuntimeError: another task ended before `wanted`.
    """
    done, _ = await asyncio.wait((wanted, *others), return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
    if wanted not in done:
        raise RuntimeError(f"the task {next(iter(done)).get_name()} ended before its time")
