"""Bits that flip on a node's disk, and the bytes that were written there.

Decides: what the simulator then no longer expects of that disk. Must not know: when, and which bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.node import Node


def rot(node: Node, path: str, position: int, mask: int) -> None:
    """Flip bits of a file permanently."""
    node.is_rotten, node.durable.is_trusted = True, False
    node.files.rot(path, position, mask)
    node.flipped.append((path, position, mask))


@contextmanager
def as_written(node: Node) -> Iterator[None]:
    """Restore the written bytes meanwhile: a checker that met flipped bits would prove nothing about the node."""
    flipped = [one for one in node.flipped if node.files.exists(one[0])]
    for one in flipped:
        node.files.rot(*one)
    try:
        yield
    finally:
        for one in flipped:
            node.files.rot(*one)
