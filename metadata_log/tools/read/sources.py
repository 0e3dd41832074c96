"""The nodes, logs and files at the paths that a user names.

Decides: what counts as a node, a log directory, a metadata directory or a single file. Must not know: their content,
and the nodes' roles in the quorum. It only reads, and takes no lock: the nodes may be running.

A path may be a segment or a checkpoint, a metadata directory (`__cluster_metadata-0`, or an export), or a log directory
(one disk). It may also be a directory that holds the log directories of one node, or several nodes.
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
from metadata_log.directory.meta_properties import stated_node_id
from metadata_log.errors import CorruptFileError, WrongUseError
from metadata_log.files.links import exists, is_loop
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import read_small_file
from metadata_log.ids import ReplicaKey
from metadata_log.tools.new_files import naming
from metadata_log.tools.read.disks import is_brokers_disk, is_topics_partition
from metadata_log.tools.read.manifest import RedactedExportError, is_export, read_manifest
from metadata_log.tools.read.peer_names import id_among_peers

_DATA_FILE: Final = re.compile(r"\d{20}(\.log|-\d{10}\.checkpoint)|bootstrap\.checkpoint", re.ASCII)
_DEPTH: Final = 4


class SourceError(WrongUseError):
    """A path does not lead to a metadata log or a node's directory."""


class SharedLogError(CorruptFileError):
    """Another node's directory leads to the same metadata log, which must not count as two replicas."""


class LogDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """One disk of a node. If `identity` is missing, `error` is the reason, or None if there is no meta.properties.

    `stated_node_id`: the node id in a corrupt meta.properties.
    """

    path: Path
    identity: MetaProperties | None
    error: OSError | CorruptFileError | None = None
    stated_node_id: int | None = None


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A path that cannot be read. `node_id`: by its path among its peers' paths, or None."""

    path: Path
    error: OSError | CorruptFileError
    node_id: int | None = None

    @property
    def label(self) -> str:
        """Return the name for sentences: `node 3`, or the path."""
        return str(self.path) if self.node_id is None else f"node {self.node_id}"


class NodeSource(msgspec.Struct, frozen=True, kw_only=True):
    """One node's files, or one replica of its metadata log.

    Attributes:
        path: where it was found.
        node_id: by its meta.properties or manifest, otherwise by its path among its peers' paths; None if unknown.
        is_named_by_path: the node id comes from the path; no file states it.
        metadata: the directory of its metadata log; None if the disk with it was not named.
        log_directories: its disks. A disk without meta.properties counts if it has a metadata directory or a broker's
            files.
        high_watermark, static_voters: from an export's manifest.
        is_bare: the directory holds no file of a node. is_export: its node may have gone on since.
    """

    path: Path
    node_id: int | None
    metadata: Path | None
    log_directories: tuple[LogDirectory, ...] = ()
    high_watermark: int | None = None
    static_voters: tuple[ReplicaKey, ...] = ()
    is_named_by_path: bool = False
    is_bare: bool = False
    is_export: bool = False

    @property
    def identity(self) -> MetaProperties | None:
        """Return the identity of the disk with the metadata log, otherwise of the first disk that has one, or None."""
        for disk in self.log_directories:
            if self.metadata is not None and self.metadata.parent == disk.path and disk.identity is not None:
                return disk.identity
        return next((disk.identity for disk in self.log_directories if disk.identity is not None), None)

    @property
    def label(self) -> str:
        """Return the name for sentences: `node 3`, or the path."""
        return str(self.path) if self.node_id is None else f"node {self.node_id}"


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """The sources that were found. `files`: single segments and checkpoints that were named. `parents`: named
    directories that hold several nodes."""

    nodes: tuple[NodeSource, ...] = ()
    files: tuple[Path, ...] = ()
    unread: tuple[Unread, ...] = ()
    parents: tuple[Path, ...] = ()


def find_sources(paths: Iterable[Path], *, past_unreadable: bool = False, with_bare: bool = False) -> Sources:
    """Return the nodes at these paths by id, those without one last, and the files in their order.

    Disks of one node that are named one by one are joined.

    Two options apply if at least one source can be read. With `past_unreadable`, a node that cannot be read is in
    `unread`. With `with_bare`, an empty directory that was named, or has a node's name among its peers, is a node
    without files.

    Raises:
        SourceError: a path does not exist, or holds no source.
        OSError, CorruptFileError: a directory cannot be read, or an export's manifest is invalid.
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
    joined, lost = _named_by_path(_joined([*nodes, *map(_bare, dict.fromkeys(bare))]), unread)
    return Sources(
        nodes=tuple(sorted(joined, key=_by_number)),
        files=tuple(dict.fromkeys(files)),
        unread=lost,
        parents=tuple(search.parents),
    )


class _Search:
    def __init__(self) -> None:
        self.nodes: list[NodeSource] = []
        self.files: list[Path] = []
        self.unread: list[Unread] = []
        self.bare: list[Path] = []
        self.parents: list[Path] = []

    def look_at(self, path: Path, *, among_nodes: bool) -> None:
        """Add the sources at a path. `among_nodes`: empty directories with a node's name among its peers are added to
        `bare`.

        Raises:
            SourceError: the path does not exist, or is a file of another kind or an export without credentials.
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


