"""An image as `kafka-metadata-shell ... tree /image` prints it: what Kafka's own replay made of the same bytes.

Not compared: quotas (the shell prints each twice), delegation tokens (its text is garbled), ZooKeeper's migration.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from metadata_log.image import MetadataImage
from metadata_log.tools.shell.image_tree import Node, image_tree

Tree = dict[tuple[str, ...], str]
"""Leaf by path; an inner node without children has no entry."""


def read_tree(path: Path) -> Tree:
    """What the shell printed, of the parts that are compared; empty when it printed before it had read the file."""
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
    """Kafka 3.9 knows no cordoned directories; 4.3 wraps the metadata.version. A producer id of -1 is none."""
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
    """The same parts of our image, in the same words."""
    leaves = dict(_leaves({"image": image_tree(image)}, ()))
    del leaves["image", "provenance"]
    return {path: _as_in_4_3(leaf) for path, leaf in leaves.items() if _is_compared(path) and leaf != "-1"}


def provenance_of(image: MetadataImage) -> str:
    """The leaf that says where the image ends. (Of a checkpoint, the shell gives the file's own offsets.)"""
    return str(image_tree(image)["provenance"])


def _leaves(node: Node, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(node, str):
        yield path, node
        return
    for name in node:
        yield from _leaves(node[name], (*path, name))
