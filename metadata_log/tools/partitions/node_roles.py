"""The nodes that are brokers, by the files on their disks and the log.

Decides: what makes a node a broker. Must not know: what a broker must hold. A directory with a partition's name, such
as `.Trash-0`, does not turn a controller into a broker: a controller ignores it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from metadata_log.image import MetadataImage
from metadata_log.tools.partitions.directories import HeldPartitions
from metadata_log.tools.read.disks import OFFSET_FILES
from metadata_log.tools.read.sources import NodeSource


def brokers_among(
    nodes: Sequence[NodeSource], held: HeldPartitions, image: MetadataImage | None, voter_ids: Collection[int]
) -> Iterator[NodeSource]:
    """Yield the nodes that are registered as brokers or have a broker's files, and those with partitions that are not
    known to be controllers."""
    for node in nodes:
        has_partitions = any(held.get(disk.path) for disk in node.log_directories)
        if _is_broker(node, image) or (has_partitions and not _is_controller(node, image, voter_ids)):
            yield node


def is_only_controller(node: NodeSource, image: MetadataImage | None, voter_ids: Collection[int]) -> bool:
    """Return True if the node is known as a controller, and not as a broker. Then it holds no partitions."""
    return _is_controller(node, image, voter_ids) and not _is_broker(node, image)


def _is_broker(node: NodeSource, image: MetadataImage | None) -> bool:
    return _is_registered(node, image) or _has_brokers_files(node)


def _is_registered(node: NodeSource, image: MetadataImage | None) -> bool:
    return image is not None and node.node_id is not None and node.node_id in image.cluster.brokers


def _is_controller(node: NodeSource, image: MetadataImage | None, voter_ids: Collection[int]) -> bool:
    is_registered = image is not None and node.node_id is not None and node.node_id in image.cluster.controllers
    return is_registered or node.node_id in voter_ids


def _has_brokers_files(node: NodeSource) -> bool:
    for disk in node.log_directories:
        with suppress(OSError):  # `only_readable` reports a disk that cannot be listed
            if not frozenset(OFFSET_FILES).isdisjoint(os.listdir(disk.path)):
                return True
    return False
