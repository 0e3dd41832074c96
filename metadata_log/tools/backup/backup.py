"""A backup of the metadata in one file: a tar of `manifest.json` and the checkpoint, which any Kafka tool can read.

Decides: the content of a backup, and when it is whole. Must not know: clocks and command lines.

A backup holds a cluster's topic ids, configs, ACLs and SCRAM credentials. So keep the file as secret as the log itself.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.files.json_files import decode_json
from metadata_log.files.os_files import OsFiles
from metadata_log.image import MetadataImage, records_of
from metadata_log.image.hash import image_hash
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch, is_possible
from metadata_log.records import VotersRecord, encode_record
from metadata_log.storage.checkpoint import (
    Checkpoint,
    CheckpointTimes,
    build_checkpoint,
    checkpoint_name,
    parse_checkpoint_name,
    read_checkpoint,
)
from metadata_log.tools.backup.archive import (
    LONGEST_MEMBER,
    ArchiveReader,
    BackupError,
    NoBackupError,
    check_every_byte,
    write_archive,
)
from metadata_log.tools.new_files import TargetError, naming, new_file, private_mode
from metadata_log.tools.read.history import State, state_of
from metadata_log.voters import VoterSet, format_voter

FORMAT_VERSION: Final = 2
_MANIFEST: Final = "manifest.json"
_MAX_MANIFEST: Final = 1 << 20


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a backup. `end_offset` is exclusive; `hash` is the image hash of FORMAT.md.

    `manifest_sha256` covers the manifest itself, see `checksum`: no other checksum covers the cluster id. `redacted` is
    set if credentials and passwords were left out.
    """

    format_version: int = FORMAT_VERSION
    cluster_id: str | None
    end_offset: int
    epoch: int
    last_contained_timestamp_ms: int
    created_ms: int
    kraft_version: int
    metadata_version: int
    features: dict[str, int]
    voters: tuple[str, ...]
    topics: int
    partitions: int
    records: int
    hash: str
    checkpoint: str
    size: int
    sha256: str
    redacted: bool | msgspec.UnsetType = msgspec.UNSET
    manifest_sha256: str = ""

    @property
    def checksum(self) -> str:
        """Return the SHA-256 of the manifest as JSON without spaces, fields in their order, with `manifest_sha256`
        empty."""
        return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(self, manifest_sha256=""))).hexdigest()

    @property
    def end(self) -> OffsetAndEpoch:
        return OffsetAndEpoch(offset=Offset(self.end_offset), epoch=Epoch(self.epoch))


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """A backup that was read and found whole.

    `state` is that of its checkpoint. If `state.newer`, a later release saved the backup, and its hash is not checked.
    """

    manifest: BackupManifest
    state: State
    checkpoint: Checkpoint

    @property
    def image(self) -> MetadataImage:
        return self.state.image


