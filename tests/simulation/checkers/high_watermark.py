"""A high watermark never falls within one process, and never passes the end of the log.

A leader raises it only to the end of a record of its present epoch (Raft 5.4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers.invariant_failure import InvariantFailure

if TYPE_CHECKING:
    from tests.simulation.node import Node


def check_high_watermark(node: Node, before: int, after: int) -> None:
    """Check a process's new high watermark; `before` is -1 for a new process."""
    if after < before:
        raise InvariantFailure("high_watermark", f"node {node.node_id} goes back from {before} to {after}")
    machine = node.executor.machine
    if after > machine.log_end_offset:
        raise InvariantFailure(
            "high_watermark", f"node {node.node_id} says {after}, its log ends at {machine.log_end_offset}"
        )
    if before >= 0 and machine.is_leader:
        epoch = node.executor.log.epochs.epoch_at(after - 1)  # type: ignore[arg-type]
        if epoch != machine.epoch:
            raise InvariantFailure(
                "high_watermark", f"leader {node.node_id} of {machine.epoch} commits a record of {epoch} itself"
            )
