"""Which nodes, logs and files there are at the paths that a user names.

Decides: what is a node, a log directory, a metadata directory or a single file. Must not know: what they hold, and
other nodes' place in the quorum. Reads only, and takes no lock: the nodes may be running.

A path may be a segment or a checkpoint, a metadata directory (`__cluster_metadata-0`, or an export), a log directory
(one disk), a node's directory with its log directories in it, or a directory that holds several nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY, MetaProperties, read_meta_properties
from metadata_log.errors import CorruptFileError, WrongUseError
from metadata_log.meta_properties import told_node_id
from metadata_log.os_files import OsFiles
from metadata_log.tools.manifest import MANIFEST_FILE, read_manifest
from metadata_log.tools.peer_names import id_among_peers

_DATA_FILE: Final = re.compile(r"\d{20}(\.log|-\d{10}\.checkpoint)|bootstrap\.checkpoint", re.ASCII)
_DEPTH: Final = 4


class SourceError(WrongUseError):
    """A path does not lead to a metadata log or a node's directory."""


class LogDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """One disk of a node. `identity` None: `complaint` says why there is none that can be read, and `told_node_id` is
    what it says of its node all the same."""

    path: Path
    identity: MetaProperties | None
    complaint: str | None = None
    told_node_id: int | None = None


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """What is at `path` cannot be read. `node_id`: of whom it is, where its path tells."""

    path: Path
    error: OSError | CorruptFileError
    node_id: int | None = None


class NodeSource(msgspec.Struct, frozen=True, kw_only=True):
    """One node's files, or one copy of its metadata log.

    Attributes:
        path: where it was found.
        node_id: by its meta.properties or manifest, or by its path beside its peers'; None when nothing says.
        is_told_by_path: its files do not say.
        metadata: the directory of its metadata log; None where the disk with it was not given.
        log_directories: its disks, without meta.properties those that hold a metadata directory.
        high_watermark: by an export's manifest.
    """

    path: Path
    node_id: int | None
    metadata: Path | None
    log_directories: tuple[LogDirectory, ...] = ()
    high_watermark: int | None = None
    is_told_by_path: bool = False

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
    """What was found: `files` are single segments and checkpoints that were named as such."""

    nodes: tuple[NodeSource, ...] = ()
    files: tuple[Path, ...] = ()
    unread: tuple[Unread, ...] = ()


def find_sources(paths: Iterable[Path], *, past_unreadable: bool = False) -> Sources:
    """The nodes and files at these paths, in their order; a node's disks that are named one by one are joined.

    `past_unreadable`: nodes that cannot be read are `unread`, as long as anything can be.

    Raises:
        SourceError: there is no such path, or nothing of the kind is there.
        OSError: a directory cannot be read.
        CorruptFileError: an export's manifest cannot be right.
    """
    nodes: list[NodeSource] = []
    files: list[Path] = []
    unread: list[Unread] = []
    for path in paths:
        count = len(unread)
        try:
            if not path.exists():
                raise SourceError(f"{path} does not exist")
            if not path.is_dir():
                files.append(_data_file(path))
                continue
            found = list(_nodes_at(path, _DEPTH, unread))
        except (OSError, CorruptFileError) as error:
            unread.append(Unread(path=path, error=error))
            continue
        if not found and len(unread) == count:
            raise SourceError(
                f"{path} holds no metadata log: give a segment, a {METADATA_DIRECTORY}, a log directory, a node's "
                "directory that holds such, or an export"
            )
        nodes += found
    if unread and not (past_unreadable and (nodes or files)):
        raise unread[0].error
    joined, lost = _told_by_path(_joined(nodes), unread)
    return Sources(nodes=joined, files=tuple(dict.fromkeys(files)), unread=lost)


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


