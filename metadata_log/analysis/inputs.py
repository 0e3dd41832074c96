"""Which replicas' logs there are at the paths that a user names, and the pieces in which Spark reads them.

Decides: what is an export, what is a node's directory, and where a large file is cut for several tasks. Must not know:
Spark, and what the batches hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.analysis.errors import AnalysisError
from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.errors import CorruptFileError, MetadataLogError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import FileHandle
from metadata_log.format.batch import HEADER_SIZE, parse_header
from metadata_log.ids import ZERO_DIRECTORY_ID, NodeId, ReplicaKey, id_text, parse_directory_id
from metadata_log.storage.checkpoint import parse_checkpoint_name
from metadata_log.tools.read.contents import data_files, metadata_directory, read_identity
from metadata_log.tools.read.disks import is_topics_partition
from metadata_log.tools.read.manifest import MANIFEST_FILE, Manifest, read_manifest

NO_NODE: Final = NodeId(-1)
"""Of a log that was copied without the meta.properties beside it: nobody knows whose it is."""
NO_CLUSTER: Final = ""

_DEPTH: Final = 4
_SPLIT_BYTES: Final = 64 << 20
_BUNDLE_BYTES: Final = 8 << 20


class InputFile(msgspec.Struct, frozen=True, kw_only=True):
    """A segment or a checkpoint. `base` is the offset in its name: a segment's first, a checkpoint's exclusive end."""

    name: str
    path: str
    size: int
    base: int
    checkpoint_epoch: int | None = None

    @property
    def is_checkpoint(self) -> bool:
        return self.checkpoint_epoch is not None


class ReplicaInput(msgspec.Struct, frozen=True, kw_only=True):
    """One replica's log. `label` names it among the others: its node id, and its path where that is not unique."""

    index: int
    label: str
    path: str
    cluster_id: str
    key: ReplicaKey
    files: tuple[InputFile, ...]
    manifest: Manifest | None = None
    manifest_fault: str | None = None
    """Why what stands in its place is none."""

    @property
    def lacks_manifest(self) -> bool:
        """Whether it can only be an export, and nothing says of which node."""
        named = Path(self.path).name == METADATA_DIRECTORY and self.manifest_fault is None
        return self.manifest is None and self.key.node_id == NO_NODE and not named


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes `start` to `end` of a replica's file, which begin with a batch: what one task reads, maybe among others."""

    replica: int
    name: str
    path: str
    base: int
    start: int
    end: int
    is_checkpoint: bool


def find_replicas(paths: Sequence[Path]) -> list[ReplicaInput]:
    """The replicas at these paths, by node id. A path is an export, a log or metadata directory, or holds such.

    Raises:
        AnalysisError: a path holds none, or they are of several clusters.
        CorruptFileError: a meta.properties cannot be right.
    """
    found: dict[Path, ReplicaInput] = {}
    for path in paths:
        places = list(_places(path.resolve(), _DEPTH)) if path.exists() else []
        if not places:
            raise AnalysisError(
                f"{path} holds no metadata log: give an export (with its {MANIFEST_FILE}), a node's log directory "
                "(with __cluster_metadata-0), or a directory of such"
                if path.exists()
                else f"there is no {path}"
            )
        for place in places:
            found.setdefault(place, _read_place(place))
    replicas = sorted(found.values(), key=lambda replica: (replica.key.node_id, replica.path))
    clusters = {replica.cluster_id: replica.path for replica in replicas if replica.cluster_id != NO_CLUSTER}
    if len(clusters) > 1:
        named = " and ".join(f"{cluster} ({path})" for cluster, path in sorted(clusters.items()))
        raise AnalysisError(f"the logs are of different clusters: {named}; analyse one cluster at a time")
    return _labelled(replicas)


def _places(path: Path, depth: int) -> Iterator[Path]:
    """Exports and metadata directories at and below a path; an export that lost its manifest is not left out."""
    if not path.is_dir():
        return
    if (path / MANIFEST_FILE).is_file() or _is_bare_log(path):
        yield path
        return
    directory = metadata_directory(path)
    if directory is not None:
        yield directory
        return
    if depth > 0:
        for child in sorted(path.iterdir()):
            if not child.name.startswith("."):
                yield from _places(child, depth - 1)


def _is_bare_log(path: Path) -> bool:
    """Whether segments or checkpoints lie there that are no topic's, as those of a broker's disk are."""
    is_on_disk = (path.parent / META_PROPERTIES_FILE).is_file() and path.name != METADATA_DIRECTORY
    names = [child.name for child in path.iterdir()]
    return bool(data_files(names)) and not is_on_disk and not is_topics_partition(OsFiles(), str(path))


