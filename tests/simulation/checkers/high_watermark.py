"""High watermark never back: within one process it only rises, and it never passes the end of the log. A leader
raises it only to where a record of its own epoch ends (Raft 5.4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers.invariant_failure import InvariantFailure

if TYPE_CHECKING:
    from tests.simulation.node import Node


def check_high_watermark(node: Node, before: int, after: int) -> None:
    """A process's has moved; `before` is -1 when the process is new."""
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
