"""The log directory that a user means: its path, its metadata log, and the node and cluster that it belongs to.

Decides: what is accepted as a log directory. Must not know: the records of its log. Reads only through `Files`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY, MetaProperties, read_meta_properties
from metadata_log.directory.repair_files import HELD_SUFFIX
from metadata_log.errors import CorruptFileError, NewerFileError
from metadata_log.files.links import remedy
from metadata_log.files.port import Files, read_small_file
from metadata_log.ids import ZERO_DIRECTORY_ID, ReplicaKey
from metadata_log.storage.segment import segment_bases
from metadata_log.tools.read.disks import is_topics_partition
from metadata_log.tools.read.manifest import MANIFEST_FILE, Manifest, RedactedExportError, parse_manifest
from quorum.recovery.journal.errors import RefusedError, WrongOptionError


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A log directory, a copy of a metadata log alone, or an export of one (`kraft log export`).

    Attributes:
        log_dir: the directory with meta.properties.
        metadata: the directory with segments and checkpoints.
        identity: by meta.properties, or an export's manifest. None if neither is readable; `complaint` says why.
        is_newer: newer software wrote meta.properties.
        manifest: an export's manifest; None for any other directory.
    """

    log_dir: str
    metadata: str
    identity: MetaProperties | None
    complaint: str | None = None
    is_newer: bool = False
    manifest: Manifest | None = None

    @property
    def node_id(self) -> int | None:
        """The node that owns the directory, or None if unknown."""
        return None if self.identity is None else int(self.identity.node_id)

    @property
    def key(self) -> ReplicaKey | None:
        """The replica of this directory, without a directory id before Kafka 3.7.

        None for an export: its node may have gone on since, so that it shows no voter's last state.
        """
        if self.identity is None or self.manifest is not None:
            return None
        return ReplicaKey(node_id=self.identity.node_id, directory_id=self.identity.directory_id or ZERO_DIRECTORY_ID)

    @property
    def label(self) -> str:
        """The name of the directory in sentences."""
        return self.log_dir if self.node_id is None else f"node {self.node_id} ({self.log_dir})"


def find_place(files: Files, path: str) -> Place:
    """Return the log directory that `path` is, holds, or lies in.

    Raises:
        WrongOptionError: there is no log directory, or there are several.
        OSError: it cannot be read. If its parent cannot be read either, even its existence is unknown.
    """
    path = os.path.normpath(path)
    if not files.exists(path):
        try:
            files.listdir(path)
        except FileNotFoundError as error:
            raise WrongOptionError(f"{path} does not exist: give a log directory, an entry of log.dirs") from error
    if not files.is_dir(path):
        raise WrongOptionError(f"{path} is a file: give the log directory that it lies in, an entry of log.dirs")
    found = _place_at(files, path)
    if found is not None:
        return found
    holding = [place for place in _places_below(files, path) if files.exists(place.metadata)]
    if len(holding) == 1:
        return holding[0]
    if len(holding) > 1:
        names = ", ".join(place.log_dir for place in holding)
        raise WrongOptionError(f"{path} holds several log directories ({names}): name the one that is meant")
    raise WrongOptionError(
        f"{path} holds no metadata log: give the log directory that holds {METADATA_DIRECTORY}, in Kafka's "
        "configuration metadata.log.dir or the first of log.dirs"
    )


def disks_at(files: Files, path: str) -> list[Place]:
    """Return the log directories that `path` is, holds, or lies in, with or without a metadata log, or an empty list.

    Raises:
        OSError: it cannot be read.
    """
    path = os.path.normpath(path)
    if not files.exists(path) or not files.is_dir(path):
        return []
    found = _place_at(files, path)
    if found is not None:
        return [found]
    return _places_below(files, path)


def _places_below(files: Files, path: str) -> list[Place]:
    below = (f"{path}/{name}" for name in files.listdir(path))
    return [place for each in below if files.is_dir(each) and (place := _place_at(files, each)) is not None]


def find_target(files: Files, path: str) -> Place:
    """Return the log directory of `path`, which will be changed or started.

    Raises:
        RefusedError: it is no log directory, or an export.
    """
    place = find_place(files, path)
    if place.manifest is not None:
        raise RefusedError(
            f"{place.log_dir} is an export (`kraft log export`), which no node starts from and nothing is changed in: "
            "name the node's own log directory. To compare with it: --copy; to make a controller's directory of it: "
            f"`kraft recover from-broker --broker-dir {place.log_dir}`"
        )
    return place


def _place_at(files: Files, path: str) -> Place | None:
    if os.path.basename(path) == METADATA_DIRECTORY:
        return _identified(files, os.path.dirname(path) or ".", path)
    if files.exists(f"{path}/{METADATA_DIRECTORY}") or files.exists(f"{path}/{META_PROPERTIES_FILE}"):
        return _identified(files, path, f"{path}/{METADATA_DIRECTORY}")
    names = files.listdir(path)
    if MANIFEST_FILE in names:
        return _exported(files, path)
    return _identified(files, path, path) if segment_bases(names) and not is_topics_partition(files, path) else None


def _exported(files: Files, path: str) -> Place:
    """Return an export. Its manifest names the node, and the end of the log at that time.

    Raises:
        RefusedError: it was made without credentials.
        CorruptFileError: the manifest is not valid.
    """
    file = f"{path}/{MANIFEST_FILE}"
    try:
        manifest = parse_manifest(read_small_file(files, file), file)
    except RedactedExportError as error:
        raise RefusedError(str(error)) from error
    return Place(log_dir=path, metadata=path, identity=manifest.identity, manifest=manifest)


def _identified(files: Files, log_dir: str, metadata: str) -> Place:
    identity, complaint, is_newer = None, None, False
    try:
        identity, complaint = _read_identity(files, log_dir)
    except NewerFileError as error:
        complaint, is_newer = str(error), True
    return Place(log_dir=log_dir, metadata=metadata, identity=identity, complaint=complaint, is_newer=is_newer)


def _read_identity(files: Files, log_dir: str) -> tuple[MetaProperties | None, str | None]:
    path = f"{log_dir}/{META_PROPERTIES_FILE}"
    try:
        if files.exists(path):
            return read_meta_properties(files, log_dir), None
        if files.exists(f"{path}{HELD_SUFFIX}"):
            return None, f"{path}{HELD_SUFFIX}: a repair was interrupted here"
    except NewerFileError:
        raise
    except CorruptFileError as error:
        return None, str(error)
    except OSError as error:
        todo = remedy(error)
        return None, f"{path} cannot be read: {error.strerror or error}{'' if todo is None else f' ({todo})'}"
    return None, f"{log_dir} has no {META_PROPERTIES_FILE}"


def one_cluster(identities: Iterable[MetaProperties | None], paths: Sequence[str]) -> str | None:
    """Return the cluster id of these directories, or None if none of them has one.

    Raises:
        RefusedError: they are of several clusters.
    """
    by_id: dict[str, list[str]] = {}
    for identity, path in zip(identities, paths, strict=True):
        if identity is not None:
            by_id.setdefault(identity.cluster_id, []).append(path)
    if len(by_id) > 1:
        said = "; ".join(f"{cluster} ({', '.join(places)})" for cluster, places in by_id.items())
        raise RefusedError(f"these directories are of several clusters: {said}. Name copies of one cluster only")
    return next(iter(by_id), None)
