"""What can be read of what was named, and what cannot: a closed node hides no other.

Decides: which nodes are left out, and how that is told. Must not know: what is read of the others.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from metadata_log.errors import CorruptFileError, MetadataLogError
from metadata_log.files.links import remedy
from metadata_log.tools.findings.finding import Finding, finding, why_unreadable
from metadata_log.tools.read.consistent_read import directory_signature
from metadata_log.tools.read.sources import NodeSource, SharedLogError, Sources, Unread, find_sources


def readable_sources(paths: Iterable[Path]) -> Sources:
    """The nodes and files at these paths that can be read, and in `unread` those that cannot, as long as any can.

    Raises:
        SourceError: a path does not exist, or nothing of the kind is there.
        OSError, CorruptFileError: no metadata log can be read.
    """
    sources = only_readable(find_sources(paths, past_unreadable=True))
    is_left = bool(sources.files) or any(node.metadata is not None for node in sources.nodes)
    if sources.unread and not is_left:
        raise sources.unread[0].error
    return sources


def only_readable(sources: Sources) -> Sources:
    """Without the nodes whose metadata directory cannot be looked into, or is another's, and without disks that cannot:
    they are `unread`."""
    nodes: list[NodeSource] = []
    unread = list(sources.unread)
    for node in _each_log_once(sources.nodes, unread):
        try:
            if node.metadata is not None:
                directory_signature(node.metadata)
        except OSError as error:
            unread.append(Unread(path=node.metadata or node.path, error=error, node_id=node.node_id))
        else:
            nodes.append(_with_listable_disks(node, unread))
    return msgspec.structs.replace(sources, nodes=tuple(nodes), unread=tuple(unread))


def _each_log_once(nodes: Sequence[NodeSource], unread: list[Unread]) -> list[NodeSource]:
    """Return the nodes, of several with one metadata log only that which has it without a link, with the most disks.

    Another with a disk that the first has not is `unread`: one log is no two witnesses.
    """
    holders: dict[tuple[int, int], NodeSource] = {}
    for node in sorted(nodes, key=lambda node: (_is_by_link(node), -len(node.log_directories))):
        place = _place_of(node)
        if place is not None:
            holders.setdefault(place, node)
    kept: list[NodeSource] = []
    for node in nodes:
        place = _place_of(node)
        holder = node if place is None else holders.get(place, node)
        if holder is node or node.metadata is None:
            kept.append(node)
        elif _disks_of(node) and not _disks_of(node) & _disks_of(holder):
            what = f"it leads to the metadata log of {holder.label}, {holder.metadata}: one log counts once"
            unread.append(Unread(path=node.path, error=SharedLogError(str(node.metadata), what), node_id=node.node_id))
    return kept


def _is_by_link(node: NodeSource) -> bool:
    return node.metadata is not None and os.path.islink(node.metadata)


def _disks_of(node: NodeSource) -> set[Path]:
    return {disk.path.resolve() for disk in node.log_directories}


def _place_of(node: NodeSource) -> tuple[int, int] | None:
    """Return the device and the inode of its metadata directory; None without one, or where nothing says."""
    try:
        found = None if node.metadata is None else node.metadata.stat()
    except OSError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)


def _with_listable_disks(node: NodeSource, unread: list[Unread]) -> NodeSource:
    kept = []
    for disk in node.log_directories:
        try:
            with contextlib.suppress(FileNotFoundError):
                os.listdir(disk.path)
        except OSError as error:
            unread.append(Unread(path=disk.path, error=error, node_id=node.node_id))
        else:
            kept.append(disk)
    return msgspec.structs.replace(node, log_directories=tuple(kept))


def finding_of(one: Unread) -> Finding:
    """The finding that it cannot be read."""
    left = "all else is judged without it"
    if isinstance(one.error, SharedLogError):
        return finding("same_log_twice", f"{one.error.what}; {left}", node_id=one.node_id, file=one.error.path)
    if isinstance(one.error, CorruptFileError):
        return finding("corrupt_file", f"{one.error.what}; {left}", node_id=one.node_id, file=one.error.path)
    error = one.error
    at = "" if error.filename in (None, str(one.path)) else f" ({error.filename})"
    meaning = f"{why_unreadable(error)}{at}; {left}"
    return finding("unreadable_file", meaning, node_id=one.node_id, file=str(one.path))


def why_unread(error: OSError | MetadataLogError) -> str:
    """Why it cannot be read, and what to do, in words that name the file."""
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    todo = remedy(error)
    return f"{error.filename}: {error.strerror}{'' if todo is None else f': {todo}'}"
