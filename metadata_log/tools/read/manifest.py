"""`manifest.json`: what an export of a replica says of itself.

Decides: its fields and their JSON. Must not know: how the files beside it came there (`export` does), nor what is
read from it later (`analysis` does).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.directory import MetaProperties
from metadata_log.errors import CorruptFileError
from metadata_log.files.json_files import decode_json
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import read_small_file
from metadata_log.ids import (
    ZERO_DIRECTORY_ID,
    DirectoryId,
    InvalidIdError,
    NodeId,
    ReplicaKey,
    id_text,
    parse_directory_id,
)
from metadata_log.tools.new_files import naming

MANIFEST_FILE: Final = "manifest.json"
FORMAT_VERSION: Final = 1


class ManifestVoter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A voter that the replica knew of; the directory id as text, all zeros for a static voter."""

    node_id: int
    directory_id: str

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(node_id=NodeId(self.node_id), directory_id=DirectoryId(parse_directory_id(self.directory_id)))

    @classmethod
    def of(cls, key: ReplicaKey) -> ManifestVoter:
        return cls(node_id=key.node_id, directory_id=id_text(key.directory_id))


class ManifestFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file of the export. `size` in bytes; `sha256` in hexadecimal."""

    name: str
    size: int
    sha256: str


class RedactedExportError(CorruptFileError):
    """A directory is an export without credentials: it has decoded tables alone, and no log."""


class RedactedMark(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of an export without credentials: it has decoded tables alone, and no log is read from it."""

    format_version: int = FORMAT_VERSION
    redacted: bool = True


class _Marked(msgspec.Struct, frozen=True):
    """As much of a manifest as says that it is of a redacted export."""

    redacted: bool = False


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What was exported.

    Attributes:
        format_version: of this file.
        cluster_id, node_id, directory_id: from meta.properties; `directory_id` as text, None before Kafka 3.7.
        start_offset: of the first record in the segments.
        end_offset: one past the last.
        epoch: of the last record; -1 when there is none.
        voters: the last voter set in the segments or the checkpoints, else the static one; empty when unknown.
        high_watermark: the live one, when the node that was asked gave it; Kafka keeps none on disk.
        cut_tail_bytes: of an unfinished write at the end of the last segment, which were not copied.
        proved_end: up to where (exclusive) the log once reached, where files beside it prove that it lost its end.
        lost: what proves that, in sentences; empty where nothing does.
        files: all others of the export but decoded tables: segments, checkpoints and small files, by name.
    """

    format_version: int = FORMAT_VERSION
    cluster_id: str
    node_id: int
    directory_id: str | None
    start_offset: int
    end_offset: int
    epoch: int
    voters: tuple[ManifestVoter, ...]
    high_watermark: int | None
    cut_tail_bytes: int
    proved_end: int | None = None
    lost: tuple[str, ...] = ()
    files: tuple[ManifestFile, ...]

    @property
    def identity(self) -> MetaProperties:
        """Whose log it is, as the replica's meta.properties said."""
        directory_id = None if self.directory_id is None else parse_directory_id(self.directory_id)
        return MetaProperties(cluster_id=self.cluster_id, node_id=NodeId(self.node_id), directory_id=directory_id)

    @property
    def static_voters(self) -> tuple[ReplicaKey, ...]:
        """The voters of the configuration; empty if a record names them."""
        keys = tuple(voter.key for voter in self.voters)
        return keys if all(key.directory_id == ZERO_DIRECTORY_ID for key in keys) else ()


def is_export(directory: Path) -> bool:
    """Whether an export lies there.

    Raises:
        OSError: it cannot be looked into; it is the directory that is named, for nobody knows of such a file in it.
    """
    with naming(directory, hidden=directory):
        return (directory / MANIFEST_FILE).is_file()


def write_manifest(directory: Path, manifest: Manifest | RedactedMark) -> None:
    """Write it into a directory, as indented JSON with the fields in the order above."""
    text = json.dumps(msgspec.to_builtins(manifest), indent=2) + "\n"
    (directory / MANIFEST_FILE).write_text(text, encoding="utf-8")


def read_manifest(directory: Path) -> Manifest:
    """The manifest of an export.

    Raises:
        CorruptFileError: it is none, or of a version that we do not know.
        FileNotFoundError: there is none.
    """
    path = directory / MANIFEST_FILE
    return parse_manifest(read_small_file(OsFiles(), str(path)), str(path))


def parse_manifest(data: bytes, path: str) -> Manifest:
    """The manifest that these bytes are.

    Raises:
        RedactedExportError: it is of an export without credentials.
        CorruptFileError: it is none, or of a version that we do not know.
    """
    try:
        is_redacted = decode_json(data, _Marked).redacted
    except msgspec.DecodeError:
        is_redacted = False
    if is_redacted:
        raise RedactedExportError(
            path,
            "it is of an export with --redact, decoded tables without credentials and passwords: name an export made "
            "without --redact, or the log directory",
        )
    try:
        manifest = decode_json(data, Manifest)
        for voter in manifest.voters:
            parse_directory_id(voter.directory_id)
        if manifest.directory_id is not None:
            parse_directory_id(manifest.directory_id)
    except (msgspec.DecodeError, InvalidIdError) as error:
        raise CorruptFileError(path, f"it is no manifest of an export: {error}") from error
    if manifest.format_version != FORMAT_VERSION:
        raise CorruptFileError(
            path, f"it is of version {manifest.format_version}; this software reads {FORMAT_VERSION}: upgrade it"
        )
    if any("/" in file.name or file.name.startswith(".") for file in manifest.files):
        raise CorruptFileError(path, "it names a file outside its directory")
    return manifest