def _nodes_at(path: Path, depth: int, unread: list[Unread]) -> Iterator[NodeSource]:
    """The node that `path` is, or those below it, the highest level that has any; what cannot be read is `unread`."""
    own = _node_of(path)
    if own is not None:
        yield own
        return
    children = sorted(child for child in path.iterdir() if child.is_dir() and not child.name.startswith("."))
    nodes: list[NodeSource] = []
    below: list[Path] = []
    for child in children:
        try:
            node = _node_of(child)
        except (OSError, CorruptFileError) as error:
            unread.append(Unread(path=child, error=error))
            continue
        if node is None:
            below.append(child)
        else:
            nodes.append(node)
    yield from nodes
    if not nodes and depth > 0:
        for child in below:
            yield from _nodes_at(child, depth - 1, unread)


def _node_of(path: Path) -> NodeSource | None:
    """The node whose export, metadata directory, log directory or log directories' parent this is."""
    if (path / MANIFEST_FILE).is_file():
        return _export(path)
    if path.name == METADATA_DIRECTORY or _holds_segments(path):
        return _node(path, [_log_directory(path.parent)] if _is_log_directory(path.parent) else [], path)
    if _is_log_directory(path):
        return _node(path, [_log_directory(path)])
    disks = [child for child in sorted(path.iterdir()) if child.is_dir() and _is_log_directory(child)]
    return _node(path, list(map(_log_directory, disks))) if disks and _is_one_node(disks) else None


def _holds_segments(path: Path) -> bool:
    return any(_DATA_FILE.fullmatch(child.name) and child.name[0].isdigit() for child in path.iterdir())


def _is_log_directory(path: Path) -> bool:
    return (path / META_PROPERTIES_FILE).exists() or (path / METADATA_DIRECTORY).is_dir()


def _log_directory(path: Path) -> LogDirectory:
    if not (path / META_PROPERTIES_FILE).exists():
        return LogDirectory(path=path, identity=None)
    try:
        return LogDirectory(path=path, identity=read_meta_properties(OsFiles(), str(path)))
    except CorruptFileError as error:
        told = told_node_id((path / META_PROPERTIES_FILE).read_bytes(), error.path)
        return LogDirectory(path=path, identity=None, complaint=error.what, told_node_id=told)
    except OSError as error:
        return LogDirectory(path=path, identity=None, complaint=f"it cannot be read: {error.strerror or error}")


def _is_one_node(disks: Sequence[Path]) -> bool:
    """Whether log directories side by side are one node's: at most one of them has a metadata log."""
    return sum((disk / METADATA_DIRECTORY).is_dir() for disk in disks) <= 1


def _node(path: Path, disks: list[LogDirectory], metadata: Path | None = None) -> NodeSource:
    if metadata is None:
        metadata = next(
            (disk.path / METADATA_DIRECTORY for disk in disks if (disk.path / METADATA_DIRECTORY).is_dir()), None
        )
    source = NodeSource(path=path, node_id=None, metadata=metadata, log_directories=tuple(disks))
    identity = source.identity
    if identity is not None:
        return msgspec.structs.replace(source, node_id=int(identity.node_id))
    told = {disk.told_node_id for disk in disks} - {None}
    return msgspec.structs.replace(source, node_id=told.pop() if len(told) == 1 else None)


def _export(path: Path) -> NodeSource:
    manifest = read_manifest(path)
    return NodeSource(
        path=path,
        node_id=manifest.node_id,
        metadata=path,
        log_directories=(LogDirectory(path=path, identity=manifest.identity),),
        high_watermark=manifest.high_watermark,
    )


def _joined(nodes: Sequence[NodeSource]) -> list[NodeSource]:
    """Named twice is once, and disks without a metadata log belong to the one node of their id that has one."""
    unique: dict[tuple[Path | None, tuple[Path, ...]], NodeSource] = {}
    for node in nodes:
        key = (
            None if node.metadata is None else node.metadata.resolve(),
            tuple(disk.path.resolve() for disk in node.log_directories),
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
