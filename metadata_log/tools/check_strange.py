"""Directories on nodes' disks that keep the node from starting.

Decides: on whose disks they matter. Must not know: what is in them, and which nodes are brokers. Controllers do not
look at what else stands beside their log but their lock, so that the others are told of brokers only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from metadata_log.directory.lock import LOCK_FILE
from metadata_log.tools.findings import Finding, finding
from metadata_log.tools.partition_directories import strange_directories
from metadata_log.tools.sources import NodeSource

_NO_LOCK: Final = (
    "find out who made it, and remove it while the node is stopped: as it starts the node makes the file in its place"
)


def check_strange(nodes: Sequence[NodeSource], brokers: Sequence[NodeSource]) -> Iterator[Finding]:
    """A finding for each directory that is no partition's, by its name; `brokers`: those of the nodes that are."""
    for node in nodes:
        is_broker = node in brokers
        for disk in () if node.is_bare else node.log_directories:
            for path in strange_directories(disk):
                if path.name == LOCK_FILE:
                    what = "a directory, where a node makes the file that it locks: it does not start"
                    yield finding("strange_directory", what, node_id=node.node_id, file=str(path), advice=_NO_LOCK)
                elif is_broker:
                    what = (
                        f"{path.name!r} is no name of a topic and a partition: the broker does not start with it in "
                        "one of log.dirs"
                    )
                    yield finding("strange_directory", what, node_id=node.node_id, file=str(path))
