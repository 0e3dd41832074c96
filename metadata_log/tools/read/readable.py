"""The readable and unreadable sources among the named paths: one unreadable node must not hide the others.

Decides: which nodes are left out, how the report says so, and how it names an unusable meta.properties. Must not know:
the content of the others.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.errors import CorruptFileError, MetadataLogError
from metadata_log.files.links import remedy
from metadata_log.tools.findings.finding import Finding, finding, unreadable
from metadata_log.tools.read.consistent_read import directory_signature
from metadata_log.tools.read.sources import LogDirectory, NodeSource, SharedLogError, Sources, Unread, find_sources


def readable_sources(paths: Iterable[Path]) -> Sources:
    """Return the readable nodes and files at these paths. If any is readable, the others are in `unread`.

    Raises:
        SourceError: a path does not exist, or holds no source.
        OSError, CorruptFileError: no metadata log can be read.
    """
    sources = only_readable(find_sources(paths, past_unreadable=True))
    is_left = bool(sources.files) or any(node.metadata is not None for node in sources.nodes)
    if sources.unread and not is_left:
        raise sources.unread[0].error
    return sources


def only_readable(sources: Sources) -> Sources:
    """Return the sources without nodes and disks that cannot be listed, and without a second path to one log; these are
    in `unread`."""
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
    """Return the nodes, one for each metadata log: the one that has it without a link, then the one with the most
    disks.

    One log must not count as two replicas. A further node is `unread` if it has disks, and none of them is the
    holder's.
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
    """Return device and inode of the node's metadata directory, or None if it has none or cannot be looked at."""
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
    """Return the finding for an unreadable source."""
    left = "all else is judged without it"
    if isinstance(one.error, SharedLogError):
        return finding("same_log_twice", f"{one.error.what}; {left}", node_id=one.node_id, file=one.error.path)
    if isinstance(one.error, CorruptFileError):
        return finding("corrupt_file", f"{one.error.what}; {left}", node_id=one.node_id, file=one.error.path)
    error = one.error
    at = "" if error.filename in (None, str(one.path)) else f" ({error.filename})"
    return unreadable(error, str(one.path), node_id=one.node_id, more=f"{at}; {left}")


def unusable_identities(nodes: Iterable[NodeSource]) -> Iterator[Finding]:
    """Yield a finding for each meta.properties that is there and does not say whose the disk is."""
    for node in nodes:
        for disk in node.log_directories:
            if disk.error is not None:
                yield unusable_identity(node, disk, disk.error)


def unusable_identity(node: NodeSource, disk: LogDirectory, error: OSError | CorruptFileError) -> Finding:
    """Return the finding that the meta.properties of this disk says nothing usable."""
    file, whose = str(disk.path / META_PROPERTIES_FILE), whose_disk(node, disk)
    if isinstance(error, CorruptFileError):
        return finding("corrupt_file", f"{error.what}; {whose}", node_id=node.node_id, file=file)
    return unreadable(error, file, node_id=node.node_id, more=f"; {whose}")


def whose_disk(node: NodeSource, disk: LogDirectory) -> str:
    """Return half a sentence on the node of a directory without a readable `meta.properties`, and the proof."""
    if node.node_id is None:
        return "nothing says whose it is: its node is unknown"
    if node.is_named_by_path:
        return f"by its path beside those of its peers it is node {node.node_id}'s"
    if disk.stated_node_id == node.node_id:
        return f"the id in it says node {node.node_id}"
    return f"it stands among the disks of node {node.node_id}"


def why_unread(error: OSError | MetadataLogError) -> str:
    """Return the reason why the file in the error cannot be read, with a remedy if one is known."""
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    todo = remedy(error)
    return f"{error.filename}: {error.strerror}{'' if todo is None else f': {todo}'}"
