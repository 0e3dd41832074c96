"""Directories on nodes' disks that keep the node from starting.

Decides: on whose disks they matter. Must not know: what is in them. Controllers do not look at what else stands beside
their log but their lock, so that the others are told of brokers only: nodes that are registered as such, or hold
partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from metadata_log.directory_lock import LOCK_FILE
from metadata_log.image import MetadataImage
from metadata_log.tools.findings import Finding, finding
from metadata_log.tools.partition_directories import HeldPartitions, strange_directories
from metadata_log.tools.sources import NodeSource

_NO_LOCK: Final = (
    "find out who made it, and remove it while the node is stopped: as it starts the node makes the file in its place"
)


def check_strange(nodes: Sequence[NodeSource], held: HeldPartitions, image: MetadataImage | None) -> Iterator[Finding]:
    """A finding for each directory that is no partition's, by its name."""
    for node in nodes:
        is_broker = _is_broker(node, held, image)
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


def _is_broker(node: NodeSource, held: HeldPartitions, image: MetadataImage | None) -> bool:
    if any(held.get(disk.path) for disk in node.log_directories):
        return True
    return image is not None and node.node_id is not None and node.node_id in image.cluster.brokers
