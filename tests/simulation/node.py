"""One machine: its disk and clocks, and its process while it is up: the real executor over simulated ports.

Decides: the effects of a death, a freeze or a failed disk on the process. Must not know: when they come (`faults`), or
the invariants (`checkers`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.errors import (
    CorruptBatchError,
    CorruptFileError,
    DirectoryError,
    DirectoryLockedError,
    MetadataLogError,
    StorageFailedError,
)
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.ids import ReplicaKey, Uuid
from metadata_log.voters import Endpoint, InvalidVoterError
from quorum.api.calls import ClientCall
from quorum.controller.config import ControllerConfig
from quorum.node.config.node_config import config_of
from quorum.node.controller.registration import registration_of
from quorum.node.controller.role import ControllerRole
from quorum.node.controller.role_config import RoleConfig
from quorum.node.core.application import Application
from quorum.node.core.checkpoint_jobs import SnapshotDamaged, SnapshotGenerated, SnapshotLoaded
from quorum.node.core.destinations import bootstrap_destinations
from quorum.node.core.executor import Executor, ExecutorConfig
from quorum.node.core.opened import OpenedReplica
from quorum.node.core.ports import DiskFailed, Event, ImagePublished, NodeEvent, Ports, RoleChanged, StopAsked
from quorum.node.storage.open_replica import open_replica
from tests.simulation import world as w
from tests.simulation.clock import NodeClock
from tests.simulation.disk import NodeDisk
from tests.simulation.durable import DurableLog
from tests.simulation.entropy import Entropy
from tests.simulation.happened import cut_power
from tests.simulation.network import Flight, NodePort

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster

DATA: Final = "/data"
NEVER: Final = 1 << 62
_SLICE_US: Final = 50


class Died(Exception):
    """The process ends just before an effect."""


class Node:
    """One controller; `agent.AgentNode` is an observer.

    Attributes:
        fuse: the number of effects until the process dies; None: it does not.
        is_rotten: bits of its log have flipped: see `flipped`.
        is_held: a fault keeps it down.
        is_lost: it has refused to start on corrupt bytes, and stays down.
    """

    is_voter = True

    def __init__(self, cluster: Cluster, key: ReplicaKey, endpoints: tuple[Endpoint, ...]) -> None:
        self.cluster = cluster
        self.world = cluster.world
        self.key = key
        self.node_id = int(key.node_id)
        self.endpoints = endpoints
        self.files = SimulatedFiles()
        self.clock = NodeClock(cluster.world)
        self.is_up = False
        self.is_frozen = False
        self.frozen_at_us = 0
        self.is_powered = True
        self.is_lost = False
        self.is_held = False
        self.is_rotten = False
        self.flipped: list[tuple[str, int, int]] = []
        self.boot = 0
        self.fuse: int | None = None
        self.dies_by_power = False
        self.dies_installing: int | None = None
        self.disk_factor = 1
        self.stalled_until_us = 0
        self.backlog: list[Event] = []
        self.pending: dict[int, Flight] = {}
        self.flights: dict[int, Flight] = {}
        self.high_watermark = -1
        self.opened: OpenedReplica
        self.executor: Executor
        self.disk: NodeDisk
        self.new_disk(key)
        self._wake_at = NEVER

    def new_disk(self, key: ReplicaKey) -> None:
        """Give it an empty disk, which makes it another replica."""
        self.key = key
        self.files = SimulatedFiles()
        self.files.mkdirs(f"{DATA}/{METADATA_DIRECTORY}")
        self.durable = DurableLog(self.files, f"{DATA}/{METADATA_DIRECTORY}")
        self.media = self.files.media(f"{DATA}/{METADATA_DIRECTORY}")

    # --- life

    def start(self) -> None:
        """Start the process, unless it runs or cannot."""
        if self.is_up or self.is_lost or self.is_held:
            return
        self.boot += 1
        self.is_powered = True
        self.fuse = None
        self.clock.new_process()
        self.world.tell(self.node_id, "starts")
        try:
            self.opened = open_replica(self.files, self._config(), cluster_id=self.cluster.cluster_id)
        except SimulatedCrash:
            self.dies_in_a_call()
            return
        except (CorruptBatchError, CorruptFileError, InvalidVoterError) as error:
            if not self.is_rotten:
                raise
            self.world.tell(self.node_id, f"refuses its log: {error}")
            self.world.note("corruption is refused at the start")
            self.is_lost = True
            return
        except (OSError, StorageFailedError, DirectoryError) as error:
            if isinstance(error, DirectoryLockedError) or not _is_of_the_disk(error):
                raise
            self.world.tell(self.node_id, f"cannot start: {error}")
            self._fail()
            return
        self.look_at_disk()
        self.disk = NodeDisk(self)
        self.is_up = True
        self.high_watermark = -1
        self._wake_at = NEVER
        self.executor = self._executor()
        self.cluster.checkers.voters.on_start(self)
        self._guarded(self._start_process)

    def _start_process(self) -> None:
        self.executor.start()

    def _config(self) -> object:
        setup = self.cluster.setup
        config = config_of(self._properties())
        return msgspec.structs.replace(config, log=setup.log, raft=setup.raft)

    def _properties(self) -> dict[str, str]:
        listeners = ",".join(f"{at.name}://{at.host}:{at.port}" for at in self.endpoints)
        properties = {
            "process.roles": "controller",
            "node.id": str(self.node_id),
            "listeners": listeners,
            "log.dirs": DATA,
        }
        if self.cluster.setup.static_voters and self.node_id in self.cluster.first_voters:
            properties["controller.quorum.voters"] = self.cluster.voters_written
        return properties

    def _executor(self) -> Executor:
        return Executor(
            self.opened,
            ExecutorConfig(
                cluster_id=self.cluster.cluster_id,
                raft=self.cluster.setup.raft,
                endpoints=self.endpoints if self.is_voter else (),
                bootstrap=bootstrap_destinations(self.cluster.bootstrap) if self._looks_around else (),
                can_vote=self.is_voter,
                snapshots=self.cluster.setup.snapshots,
                auto_join=self.cluster.setup.auto_join,
                keeps_committed=not self.is_voter,
            ),
            Ports(disk=self.disk, network=NodePort(self), clock=self.clock, entropy=Entropy(self.cluster)),
            self,
            self._application if self.is_voter else None,
        )

    @property
    def _looks_around(self) -> bool:
        """Return True if it has bootstrap servers: a node that does not know the voters needs them."""
        return not self.is_voter or self.cluster.setup.changes_voters

    def _application(self, executor: Executor) -> Application:
        setup = self.cluster.setup
        incarnation = Uuid(b"\x11" + self.node_id.to_bytes(7, "big") + self.boot.to_bytes(8, "big"))
        return ControllerRole(
            executor,
            ControllerConfig(
                node_id=self.node_id,
                cluster_id=self.cluster.cluster_id,
                session_timeout_ms=setup.session_timeout_ms,
                max_idle_interval_ms=setup.max_idle_interval_ms,
            ),
            RoleConfig(max_batches_in_flight=setup.batches_in_flight),
            registration_of(self.node_id, incarnation, self.endpoints),
            self.opened.bootstrap_records,
        )

    def end(self, *, power: bool) -> None:
        """Kill -9, and with `power` a power cut: then bytes that are not durable may be lost, too."""
        self.world.tell(self.node_id, "loses its power" if power else "is killed")
        self.world.note("a machine loses its power" if power else "a process is killed")
        was_up, self.is_up = self.is_up, False
        self._forget_process()
        if power:
            self.is_powered = False
            cut_power(self)
            self.look_at_disk()
        elif was_up:
            self.files.crash_at = None
            self.opened.abandon()
        self.cluster.network.on_end(self, reset=not power)
        self.cluster.restart_later(self)

    def _forget_process(self) -> None:
        self.is_frozen = False
        self.backlog.clear()
        self.fuse = None
        self.files.crash_at = None

    def dies_in_a_call(self) -> None:
        """End the process within a call of its files."""
        self.world.note("a process dies within a call of its files")
        self.end(power=self.dies_by_power)

    def _fail(self) -> None:
        """End the process after its disk failed, and restart the machine.

        After a failed sync, the result of a second sync means nothing.
        """
        self.is_up = False
        self._forget_process()
        self.files.free_bytes = None
        self.cluster.network.on_end(self, reset=True)
        cut_power(self)
        self.look_at_disk()
        self.cluster.restart_later(self)

    def freeze(self) -> None:
        """Freeze the process: it takes no input, and no timer runs."""
        if self.is_up and not self.is_frozen:
            self.is_frozen = True
            self.frozen_at_us = self.world.now_us
            self.world.tell(self.node_id, "freezes")

    def thaw(self) -> None:
        """Let it go on, with all the inputs of the meantime at once."""
        if not self.is_frozen:
            return
        self.is_frozen = False
        self.world.tell(self.node_id, "wakes up")
        if self.world.now_us - self.frozen_at_us > 1_000 * w.US_PER_MS:
            self.world.note("a process wakes up after more than a second")
        events, self.backlog = self.backlog, []
        self.turn(events)

    def stop(self) -> None:
        """Send SIGTERM."""
        if self.is_up and not self.is_frozen:
            self.world.tell(self.node_id, "is asked to stop")
            self.turn((StopAsked(),))

    # --- events

    def deliver(self, boot: int, event: Event) -> None:
        """Give the process an event, unless it has ended by now."""
        if self.boot != boot or not self.is_up:
            return
        if self.is_frozen:
            self.backlog.append(event)
        else:
            self.turn((event,))

    def turn(self, events: Sequence[Event]) -> None:
        """One turn of the executor."""
        self.world.count(w.TURNED, self.node_id, len(events))
        self._guarded(lambda: self.executor.turn(events))

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Died:
            self.world.note("a process dies between two effects")
            self.end(power=self.dies_by_power)
            return
        except SimulatedCrash:
            self.dies_in_a_call()
            return
        except (MetadataLogError, OSError) as error:
            self.world.tell(self.node_id, f"fails: {error}")
            self.cluster.checkers.on_failure(self, error)
            self.opened.abandon()
            self._fail()
            return
        self.note_high_watermark()
        if self.executor.is_shut:
            self._shut()
        else:
            self.arm()

    def note_high_watermark(self) -> None:
        """Report a new high watermark to the checkers, before they see what depends on it."""
        high_watermark = self.executor.machine.high_watermark
        if high_watermark != self.high_watermark:
            before, self.high_watermark = self.high_watermark, high_watermark
            self.cluster.checkers.on_high_watermark(self, before, high_watermark)

    def _shut(self) -> None:
        """Complete a clean stop."""
        self.world.tell(self.node_id, "has stopped")
        self.world.note("a process stops cleanly")
        self.is_up = False
        self._forget_process()
        try:
            self.disk.finish()
            self.opened.close()
        except MetadataLogError as error:
            self.world.tell(self.node_id, f"fails while it closes: {error}")
            self.opened.abandon()
        self.look_at_disk()
        self.cluster.network.on_end(self, reset=True)
        self.cluster.restart_later(self)

    def arm(self) -> None:
        """Schedule the process's next wake-up."""
        due_ms = self.executor.next_deadline_ms()
        if due_ms is None:
            return
        at_us = self.clock.true_us(due_ms)
        if at_us <= self.world.now_us:
            at_us = self.world.now_us + _SLICE_US
        if at_us < self._wake_at:
            self._wake_at = at_us
            self.world.at(at_us, self._wake, self.boot, at_us)

    def _wake(self, boot: int, at_us: int) -> None:
        if boot != self.boot or not self.is_up or at_us != self._wake_at:
            return
        self._wake_at = NEVER
        if self.is_frozen:
            return
        due_ms = self.executor.next_deadline_ms()
        if due_ms is not None and self.clock.monotonic_ms() >= due_ms:
            self.turn(())
        else:
            self.arm()

    def rearm(self) -> None:
        """Schedule it again after its clock has changed."""
        self._wake_at = NEVER
        if self.is_up and not self.is_frozen:
            self.arm()

    def burn(self) -> None:
        """Count an effect on the world; called before each."""
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse <= 0:
                raise Died

    def call(self, boot: int, call: ClientCall) -> None:
        """Deliver a client's request."""
        self.deliver(boot, call)

    # --- its reports

    def on_event(self, event: NodeEvent) -> None:
        """Implements the `Watcher` port."""
        if type(event) is RoleChanged:
            leader = "" if event.leader_id is None else f" of {event.leader_id}"
            self.world.tell(self.node_id, f"{event.role}{leader} @{event.epoch} ({event.cause})")
        elif type(event) is ImagePublished:
            self.note_high_watermark()
        elif type(event) is SnapshotLoaded:
            self.world.tell(self.node_id, f"installs snapshot {event.end}")
            self.world.note("a snapshot is installed")
        elif type(event) is SnapshotDamaged:
            self.world.tell(self.node_id, f"does not send snapshot {event.end}, which is corrupt")
            self.world.note("a corrupt snapshot is not sent")
        elif type(event) is SnapshotGenerated:
            self.world.tell(self.node_id, f"has taken snapshot {event.end}")
            self.world.note("a snapshot is taken")
        self.cluster.checkers.on_event(self, event)

    def look_at_disk(self) -> None:
        """Look for changes of the durable bytes."""
        self.durable.refresh()
        if self.durable.added or self.durable.removed:
            self.cluster.checkers.on_durable(self)

    def disk_failed(self, boot: int, error: Exception) -> None:
        """Take the failure of a disk job."""
        self.deliver(boot, DiskFailed(error=error))


def _is_of_the_disk(error: Exception) -> bool:
    return isinstance(error, OSError | StorageFailedError) or isinstance(error.__cause__, OSError)
