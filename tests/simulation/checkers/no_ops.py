"""A leader writes a NoOp only while all that it has appended is committed, never while commits are stuck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metadata_log.format.batch import parse_header
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.no_ops import is_no_op
from metadata_log.storage.write_ops import Append
from quorum.node.core.ports import DiskJob, LogWrite
from tests.simulation.checkers.invariant_failure import InvariantFailure

if TYPE_CHECKING:
    from tests.simulation.node import Node


class NoOps:
    """The NoOps of one scenario."""

    def __init__(self) -> None:
        self._written: set[tuple[Epoch, Offset]] = set()

    def on_write(self, node: Node, jobs: Sequence[DiskJob]) -> None:
        """Check the writes of a turn: its own NoOp follows no uncommitted record."""
        if not node.executor.machine.is_leader:
            return
        for job in jobs:
            for step in job.op.steps if isinstance(job, LogWrite) else ():
                if isinstance(step, Append):
                    self._on_append(node, step.data)

    def _on_append(self, node: Node, data: bytes) -> None:
        machine, header = node.executor.machine, parse_header(data, 0)
        if not is_no_op(data, 0, header) or header.partition_leader_epoch != machine.epoch:
            return
        node.world.note("an idle leader writes a NoOp")
        self._written.add((machine.epoch, header.base_offset))
        if machine.high_watermark < header.base_offset:
            raise InvariantFailure(
                "no_ops",
                f"leader {node.node_id} appends a NoOp at {header.base_offset}, "
                f"and only what is before {machine.high_watermark} is committed",
            )

    def end_without(self, epoch: Epoch, end: Offset) -> Offset:
        """Return where a leader's log ends without the NoOps of its epoch at its end."""
        while (epoch, end - 1) in self._written:
            end = Offset(end - 1)
        return end
