"""An image as `kafka-metadata-shell ... tree /image` prints it: the result of Kafka's own replay of the same bytes.

Not compared: quotas (the shell prints each twice), delegation tokens (its text is garbled), ZooKeeper's migration.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from metadata_log.image import MetadataImage
from metadata_log.tools.shell.image_tree import Node, image_tree

Tree = dict[tuple[str, ...], str]
"""Leaves by path; an inner node without children has no entry."""


def read_tree(path: Path) -> Tree:
    """Return the compared parts of the shell's output; empty if the shell printed before it had read the file."""
    tree: Tree = {}
    above: list[str] = []
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        depth = _depth(line)
        if _depth(following) <= depth and not line.endswith(":"):
            tree[tuple(above[:depth])] = line.strip()
        above[depth:] = [line.strip().removesuffix(":")]
    return {path: _as_in_4_3(leaf) for path, leaf in tree.items() if _is_compared(path) and leaf != "-1"}


def _as_in_4_3(leaf: str) -> str:
    """Return a leaf in the form of Kafka 4.3.

    Kafka 3.9 has no cordoned directories; 4.3 wraps the metadata.version; a producer id of -1 means none.
    """
    if leaf.startswith("BrokerRegistration(") and "cordonedDirectories=" not in leaf:
        return f"{leaf.removesuffix(')')}, cordonedDirectories=null)"
    return leaf.removeprefix("Optional[").removesuffix("]") if leaf.startswith("Optional[") else leaf


def _depth(line: str) -> int:
    return (len(line) - len(line.lstrip())) // 2


def _is_compared(path: tuple[str, ...]) -> bool:
    return (
        path[0] == "image"
        and path[1] not in ("clientQuotas", "delegationToken")
        and path[-1] not in ("zkMigrationState", "isMigratingZkBroker")
    )


def tree_of(image: MetadataImage) -> Tree:
    """Return the same parts of this project's image in the same form."""
    leaves = dict(_leaves({"image": image_tree(image)}, ()))
    del leaves["image", "provenance"]
    return {path: _as_in_4_3(leaf) for path, leaf in leaves.items() if _is_compared(path) and leaf != "-1"}


def provenance_of(image: MetadataImage) -> str:
    """Return the leaf with the image's end. (For a checkpoint, the shell prints the file's own offsets.)"""
    return str(image_tree(image)["provenance"])


def _leaves(node: Node, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(node, str):
        yield path, node
        return
    for name in node:
        yield from _leaves(node[name], (*path, name))
