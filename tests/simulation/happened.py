"""Counts the effects of faults, so that a campaign shows that each is met.

Decides: what a power cut has taken from a disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.simulation.node import Node

EFFECTS: Final = (
    "a process is killed",
    "a process dies between two effects",
    "a process dies within a call of its files",
    "a machine loses its power",
    "unsynced bytes are lost",
    "a write is torn",
    "a process stops cleanly",
    "a process wakes up after more than a second",
    "a message is dropped",
    "a message is cut off",
    "a message comes twice",
    "a message overtakes another",
    "a connection is refused",
    "a sync takes more than 100 ms",
    "a sync or another call fails",
    "a disk is full",
    "corruption is refused at the start",
    "corruption is refused by a reader",
    "a corrupt snapshot is not sent",
    "a clock leaps",
    "a clock runs at another rate",
    "a wall clock is set",
    "an epoch has a leader",
    "a log is cut",
    "a snapshot is taken",
    "a snapshot is installed",
    "leadership is handed over",
    "the voters change",
    "a disk is replaced",
    "kraft.version is raised",
    "another quorum answers",
    "an agent holds",
)
"""Each happens in the first scenarios; a test of the campaign checks it."""


def cut_power(node: Node) -> None:
    """Let the machine's disk lose what it may, and count what it has lost."""
    before = [(inode, bytes(inode.durable), tuple(inode.pending)) for inode in node.media.now.values() if inode.pending]
    node.files.crash(node.world.chance.getrandbits(64))
    for inode, durable, pending in before:
        content, wholes = bytearray(durable), [durable]
        for change in pending:
            change.apply(content)
            wholes.append(bytes(content))
        left = bytes(inode.durable)
        if left != wholes[-1]:
            node.world.note("unsynced bytes are lost")
        if left not in wholes:
            node.world.note("a write is torn")