def save_backup(
    state: State,
    target: Path,
    *,
    cluster_id: str | None,
    now_ms: int,
    group_readable: bool = False,
    is_redacted: bool = False,
) -> BackupManifest:
    """Write the metadata of `state` to a new file, which other users cannot read.

    `is_redacted`: `state` was read without credentials, and the manifest states so.

    Raises:
        TargetError: the file exists, or its directory does not.
        BackupError: a later release wrote a part of the metadata, which the backup would lack. Or its end is one that
            no log can have.
        UnwritableMetadataError: there is no metadata.version yet.
        OSError: the file cannot be written; no part of it remains.
    """
    image, quorum = state.image, state.quorum
    _require_savable(state)
    values = [encode_record(record, version) for record, version in records_of(image)]
    content = b"".join(
        build_checkpoint(
            values,
            epoch=image.offset_and_epoch.epoch,
            times=CheckpointTimes.at(now_ms, last_contained_ms=image.last_contained_timestamp_ms),
            kraft_version=quorum.kraft_version,
            voters=quorum.voters,
        )
    )
    if len(content) > LONGEST_MEMBER:
        raise BackupError(f"{target}: {len(content)} bytes of metadata are more than a backup holds, {LONGEST_MEMBER}")
    manifest = _manifest_of(state, content, cluster_id=cluster_id, now_ms=now_ms, records=len(values))
    manifest = msgspec.structs.replace(manifest, redacted=True if is_redacted else msgspec.UNSET)
    manifest = msgspec.structs.replace(manifest, manifest_sha256=manifest.checksum)
    _write_tar(target, _members(manifest, content), now_ms // 1000, private_mode(group_readable=group_readable))
    return manifest


def _named_voters(record: VotersRecord, where: str) -> tuple[str, ...]:
    return tuple(map(format_voter, VoterSet.from_record(record, where)))


def _manifest_of(state: State, content: bytes, *, cluster_id: str | None, now_ms: int, records: int) -> BackupManifest:
    """Return the manifest of a checkpoint, without its own checksum."""
    image, quorum = state.image, state.quorum
    return BackupManifest(
        cluster_id=cluster_id,
        end_offset=int(image.offset_and_epoch.offset),
        epoch=int(image.offset_and_epoch.epoch),
        last_contained_timestamp_ms=image.last_contained_timestamp_ms,
        created_ms=now_ms,
        kraft_version=quorum.kraft_version,
        metadata_version=image.features.metadata_version or 0,
        features=dict(sorted(image.features.levels.items())),
        voters=() if quorum.voters is None else _named_voters(quorum.voters, quorum.voters_place),
        topics=len(image.topics),
        partitions=sum(len(topic.partitions) for topic in image.topics.by_id.values()),
        records=records,
        hash=image_hash(image, quorum.kraft_version, quorum.voters).hex,
        checkpoint=checkpoint_name(image.offset_and_epoch),
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _require_savable(state: State) -> None:
    end = state.image.offset_and_epoch
    if state.newer:
        raise BackupError(
            f"the metadata up to offset {state.end} is {state.newer.text('not known here')}. A backup would lack it: "
            "save it with the kraft of that release, or copy the log as it is (kraft log export)"
        )
    if not is_possible(end.offset, end.epoch):
        raise BackupError(
            f"the metadata is said to end at offset {end.offset} of epoch "
            f"{end.epoch}, which no log has: the checkpoint's name is damaged (kraft log verify)"
        )


def _members(manifest: BackupManifest, content: bytes) -> dict[str, bytes]:
    text = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
    return {_MANIFEST: text, manifest.checkpoint: content}


def _write_tar(target: Path, members: dict[str, bytes], mtime: int, mode: int) -> None:
    try:
        with new_file(target, mode) as file:
            write_archive(file, members, mtime)
    except FileNotFoundError:
        raise TargetError(f"{target}: there is no directory {target.parent}") from None
    except FileExistsError:
        raise TargetError(f"{target} exists: a backup is not written over; name another file") from None


def read_backup(path: Path) -> Backup:
    """Read a backup and check all of it: each byte of the file, the records, and the hash of the image.

    Raises:
        NoBackupError: the file is no backup.
        BackupError: the backup is damaged.
    """
    if not path.is_file():
        raise NoBackupError(f"{path} is no file: a backup is what `kraft snapshot save` wrote")
    try:
        with path.open("rb") as file:
            archive = ArchiveReader(path, file)
            manifest = decode_json(archive.member(_MANIFEST, _MAX_MANIFEST), BackupManifest)
            if manifest.format_version != FORMAT_VERSION:
                raise BackupError(f"{path} is of version {manifest.format_version}, not {FORMAT_VERSION}")
            if manifest.checksum != manifest.manifest_sha256:
                raise BackupError(f"{path}: its manifest was changed after it was written: do not use it")
            if parse_checkpoint_name(manifest.checkpoint) != manifest.end:
                raise BackupError(f"{path}: its checkpoint is called {manifest.checkpoint}, which is not its end")
            content = archive.member(manifest.checkpoint, manifest.size)
    except msgspec.DecodeError as error:
        raise BackupError(f"{path} is no backup that `kraft snapshot save` wrote, or is damaged: {error}") from error
    if not (manifest.cluster_id or "").isprintable():
        raise BackupError(f"{path}: its cluster id holds what no id has: do not use it")
    if hashlib.sha256(content).hexdigest() != manifest.sha256:
        raise BackupError(f"{path} is damaged: its checkpoint has another SHA-256 than its manifest says")
    check_every_byte(path, _members(manifest, content), manifest.created_ms // 1000)
    return _checked(path, manifest, content)


def _checked(path: Path, manifest: BackupManifest, content: bytes) -> Backup:
    with _as_file(manifest.checkpoint, content) as file:
        checkpoint = read_checkpoint(OsFiles(), file)
    state = state_of(checkpoint, manifest.end)
    if not state.newer and image_hash(state.image, checkpoint.kraft_version, checkpoint.voters).hex != manifest.hash:
        raise BackupError(f"{path}: its records do not hash to what its manifest says: it was changed, do not use it")
    return Backup(manifest=manifest, state=state, checkpoint=checkpoint)


@contextmanager
def _as_file(name: str, content: bytes) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / name
        with naming(file):
            file.write_bytes(content)
        yield str(file)
