"""The disk port in virtual time: group commits that take time, stall, fail, or are cut in the middle.

Decides: when a node's jobs are done. Must not know: their meaning; the real `ReplicaDisk` does them on the node's
simulated files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metadata_log.errors import MetadataLogError
from metadata_log.files.simulated_files import SimulatedCrash
from metadata_log.storage.checkpoint_ops import CheckReceived, ReadPiece
from quorum.node.core.checkpoint_jobs import CheckpointJob, CheckpointJobDone
from quorum.node.core.ports import DiskDone, DiskFailed, DiskJob, LogRead, ReadDone
from tests.simulation import world as w

if TYPE_CHECKING:
    from tests.simulation.node import Node

_LONG_US: Final = 100_000
_TOLD_US: Final = 30
"""From the sync's return to the turn that sees it: the process may die between."""


class NodeDisk:
    """The disk of one process."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._boot = node.boot
        self._disk = node.opened.disk
        self._jobs: list[DiskJob] = []
        self._under_way: list[DiskJob] = []
        self._is_busy = False
        self._work: list[CheckpointJob] = []

    def write(self, jobs: Sequence[DiskJob]) -> None:
        """See the port."""
        self._node.burn()
        self._node.cluster.checkers.on_write(self._node, jobs)
        self._jobs += jobs
        if not self._is_busy:
            self._is_busy = True
            self._begin()

    def read(self, read: LogRead) -> None:
        """See the port."""
        self._node.burn()
        self._node.world.after(self._latency_us(), self._read, read)

    def work(self, job: CheckpointJob) -> None:
        """See the port: jobs run one after the other."""
        self._node.burn()
        self._work.append(job)
        if len(self._work) == 1:
            self._node.world.after(self._latency_us(), self._work_on)

    def finish(self) -> None:
        """Write what is queued before the log is closed, as a real disk's threads do at a clean stop.

        Raises:
            StorageFailedError: the disk failed.
        """
        jobs, self._under_way, self._jobs = [*self._under_way, *self._jobs], [], []
        if jobs:
            self._disk.execute(jobs)

    def _work_on(self) -> None:
        node = self._node
        if node.boot != self._boot or not node.is_up:
            return
        if node.is_frozen or node.stalled_until_us > node.world.now_us:
            node.world.after(1000 + self._latency_us(), self._work_on)
            return
        job = self._work.pop(0)
        node.world.count(w.WORKED, node.node_id, job.job_id)
        try:
            result = job.op.run()
        except SimulatedCrash:
            node.dies_in_a_call()
            return
        except (MetadataLogError, OSError) as error:
            node.disk_failed(self._boot, error)
            return
        if isinstance(job.op, CheckReceived) and node.dies_installing is not None:
            node.files.crash_at, node.dies_installing = node.files.changes + node.dies_installing, None
        if isinstance(job.op, ReadPiece) and isinstance(result, bytes):
            node.cluster.checkers.on_piece(node, job.op)
        node.look_at_disk()
        node.world.after(_TOLD_US, node.deliver, self._boot, CheckpointJobDone(job_id=job.job_id, result=result))
        if self._work:
            node.world.after(self._latency_us(), self._work_on)

    def _begin(self) -> None:
        """Begin a sync; writes that come meanwhile wait for the next one."""
        self._under_way, self._jobs = self._jobs, []
        latency_us = self._latency_us()
        if latency_us > _LONG_US:
            self._node.world.note("a sync takes more than 100 ms")
        self._node.world.after(latency_us, self._run)

    def _latency_us(self) -> int:
        node = self._node
        manners, now_us = node.cluster.setup.disk, node.world.now_us
        latency_us = (manners.least_us + node.world.up_to(manners.spread_us)) * node.disk_factor
        return latency_us if node.stalled_until_us <= now_us else node.stalled_until_us - now_us + latency_us

    def _run(self) -> None:
        """Make all writes under way durable together; `DiskDone` is another event, so that the process may die between.

        The writer thread of a frozen process is frozen, too.
        """
        node = self._node
        if node.boot != self._boot or not node.is_up:
            return
        if node.is_frozen or node.stalled_until_us > node.world.now_us:
            node.world.after(1000 + self._latency_us(), self._run)
            return
        jobs, self._under_way = self._under_way, []
        node.world.count(w.WRITTEN, node.node_id, len(jobs))
        try:
            sequence = self._disk.execute(jobs)
        except SimulatedCrash:
            node.dies_in_a_call()
            return
        except MetadataLogError as error:
            node.disk_failed(self._boot, error)
            return
        node.look_at_disk()
        node.world.after(_TOLD_US, node.deliver, self._boot, DiskDone(sequence=sequence))
        if node.boot == self._boot and node.is_up:
            if self._jobs:
                self._begin()
            else:
                self._is_busy = False

    def _read(self, read: LogRead) -> None:
        node = self._node
        if node.boot != self._boot or not node.is_up:
            return
        node.world.count(w.READ, node.node_id, read.read_id)
        try:
            data = read.plan.run()
        except (MetadataLogError, OSError) as error:
            node.deliver(self._boot, DiskFailed(error=error, read_id=read.read_id))
            return
        node.deliver(self._boot, ReadDone(read_id=read.read_id, data=data))