def _read_place(place: Path) -> ReplicaInput:
    manifest, fault = _manifest_of(place)
    key, cluster_id = ReplicaKey(node_id=NO_NODE), NO_CLUSTER
    if manifest is not None:
        directory_id = ZERO_DIRECTORY_ID
        if manifest.directory_id is not None:
            directory_id = parse_directory_id(manifest.directory_id)
        key = ReplicaKey(node_id=NodeId(manifest.node_id), directory_id=directory_id)
        cluster_id = manifest.cluster_id
    elif fault is None:
        identity = read_identity(place)
        if identity is not None:
            key = ReplicaKey(node_id=identity.node_id, directory_id=identity.directory_id or ZERO_DIRECTORY_ID)
            cluster_id = identity.cluster_id
    files = tuple(_input_file(place / name) for name in data_files(child.name for child in place.iterdir()))
    if not files:
        raise AnalysisError(f"{place} holds no segment and no checkpoint")
    return ReplicaInput(
        index=-1,
        label="",
        path=str(place),
        cluster_id=cluster_id,
        key=key,
        files=files,
        manifest=manifest,
        manifest_fault=fault,
    )


def _manifest_of(place: Path) -> tuple[Manifest | None, str | None]:
    """The manifest, or what is wrong with it; neither where there is none."""
    try:
        return (read_manifest(place), None) if (place / MANIFEST_FILE).is_file() else (None, None)
    except CorruptFileError as error:
        return None, str(error)


def _input_file(path: Path) -> InputFile:
    if not path.is_file():
        raise AnalysisError(f"{path} is a pipe, a device, a socket or a directory, not a regular file")
    checkpoint = parse_checkpoint_name(path.name)
    return InputFile(
        name=path.name,
        path=str(path),
        size=path.stat().st_size,
        base=int(path.name[:20]),
        checkpoint_epoch=None if checkpoint is None else checkpoint.epoch,
    )


def _labelled(replicas: Sequence[ReplicaInput]) -> list[ReplicaInput]:
    node_ids = [replica.key.node_id for replica in replicas]
    return [
        msgspec.structs.replace(
            replica,
            index=index,
            label=_label(replica, is_only=node_ids.count(replica.key.node_id) == 1),
        )
        for index, replica in enumerate(replicas)
    ]


def _label(replica: ReplicaInput, *, is_only: bool) -> str:
    if replica.key.node_id == NO_NODE:
        return replica.path
    return f"node {replica.key.node_id}" + ("" if is_only else f" ({replica.path})")


def directory_text(replica: ReplicaInput) -> str:
    """Its directory id, or nothing where it has none."""
    return "" if replica.key.directory_id == ZERO_DIRECTORY_ID else id_text(replica.key.directory_id)


def bundles(replicas: Sequence[ReplicaInput], tasks: int) -> list[tuple[Piece, ...]]:
    """All files in pieces, and the pieces in bundles of similar size: a task costs more than a small file does."""
    pieces = [piece for replica in replicas for file in replica.files for piece in _pieces(replica, file)]
    total = sum(piece.end - piece.start for piece in pieces)
    bound = max(-(-total // max(tasks, 1)), 1) if total < tasks * _BUNDLE_BYTES else _BUNDLE_BYTES
    made: list[list[Piece]] = []
    room = 0
    for piece in pieces:
        size = piece.end - piece.start
        if not made or room < size // 2:
            made.append([])
            room = bound
        made[-1].append(piece)
        room -= size
    return [tuple(bundle) for bundle in made]


def _pieces(replica: ReplicaInput, file: InputFile) -> Iterator[Piece]:
    cuts = [0, *_cuts(file), file.size]
    for start, end in pairwise(cuts):
        if start < end or file.size == 0:
            yield Piece(
                replica=replica.index,
                name=file.name,
                path=file.path,
                base=file.base,
                start=start,
                end=end,
                is_checkpoint=file.is_checkpoint,
            )


def _cuts(file: InputFile) -> Iterator[int]:
    """Where batches begin, about every 64 MiB, found by walking the headers; behind the first damage there are none."""
    if file.size <= _SPLIT_BYTES:
        return
    handle = OsFiles().open(file.path, read_only=True)
    try:
        yield from _walk_cuts(handle, file.size)
    finally:
        handle.close()


def _walk_cuts(handle: FileHandle, size: int) -> Iterator[int]:
    position, due = 0, _SPLIT_BYTES
    while position + HEADER_SIZE <= size:
        if position >= due:
            yield position
            due = position + _SPLIT_BYTES
        try:
            position += parse_header(handle.pread(HEADER_SIZE, position)).size_in_bytes
        except MetadataLogError:
            return
