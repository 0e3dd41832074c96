"""Which nodes, logs and files there are at the paths that a user names.

Decides: what is a node, a log directory, a metadata directory or a single file. Must not know: what they hold, and
other nodes' place in the quorum. Reads only, and takes no lock: the nodes may be running.

A path may be a segment or a checkpoint, a metadata directory (`__cluster_metadata-0`, or an export), a log directory
(one disk), a node's directory with its log directories in it, or a directory that holds several nodes.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY, MetaProperties, read_meta_properties
from metadata_log.directory.meta_properties import told_node_id
from metadata_log.errors import CorruptFileError, WrongUseError
from metadata_log.files.links import exists, is_loop
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import read_small_file
from metadata_log.ids import ReplicaKey
from metadata_log.tools.findings.finding import why_unreadable
from metadata_log.tools.new_files import naming
from metadata_log.tools.read.disks import is_brokers_disk, is_topics_partition
from metadata_log.tools.read.manifest import RedactedExportError, is_export, read_manifest
from metadata_log.tools.read.peer_names import id_among_peers

_DATA_FILE: Final = re.compile(r"\d{20}(\.log|-\d{10}\.checkpoint)|bootstrap\.checkpoint", re.ASCII)
_DEPTH: Final = 4


class SourceError(WrongUseError):
    """A path does not lead to a metadata log or a node's directory."""


class SharedLogError(CorruptFileError):
    """Another node's directory leads to the same metadata log: one log is no two witnesses."""


class LogDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """One disk of a node. `identity` None: `complaint` says why there is none that can be read, and `told_node_id` is
    what it says of its node all the same; `is_closed`: nothing of it could be read."""

    path: Path
    identity: MetaProperties | None
    complaint: str | None = None
    is_closed: bool = False
    told_node_id: int | None = None


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """What is at `path` cannot be read. `node_id`: of whom it is, where its path tells."""

    path: Path
    error: OSError | CorruptFileError
    node_id: int | None = None

    @property
    def label(self) -> str:
        """How it is called in sentences."""
        return str(self.path) if self.node_id is None else f"node {self.node_id}"


class NodeSource(msgspec.Struct, frozen=True, kw_only=True):
    """One node's files, or one copy of its metadata log.

    Attributes:
        path: where it was found.
        node_id: by its meta.properties or manifest, or by its path beside its peers'; None when nothing says.
        is_told_by_path: its files do not say.
        metadata: the directory of its metadata log; None where the disk with it was not given.
        log_directories: its disks, without meta.properties those that hold a metadata directory, or what brokers leave.
        high_watermark, static_voters: by an export's manifest.
        is_bare: nothing of a node is there.
    """

    path: Path
    node_id: int | None
    metadata: Path | None
    log_directories: tuple[LogDirectory, ...] = ()
    high_watermark: int | None = None
    static_voters: tuple[ReplicaKey, ...] = ()
    is_told_by_path: bool = False
    is_bare: bool = False

    @property
    def identity(self) -> MetaProperties | None:
        """That of the disk with the metadata log, else of the first that says."""
        for disk in self.log_directories:
            if self.metadata is not None and self.metadata.parent == disk.path and disk.identity is not None:
                return disk.identity
        return next((disk.identity for disk in self.log_directories if disk.identity is not None), None)

    @property
    def label(self) -> str:
        """How it is called in sentences."""
        return str(self.path) if self.node_id is None else f"node {self.node_id}"


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """What was found: `files` are single segments and checkpoints that were named as such, `parents` directories that
    hold several nodes, and were named in their place."""

    nodes: tuple[NodeSource, ...] = ()
    files: tuple[Path, ...] = ()
    unread: tuple[Unread, ...] = ()
    parents: tuple[Path, ...] = ()


def find_sources(paths: Iterable[Path], *, past_unreadable: bool = False, with_bare: bool = False) -> Sources:
    """The nodes at these paths by their ids, those without one last, and the files in their order.

    A node's disks that are named one by one are joined.

    As long as anything can be read, `past_unreadable`: nodes that cannot be are `unread`; `with_bare`: directories that
    hold nothing of a node, named or by their names among nodes, are nodes without anything.

    Raises:
        SourceError: there is no such path, or nothing of the kind is there.
        OSError: a directory cannot be read.
        CorruptFileError: an export's manifest cannot be right.
    """
    search = _Search()
    for path in paths:
        search.look_at(path, among_nodes=with_bare)
    nodes, files, unread, bare = search.nodes, search.files, search.unread, search.bare
    is_left = bool(nodes or files)
    if bare and not (with_bare and is_left):
        raise SourceError(
            f"{bare[0]} holds no metadata log: give a segment, a {METADATA_DIRECTORY}, a log directory, a node's "
            "directory that holds such, or an export"
        )
    if unread and not (past_unreadable and is_left):
        raise unread[0].error
    joined, lost = _told_by_path(_joined([*nodes, *map(_bare, dict.fromkeys(bare))]), unread)
    return Sources(
        nodes=tuple(sorted(joined, key=_by_number)),
        files=tuple(dict.fromkeys(files)),
        unread=lost,
        parents=tuple(search.parents),
    )