def _named_by_path(
    nodes: Sequence[NodeSource], unread: Sequence[Unread]
) -> tuple[tuple[NodeSource, ...], tuple[Unread, ...]]:
    """Return the sources; those without a node id in their files get the one that their paths show."""
    peers = {node.path: node.node_id for node in nodes if node.node_id is not None}
    named = []
    for node in nodes:
        stated = None if node.node_id is not None or not node.log_directories else id_among_peers(node.path, peers)
        named.append(node if stated is None else msgspec.structs.replace(node, node_id=stated, is_named_by_path=True))
    lost = [msgspec.structs.replace(one, node_id=id_among_peers(one.path, peers)) for one in unread]
    return tuple(named), tuple(lost)


def require_one_cluster(nodes: Iterable[NodeSource], where: str) -> None:
    """Raise unless the nodes' logs may be those of one cluster.

    Raises:
        SourceError: their meta.properties or manifests name several clusters.
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
    """Yield the node that `path` is, or the nodes below it, from the highest level that has any.

    Unreadable paths are added to `unread`, and empty directories with a node's name among its peers to `bare`. A link
    may lead to a node, but is not searched for nodes below it: it may lead above `path`, to the whole file system.
    """
    try:
        own = _node_of(path)
    except OSError:
        own = None  # one unreadable child is reported below; if `path` itself is unreadable, `iterdir` raises
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
    """Return the node that has this export, metadata directory, log directory or parent of log directories, or None."""
    if is_export(path):
        return _export(path)
    if path.name == METADATA_DIRECTORY or (_holds_segments(path) and not is_topics_partition(OsFiles(), str(path))):
        return _node(path, [_log_directory(path.parent)] if _is_log_directory(path.parent) else [], path)
    if _is_log_directory(path):
        return _node(path, [_log_directory(path)])
    return _node_of_disks(path)


def _node_of_disks(path: Path) -> NodeSource | None:
    """Return the node whose log directories are in this directory, or None.

    Raises:
        OSError: a child that may be one of its disks cannot be searched.
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
    with naming(path, hidden=path):  # name the directory: the file may not exist in it
        is_disk = (path / META_PROPERTIES_FILE).exists() or (path / METADATA_DIRECTORY).is_dir()
        is_disk = is_disk or is_loop(path / META_PROPERTIES_FILE) or is_loop(path / METADATA_DIRECTORY)
    return is_disk or is_brokers_disk(OsFiles(), str(path))


def _log_directory(path: Path) -> LogDirectory:
    try:
        if not exists(path / META_PROPERTIES_FILE):
            return LogDirectory(path=path, identity=None)
        return LogDirectory(path=path, identity=read_meta_properties(OsFiles(), str(path)))
    except CorruptFileError as error:
        return LogDirectory(path=path, identity=None, error=error, stated_node_id=_stated_node_id(error.path))
    except OSError as error:
        return LogDirectory(path=path, identity=None, error=error)


def _stated_node_id(meta_properties: str) -> int | None:
    try:
        return stated_node_id(read_small_file(OsFiles(), meta_properties), meta_properties)
    except CorruptFileError:
        return None


def _loop(path: Path) -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _is_one_node(disks: Sequence[Path]) -> bool:
    """Return True if sibling log directories may be one node's: at most one of them has a metadata log."""
    return sum((disk / METADATA_DIRECTORY).is_dir() for disk in disks) <= 1


def _is_of_two_logs(path: Path) -> bool:
    """Return True if several log directories in `path` have a metadata log, and all that state a node id state the same
    one."""
    with_logs = [child for child in path.iterdir() if child.is_dir() and (child / METADATA_DIRECTORY).is_dir()]
    stated = {_node(disk, [_log_directory(disk)]).node_id for disk in with_logs}
    return len(with_logs) > 1 and len(stated - {None}) == 1


def _node(path: Path, disks: list[LogDirectory], metadata: Path | None = None) -> NodeSource:
    if metadata is None:
        places = [disk.path / METADATA_DIRECTORY for disk in disks]
        metadata = next((place for place in places if place.is_dir() or is_loop(place)), None)
    source = NodeSource(path=path, node_id=None, metadata=metadata, log_directories=tuple(disks))
    identity = source.identity
    if identity is not None:
        return msgspec.structs.replace(source, node_id=int(identity.node_id))
    stated = {disk.stated_node_id for disk in disks} - {None}
    return msgspec.structs.replace(source, node_id=stated.pop() if len(stated) == 1 else None)


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
        is_export=True,
    )


def _joined(nodes: Sequence[NodeSource]) -> list[NodeSource]:
    """Return each node once. A disk without a metadata log joins the only node of its id that has one."""
    unique: dict[tuple[str | None, tuple[str, ...]], NodeSource] = {}
    for node in nodes:
        key = (
            None if node.metadata is None else os.path.realpath(node.metadata),
            tuple(os.path.realpath(disk.path) for disk in node.log_directories),
        )
        unique.setdefault(key, node)
    result = [node for node in unique.values() if node.metadata is not None]
    for node in (one for one in unique.values() if one.metadata is None):
        owners = [index for index, other in enumerate(result) if other.node_id == node.node_id]
        if node.node_id is None or len(owners) != 1:
            result.append(node)
            continue
        owner = result[owners[0]]
        disks = (*owner.log_directories, *node.log_directories)
        result[owners[0]] = msgspec.structs.replace(owner, log_directories=disks)
    return result
