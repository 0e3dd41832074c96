"""`manifest.json`: the description of a replica in its export.

Decides: its fields and their JSON. Must not know: how the export's files are made (`export`) or analyzed (`analysis`).
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
    """A voter that the replica knew; the directory id as text, all zeros for a static voter."""

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
    """The directory is an export without credentials: it has decoded tables, and no log."""


class RedactedMark(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of an export without credentials, from which no log can be read."""

    format_version: int = FORMAT_VERSION
    redacted: bool = True


class _Marked(msgspec.Struct, frozen=True):
    """The field of a manifest that marks a redacted export."""

    redacted: bool = False


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The description of one export.

    Attributes:
        format_version: of this file.
        cluster_id, node_id, directory_id: from meta.properties; `directory_id` as text, None before Kafka 3.7.
        start_offset: of the first record in the segments.
        end_offset: one past the last record.
        epoch: of the last record; -1 if there is no record.
        voters: the last voter set in the segments or the checkpoints, otherwise the static one; empty if unknown.
        high_watermark: the live one, if the running node reported it; Kafka stores none on disk.
        cut_tail_bytes: size of the last segment's torn tail, which was not copied.
        proved_end: exclusive end that the log once reached, if files beside it prove that it lost its end.
        lost: sentences that prove the loss; empty if there is no proof.
        files: all other files of the export, by name, except decoded tables: segments, checkpoints and sidecar files.
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
        """Return the identity that the replica's meta.properties stated."""
        directory_id = None if self.directory_id is None else parse_directory_id(self.directory_id)
        return MetaProperties(cluster_id=self.cluster_id, node_id=NodeId(self.node_id), directory_id=directory_id)

    @property
    def static_voters(self) -> tuple[ReplicaKey, ...]:
        """Return the configured voters; empty if a record names the voters."""
        keys = tuple(voter.key for voter in self.voters)
        return keys if all(key.directory_id == ZERO_DIRECTORY_ID for key in keys) else ()


def is_export(directory: Path) -> bool:
    """Return True if the directory holds an export.

    Raises:
        OSError: the directory cannot be searched. The error names the directory, as the file may not exist.
    """
    with naming(directory, hidden=directory):
        return (directory / MANIFEST_FILE).is_file()


def write_manifest(directory: Path, manifest: Manifest | RedactedMark) -> None:
    """Write the manifest into a directory, as indented JSON with the fields in the order of the class."""
    text = json.dumps(msgspec.to_builtins(manifest), indent=2) + "\n"
    (directory / MANIFEST_FILE).write_text(text, encoding="utf-8")


def read_manifest(directory: Path) -> Manifest:
    """Return the manifest of an export.

    Raises:
        CorruptFileError: the file is no manifest, or of an unknown version.
        FileNotFoundError: there is no manifest.
    """
    path = directory / MANIFEST_FILE
    return parse_manifest(read_small_file(OsFiles(), str(path)), str(path))


def parse_manifest(data: bytes, path: str) -> Manifest:
    """Return the manifest in these bytes.

    Raises:
        RedactedExportError: the export has no credentials.
        CorruptFileError: the bytes are no manifest, or of an unknown version.
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