class _Search:
    """What was found so far, at any of the paths."""

    def __init__(self) -> None:
        self.nodes: list[NodeSource] = []
        self.files: list[Path] = []
        self.unread: list[Unread] = []
        self.bare: list[Path] = []
        self.parents: list[Path] = []

    def look_at(self, path: Path, *, among_nodes: bool) -> None:
        """Take what is at a path. `among_nodes`: directories named as nodes are, with nothing of one, are `bare`, too.

        Raises:
            SourceError: there is no such path, it is a file of another kind, or an export without credentials.
        """
        count = len(self.unread)
        try:
            if not exists(path):
                raise SourceError(f"{path} does not exist")
            if not path.is_dir():
                self.files.append(_data_file(path))
                return
            found = list(_nodes_at(path, _DEPTH, self.unread, self.bare if among_nodes else []))
        except RedactedExportError as error:
            raise SourceError(str(error)) from error
        except (OSError, CorruptFileError) as error:
            self.unread.append(Unread(path=path, error=error))
            return
        if not found and len(self.unread) == count:
            self.bare.append(path)
        if len(found) > 1:
            self.parents.append(path)
        self.nodes += found


def _by_number(node: NodeSource) -> tuple[bool, int]:
    return node.node_id is None, node.node_id or 0


def _told_by_path(
    nodes: Sequence[NodeSource], unread: Sequence[Unread]
) -> tuple[tuple[NodeSource, ...], tuple[Unread, ...]]:
    """With the ids that paths tell, of those whose files tell none."""
    peers = {node.path: node.node_id for node in nodes if node.node_id is not None}
    named = []
    for node in nodes:
        told = None if node.node_id is not None or not node.log_directories else id_among_peers(node.path, peers)
        named.append(node if told is None else msgspec.structs.replace(node, node_id=told, is_told_by_path=True))
    lost = [msgspec.structs.replace(one, node_id=id_among_peers(one.path, peers)) for one in unread]
    return tuple(named), tuple(lost)


def require_one_cluster(nodes: Iterable[NodeSource], where: str) -> None:
    """Let pass what may be taken for the logs of one cluster.

    Raises:
        SourceError: their meta.properties or manifests name several.
    """
    clusters: dict[str, list[str]] = {}
    for node in nodes:
        if node.identity is not None:
            clusters.setdefault(node.identity.cluster_id, []).append(str(node.path))
    if len(clusters) > 1:
        named = "; ".join(f"{cluster_id}: {', '.join(paths)}" for cluster_id, paths in sorted(clusters.items()))
        raise SourceError(f"{where} holds logs of {len(clusters)} clusters ({named}): name those of one")


def _data_file(path: Path) -> Path:
    if not path.is_file():
        raise SourceError(f"{path} is neither a file nor a directory: a pipe cannot be read twice, so save it first")
    if not _DATA_FILE.fullmatch(path.name):
        raise SourceError(
            f"{path} is neither a segment nor a checkpoint by its name: they are called 00000000000000000000.log and "
            "00000000000000000300-0000000001.checkpoint, after their offsets"
        )
    return path


def _nodes_at(path: Path, depth: int, unread: list[Unread], bare: list[Path]) -> Iterator[NodeSource]:
    """The node that `path` is, or those below it, the highest level that has any; what cannot be read is `unread`,
    and what has a node's name among them, and nothing of one, `bare`.

    A link may lead to a node, but is not searched for nodes below it: it may lead above `path`, and to all there is.
    """
    try:
        own = _node_of(path)
    except OSError:
        own = None  # one child may be unreadable, which is told of it below; if all is, listing it says so
    if own is not None:
        yield own
        return
    shown = sorted(child for child in path.iterdir() if not child.name.startswith("."))
    unread += [Unread(path=child, error=_loop(child)) for child in shown if is_loop(child)]
    children = [child for child in shown if child.is_dir()]
    nodes: list[NodeSource] = []
    below: list[Path] = []
    for child in children:
        try:
            node = _node_of(child)
        except RedactedExportError:
            continue  # it holds no log
        except (OSError, CorruptFileError) as error:
            unread.append(Unread(path=child, error=error))
            continue
        if node is None:
            below.append(child)
        else:
            nodes.append(node)
    yield from nodes
    peers = {node.path: node.node_id for node in nodes if node.node_id is not None}
    bare += [child for child in below if id_among_peers(child, peers) is not None and not _is_of_two_logs(child)]
    for child in filter(_is_of_two_logs, below) if nodes else ():
        yield from _nodes_at(child, 0, unread, bare)
    if not nodes and depth > 0:
        for child in (one for one in below if not one.is_symlink()):
            yield from _nodes_at(child, depth - 1, unread, bare)


def _node_of(path: Path) -> NodeSource | None:
    """The node whose export, metadata directory, log directory or log directories' parent this is."""
    if is_export(path):
        return _export(path)
    if path.name == METADATA_DIRECTORY or (_holds_segments(path) and not is_topics_partition(OsFiles(), str(path))):
        return _node(path, [_log_directory(path.parent)] if _is_log_directory(path.parent) else [], path)
    if _is_log_directory(path):
        return _node(path, [_log_directory(path)])
    return _node_of_disks(path)


