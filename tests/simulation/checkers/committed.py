"""Committed stays committed: all replicas agree on the committed log, a majority always has it on disk.

A leader has all of it.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.checkers.reference import Reference
from tests.simulation.durable import BatchKey
from tests.simulation.rot import as_written

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node


def epoch_before(node: Node, offset: int) -> int:
    """Return the epoch of the record before `offset` in a node's log; at the log's start, that of the snapshot
    there."""
    log = node.executor.log
    if offset > log.start_offset:
        return log.epochs.epoch_at(offset - 1)  # type: ignore[arg-type]
    snapshots = node.executor.machine._core.log.snapshots
    return next((each.id.epoch for each in snapshots if each.id.offset == offset), -1)


class Committed:
    """The committed log; new batches go to `reference`."""

    def __init__(self, cluster: Cluster, reference: Reference) -> None:
        self._cluster = cluster
        self._reference = reference
        self._ends: list[int] = []
        self._keys: list[BatchKey] = []
        self._epochs: list[int] = []
        """The epoch in which the commit of each batch was first seen. It never falls from one batch to the next."""

    @property
    def last_epoch(self) -> int:
        """Return the epoch of the last committed batch, -1 before the first."""
        return self._keys[-1].epoch if self._keys else -1

    @property
    def end(self) -> int:
        """Return the end of the committed log."""
        return self._ends[-1] if self._ends else 0

    def on_high_watermark(self, node: Node, offset: int) -> None:
        """See that `node` reports everything before `offset` as committed."""
        if offset == 0:
            return
        if offset > self.end:
            self._cluster.checkers.voters.on_committing(node)
            self._extend(node, offset)
            self.check_majority()
            return
        at = bisect_left(self._ends, offset)
        if self._ends[at] != offset:
            raise InvariantFailure(
                "committed", f"node {node.node_id} puts the high watermark at {offset}, inside a batch"
            )
        epoch = epoch_before(node, offset)
        if epoch != self._keys[at].epoch:
            raise InvariantFailure(
                "committed",
                f"node {node.node_id} has epoch {epoch} before its high watermark {offset}, committed there is "
                f"{self._keys[at]}",
            )

    def _extend(self, node: Node, offset: int) -> None:
        log = node.executor.log
        if self._keys:
            last = self._keys[-1]
            if epoch_before(node, last.end) != last.epoch:
                raise InvariantFailure("committed", f"node {node.node_id} commits {offset} on a log that lacks {last}")
        with as_written(node):
            for header, data in log.iter_from(self.end):  # type: ignore[arg-type]
                if header.next_offset > offset:
                    break
                self._ends.append(header.next_offset)
                key = BatchKey(header.base_offset, header.next_offset, header.partition_leader_epoch, header.crc)
                self._keys.append(key)
                self._epochs.append(max([int(node.executor.machine.epoch), *self._epochs[-1:]]))
                self._reference.on_batch(header, data)
        if self.end != offset:
            raise InvariantFailure(
                "committed", f"node {node.node_id} puts the high watermark at {offset}, inside a batch"
            )

    def check_majority(self) -> None:
        """Check that the last committed batch is on the disks of a majority; a corrupt replica counts as a holder."""
        if not self._keys:
            return
        last = self._keys[-1]
        rules = self._cluster.checkers.voters
        voters = rules.deciding
        holders = [key.node_id for key in voters.keys if rules.holds(key, last)]
        if len(holders) < voters.majority:
            raise InvariantFailure("committed", f"{last} is committed, but durable only on {holders} of {len(voters)}")

    def on_durable(self, node: Node) -> None:
        """Check that no committed batch is gone from a disk, unless no process could know that it was committed."""
        if node.is_voter and any(self._is_committed(key) for key in node.durable.removed):
            self.check_majority()

    def _is_committed(self, key: BatchKey) -> bool:
        at = bisect_left(self._ends, key.end)
        return at < len(self._keys) and self._keys[at] == key

    def on_leader(self, node: Node) -> None:
        """Check that a new leader has all that was committed in earlier epochs (leader completeness, Raft 5.4.3).

        A candidate that was frozen may learn of its votes when a later epoch has committed more: it lacks that.
        """
        earlier = bisect_left(self._epochs, int(node.executor.machine.epoch))
        if not earlier:
            return
        last, log = self._keys[earlier - 1], node.executor.log
        if log.log_end_offset < last.end or epoch_before(node, last.end) != last.epoch:
            raise InvariantFailure(
                "committed", f"node {node.node_id} leads with a log up to {log.end()} that lacks {last}"
            )
