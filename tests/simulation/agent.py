"""A broker agent: an observer of the log, its life with the controller, and its partition directories.

Decides: when the agent reconciles, as `broker_agent.agent` does with tasks. Must not know: how. The plan, the
directories and the lifecycle are the real ones.
"""

from __future__ import annotations

from typing import Final

from broker_agent.changes import NO_TOPIC_CHANGES, joined
from broker_agent.journal import Journal
from broker_agent.partitions import Partitions
from broker_agent.release import release
from metadata_log.directory import (
    METADATA_DIRECTORY,
    read_committed_state,
    read_meta_properties,
    write_partition_metadata,
)
from metadata_log.errors import DirectoryError
from metadata_log.files.simulated_files import SimulatedCrash
from metadata_log.ids import NodeId, TopicId
from quorum.node.core.checkpoint_jobs import SnapshotLoaded
from quorum.node.core.log_fence import HoldReason
from quorum.node.core.ports import HoldChanged, ImagePublished, NodeEvent
from tests.simulation.durable import DurableLog
from tests.simulation.life import Life
from tests.simulation.node import DATA, Node
from tests.simulation.world import US_PER_MS

_RECONCILE_EVERY_US: Final = 20 * US_PER_MS
_LOOK_EVERY_US: Final = 400 * US_PER_MS


