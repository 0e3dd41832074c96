"""NoOps: a leader writes one only while all that it has appended is committed, never while commits are stuck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metadata_log.format.batch import parse_header
from metadata_log.offsets import Offset
from metadata_log.storage.file_log import FileLog
from metadata_log.storage.no_ops import is_no_op
from metadata_log.storage.write_ops import Append
from quorum.node.core.ports import DiskJob, LogWrite
from tests.simulation.checkers.broken import Broken

if TYPE_CHECKING:
    from tests.simulation.node import Node


def check_no_ops(node: Node, jobs: Sequence[DiskJob]) -> None:
    """A turn hands its writes to the disk. Its own NoOp follows nothing that is not committed yet."""
    machine = node.executor.machine
    if not machine.is_leader:
        return
    for job in jobs:
        for step in job.op.steps if isinstance(job, LogWrite) else ():
            if not isinstance(step, Append):
                continue
            header = parse_header(step.data, 0)
            if not is_no_op(step.data, 0, header) or header.partition_leader_epoch != machine.epoch:
                continue
            node.world.note("an idle leader writes a NoOp")
            if machine.high_watermark < header.base_offset:
                raise Broken(
                    "no_ops",
                    f"leader {node.node_id} appends a NoOp at {header.base_offset}, "
                    f"and only what is before {machine.high_watermark} is committed",
                )


def end_without_no_ops(log: FileLog, begin: Offset) -> Offset:
    """Return the end of the last batch from `begin` on that is no NoOp; else `begin`, or where the log begins."""
    end = begin = max(begin, log.start_offset)
    for header, data in log.iter_from(begin):
        if not is_no_op(data, 0, header):
            end = header.next_offset
    return end