def _node_of_disks(path: Path) -> NodeSource | None:
    """The node whose log directories are in this one.

    Raises:
        OSError: one that may be a disk of it cannot be looked into.
    """
    disks: list[Path] = []
    unread: OSError | None = None
    for child in sorted(path.iterdir()):
        try:
            if child.is_dir() and _is_log_directory(child):
                disks.append(child)
        except OSError as error:
            unread = error
    loops = [] if disks else [child for child in path.iterdir() if is_loop(child)]
    if loops and not any(child.is_dir() for child in path.iterdir()):
        raise _loop(loops[0])
    if disks and not _is_one_node(disks):
        return None
    if unread is not None:
        raise unread
    return _node(path, list(map(_log_directory, disks))) if disks else None


def _holds_segments(path: Path) -> bool:
    return any(_DATA_FILE.fullmatch(child.name) and child.name[0].isdigit() for child in path.iterdir())


def _is_log_directory(path: Path) -> bool:
    with naming(path, hidden=path):  # nobody knows whether there are such files in what cannot be looked into
        is_told = (path / META_PROPERTIES_FILE).exists() or (path / METADATA_DIRECTORY).is_dir()
        is_told = is_told or is_loop(path / META_PROPERTIES_FILE) or is_loop(path / METADATA_DIRECTORY)
    return is_told or is_brokers_disk(OsFiles(), str(path))


def _log_directory(path: Path) -> LogDirectory:
    try:
        if not exists(path / META_PROPERTIES_FILE):
            return LogDirectory(path=path, identity=None)
        return LogDirectory(path=path, identity=read_meta_properties(OsFiles(), str(path)))
    except CorruptFileError as error:
        return LogDirectory(path=path, identity=None, complaint=error.what, told_node_id=_told(error.path))
    except OSError as error:
        return LogDirectory(path=path, identity=None, complaint=why_unreadable(error), is_closed=True)


def _told(meta_properties: str) -> int | None:
    try:
        return told_node_id(read_small_file(OsFiles(), meta_properties), meta_properties)
    except CorruptFileError:
        return None


def _loop(path: Path) -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _is_one_node(disks: Sequence[Path]) -> bool:
    """Whether log directories side by side are one node's: at most one of them has a metadata log."""
    return sum((disk / METADATA_DIRECTORY).is_dir() for disk in disks) <= 1


def _is_of_two_logs(path: Path) -> bool:
    """Whether the log directories in this one are one node's, by those that say, and several have a metadata log."""
    with_logs = [child for child in path.iterdir() if child.is_dir() and (child / METADATA_DIRECTORY).is_dir()]
    told = {_node(disk, [_log_directory(disk)]).node_id for disk in with_logs}
    return len(with_logs) > 1 and len(told - {None}) == 1


def _node(path: Path, disks: list[LogDirectory], metadata: Path | None = None) -> NodeSource:
    if metadata is None:
        places = [disk.path / METADATA_DIRECTORY for disk in disks]
        metadata = next((place for place in places if place.is_dir() or is_loop(place)), None)
    source = NodeSource(path=path, node_id=None, metadata=metadata, log_directories=tuple(disks))
    identity = source.identity
    if identity is not None:
        return msgspec.structs.replace(source, node_id=int(identity.node_id))
    told = {disk.told_node_id for disk in disks} - {None}
    return msgspec.structs.replace(source, node_id=told.pop() if len(told) == 1 else None)


def _bare(path: Path) -> NodeSource:
    disk = LogDirectory(path=path, identity=None)
    return NodeSource(path=path, node_id=None, metadata=None, log_directories=(disk,), is_bare=True)


def _export(path: Path) -> NodeSource:
    manifest = read_manifest(path)
    return NodeSource(
        path=path,
        node_id=manifest.node_id,
        metadata=path,
        log_directories=(LogDirectory(path=path, identity=manifest.identity),),
        high_watermark=manifest.high_watermark,
        static_voters=manifest.static_voters,
    )


def _joined(nodes: Sequence[NodeSource]) -> list[NodeSource]:
    """Named twice is once, and disks without a metadata log belong to the one node of their id that has one."""
    unique: dict[tuple[str | None, tuple[str, ...]], NodeSource] = {}
    for node in nodes:
        key = (
            None if node.metadata is None else os.path.realpath(node.metadata),
            tuple(os.path.realpath(disk.path) for disk in node.log_directories),
        )
        unique.setdefault(key, node)
    result = [node for node in unique.values() if node.metadata is not None]
    for node in unique.values():
        if node.metadata is not None:
            continue
        owners = [index for index, other in enumerate(result) if other.node_id == node.node_id]
        if node.node_id is None or len(owners) != 1:
            result.append(node)
            continue
        owner = result[owners[0]]
        disks = (*owner.log_directories, *node.log_directories)
        result[owners[0]] = msgspec.structs.replace(owner, log_directories=disks)
    return result