class AgentNode(Node):
    """One agent. `partitions` and `life` are those of its present process."""

    is_voter = False
    partitions: Partitions
    life: Life
    ran_ms = 0
    """Time on its machine's monotonic clock, over all its processes, up to the last look at its disk."""
    _strays = 0
    _is_released = False
    has_lost_proof = False
    """True after a received snapshot replaced its log, or it was released: then stale directories are quarantined."""

    def start(self) -> None:
        """Start the process; an operator who saw its hold has released it before."""
        if self._is_released and not self.is_up:
            self._is_released = False
            self.has_lost_proof = True
            state = read_committed_state(self.files, f"{DATA}/{METADATA_DIRECTORY}")
            if state is not None:
                if state.topic_id is not None:
                    own = state.topic_id
                    release(self.files, [DATA], DATA, own_id=own, accepted_id=own, new_token=self._new_token)
                else:  # no id to release: its log is moved away
                    self.files.rename(f"{DATA}/{METADATA_DIRECTORY}", f"{DATA}/aside{self.boot}")
                    self.files.mkdirs(f"{DATA}/{METADATA_DIRECTORY}")
                    self.files.fsync_dir(DATA)
                self.durable = DurableLog(self.files, f"{DATA}/{METADATA_DIRECTORY}")
                self.media = self.files.media(f"{DATA}/{METADATA_DIRECTORY}")
                self.world.note("a hold is released")
        super().start()

    def look_for_hold(self) -> None:
        """Let an operator look, after quiesce, for a hold that lasts: the leader may have trimmed what would end it."""
        held = self.executor.fence.held if self.is_up else None
        if held is not None and held.reason is not HoldReason.OTHER_TOPIC:
            self._is_released = True
            self.end(power=False)

    def _properties(self) -> dict[str, str]:
        servers = ",".join(f"{at.host}:{at.port}" for at in self.cluster.bootstrap)
        return {
            "process.roles": "broker",
            "node.id": str(self.node_id),
            "listeners": f"GRPC://b{self.node_id}:9092",
            "log.dirs": DATA,
            "controller.listener.names": "GRPC",
            "controller.quorum.bootstrap.servers": servers,
        }

    def _start_process(self) -> None:
        directory_id = read_meta_properties(self.files, DATA).directory_id
        if directory_id is None:
            raise DirectoryError(f"{DATA} has no directory id")
        boot = self.boot
        self._changes = NO_TOPIC_CHANGES
        self._is_due = False
        self._is_known = False
        self._ran_until_ms = self.clock.monotonic_ms()
        if boot > 1:  # its wall clock is set while it is down
            self.clock.set_wall((3_600_000, -3_600_000)[boot % 2])
        if boot % 2:
            self._copy_foreign_in()
        self._received_end = self.opened.received_end
        journal = Journal.open(
            self.files,
            DATA,
            NodeId(self.node_id),
            log_end=self.opened.storage.end.offset,
            received_end=self._received_end,
            committed_end=self.opened.committed_end,
        )
        self.has_lost_proof |= journal.unproven > 0
        self.partitions = Partitions(
            self.files,
            NodeId(self.node_id),
            {directory_id: DATA},
            journal,
            delete_delay_ms=self.cluster.setup.delete_delay_ms,
            wall_ms=self.clock.wall_ms,
            monotonic_ms=self.clock.monotonic_ms,
            new_token=self._new_token,
        )
        self.partitions.open()
        self.life = Life(
            self.cluster,
            self.node_id,
            boot,
            directory_id,
            applied=lambda: self.executor.image.offset_and_epoch.offset - 1,
            is_over=lambda: self.boot != boot or not self.is_up,
            is_frozen=lambda: self.is_frozen,
        )
        super()._start_process()
        self.world.after(0, self.life.look)
        self.world.after(_LOOK_EVERY_US, self._remove_due, boot)

    def _new_token(self) -> bytes:
        self._strays += 1
        return self._strays.to_bytes(16, "big")

    def _copy_foreign_in(self) -> None:
        """Copy a directory of another cluster's agent in, while no process runs."""
        foreign = TopicId(b"\x66" * 8 + self.node_id.to_bytes(4, "big") + self.boot.to_bytes(4, "big"))
        path = f"{DATA}/foreign{self.boot}-0"
        if not self.files.exists(path):
            self.files.mkdirs(path)
            write_partition_metadata(self.files, path, foreign)

    def _look_at_time(self) -> None:
        now_ms = self.clock.monotonic_ms()
        self.ran_ms += now_ms - self._ran_until_ms
        self._ran_until_ms = now_ms

    def on_event(self, event: NodeEvent) -> None:
        super().on_event(event)
        if type(event) is SnapshotLoaded:
            self._received_end = event.end.offset
            self.has_lost_proof = True
        if type(event) is HoldChanged and event.hold is not None:
            self.world.note("an agent holds")
        if type(event) is not ImagePublished or not event.changes_metadata:
            return
        self._changes = joined(self._changes, event)
        own = event.after.cluster.brokers.get(NodeId(self.node_id))
        self._is_known |= own is not None and own.incarnation_id == self.life.incarnation_id
        if self._is_known and not self._is_due:
            self._is_due = True
            self.world.after(_RECONCILE_EVERY_US, self._reconcile, self.boot)

    @property
    def is_reconciled(self) -> bool:
        """Return True if nothing is left to do for its image."""
        return self._is_known and not self._is_due

    def _reconcile(self, boot: int) -> None:
        if boot != self.boot or not self.is_up:
            return
        if self.is_frozen or self.executor.fence.held is not None:
            self.world.after(_RECONCILE_EVERY_US, self._reconcile, boot)
            return
        self._is_due = False
        changes, self._changes = self._changes, NO_TOPIC_CHANGES
        self._look_at_time()
        try:
            done = self.partitions.reconcile(self.executor.image, changes, self._received_end)
        except SimulatedCrash:
            self.end(power=self.dies_by_power)
        except OSError as error:
            self._directory_failed(error)
        else:
            self.cluster.checkers.on_reconciled(self, done)
            if done.stage and self.boot % 2:  # its wall clock is set while something is staged
                self.clock.set_wall(3_600_000)

    def _remove_due(self, boot: int) -> None:
        if boot != self.boot or not self.is_up:
            return
        try:
            if not self.is_frozen and self._is_known and self.executor.fence.held is None:
                self._look_at_time()
                staged = self.partitions.staged
                self.partitions.remove_due()
                gone = [each for each in staged if each not in self.partitions.staged]
                self.cluster.checkers.on_removed(self, gone)
        except SimulatedCrash:
            self.end(power=self.dies_by_power)
        except OSError as error:
            self._directory_failed(error)
        else:
            self.world.after(_LOOK_EVERY_US, self._remove_due, boot)

    def _directory_failed(self, error: OSError) -> None:
        self.world.tell(self.node_id, f"fails: {error}")
        self.opened.abandon()
        self._fail()
