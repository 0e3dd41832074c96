"""High watermark never back: within one process it only rises, and it never passes the end of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers.broken import Broken

if TYPE_CHECKING:
    from tests.simulation.node import Node


def check_high_watermark(node: Node, before: int, after: int) -> None:
    """A process's has moved; `before` is -1 when the process is new."""
    if after < before:
        raise Broken("high_watermark", f"node {node.node_id} goes back from {before} to {after}")
    end = node.executor.machine.log_end_offset
    if after > end:
        raise Broken("high_watermark", f"node {node.node_id} says {after}, its log ends at {end}")
