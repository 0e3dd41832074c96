"""A backup of the metadata in one file: a tar with `manifest.json` and the checkpoint, which any Kafka tool can read.

Decides: what a backup holds, when it is whole, and what becomes of it in a new directory. Must not know: clocks and
command lines. What a cluster says is all there: topic ids, configs, ACLs, SCRAM credentials, so keep the file as secret
as the log itself.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

import msgspec

from metadata_log.errors import MetadataLogError, WrongUseError
from metadata_log.files.json_files import decode_json
from metadata_log.files.os_files import OsFiles
from metadata_log.image import MetadataImage, records_of
from metadata_log.image.hash import image_hash
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import encode_record
from metadata_log.storage.checkpoint import (
    Checkpoint,
    CheckpointTimes,
    build_checkpoint,
    checkpoint_name,
    parse_checkpoint_name,
    read_checkpoint,
)
from metadata_log.tools.new_files import TargetError, naming, new_file
from metadata_log.tools.read.history import State, state_of
from metadata_log.voters import VoterSet, format_voter

FORMAT_VERSION: Final = 2
_MANIFEST: Final = "manifest.json"
_MAX_MANIFEST: Final = 1 << 20
_TAR_MAGIC: Final = b"ustar"
_TAR_MAGIC_AT: Final = 257


class BackupError(MetadataLogError):
    """A backup cannot be written, read or restored; the message says why and what to do."""


class NoBackupError(BackupError, WrongUseError):
    """A path leads to something else than a backup."""


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup says of itself: `end_offset` is exclusive; `hash` is the image hash of FORMAT.md.

    `manifest_sha256` is of this manifest itself, see `checksum`: nothing else covers the cluster id.
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
    manifest_sha256: str = ""

    @property
    def checksum(self) -> str:
        """SHA-256 of the manifest as JSON without spaces, in the order of its fields, `manifest_sha256` empty."""
        return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(self, manifest_sha256=""))).hexdigest()

    @property
    def end(self) -> OffsetAndEpoch:
        return OffsetAndEpoch(offset=Offset(self.end_offset), epoch=Epoch(self.epoch))


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """A backup that was read and found whole.

    `state` is what its checkpoint says. With `state.newer`, a later release has saved it, and its hash is not checked.
    """

    manifest: BackupManifest
    state: State
    checkpoint: Checkpoint

    @property
    def image(self) -> MetadataImage:
        return self.state.image


def save_backup(state: State, target: Path, *, cluster_id: str | None, now_ms: int) -> BackupManifest:
    """Write the metadata of `state` to a file that is not there yet.

    Raises:
        TargetError: the file exists, or its directory does not.
        BackupError: a later release has written a part of the metadata, which the backup would lack.
        UnwritableMetadataError: there is no metadata.version yet.
        OSError: it cannot be written; nothing is left of it.
    """
    image, quorum = state.image, state.quorum
    if state.newer:
        raise BackupError(
            f"the metadata up to offset {state.end} is {state.newer.text('not known here')}. A backup would lack it: "
            "save it with the kraft of that release, or copy the log as it is (kraft log export)"
        )
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
    manifest = BackupManifest(
        cluster_id=cluster_id,
        end_offset=int(image.offset_and_epoch.offset),
        epoch=int(image.offset_and_epoch.epoch),
        last_contained_timestamp_ms=image.last_contained_timestamp_ms,
        created_ms=now_ms,
        kraft_version=quorum.kraft_version,
        metadata_version=image.features.metadata_version or 0,
        features=dict(sorted(image.features.levels.items())),
        voters=() if quorum.voters is None else tuple(map(format_voter, VoterSet.from_record(quorum.voters))),
        topics=len(image.topics),
        partitions=sum(len(topic.partitions) for topic in image.topics.by_id.values()),
        records=len(values),
        hash=image_hash(image, quorum.kraft_version, quorum.voters).hex,
        checkpoint=checkpoint_name(image.offset_and_epoch),
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    manifest = msgspec.structs.replace(manifest, manifest_sha256=manifest.checksum)
    _write_tar(target, _members(manifest, content), now_ms // 1000)
    return manifest


def _members(manifest: BackupManifest, content: bytes) -> dict[str, bytes]:
    text = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
    return {_MANIFEST: text, manifest.checkpoint: content}


def _write_tar(target: Path, members: dict[str, bytes], mtime: int) -> None:
    try:
        with new_file(target, 0o600) as file:
            _tar(file, members, mtime)
    except FileNotFoundError:
        raise TargetError(f"{target}: there is no directory {target.parent}") from None
    except FileExistsError:
        raise TargetError(f"{target} exists: a backup is not written over; name another file") from None


def _tar(file: IO[bytes], members: dict[str, bytes], mtime: int) -> None:
    """The archive: the same members and time give the same bytes."""
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(content), mtime, 0o600
            archive.addfile(member, io.BytesIO(content))


def read_backup(path: Path) -> Backup:
    """Read a backup and check all of it: each byte of the file, the records, and the hash of what they say.

    Raises:
        NoBackupError: it is none.
        BackupError: it is damaged.
    """
    if not path.is_file():
        raise NoBackupError(f"{path} is no file: a backup is what `kraft snapshot save` wrote")
    with path.open("rb") as file:
        if not file.read(512).startswith(_TAR_MAGIC, _TAR_MAGIC_AT):
            raise NoBackupError(f"{path} is no backup that `kraft snapshot save` wrote")
    try:
        with tarfile.open(path, mode="r:") as archive:
            manifest = decode_json(_member(archive, _MANIFEST, path, _MAX_MANIFEST), BackupManifest)
            if manifest.format_version != FORMAT_VERSION:
                raise BackupError(f"{path} is of version {manifest.format_version}, not {FORMAT_VERSION}")
            if manifest.checksum != manifest.manifest_sha256:
                raise BackupError(f"{path}: its manifest was changed after it was written: do not use it")
            if parse_checkpoint_name(manifest.checkpoint) != manifest.end:
                raise BackupError(f"{path}: its checkpoint is called {manifest.checkpoint}, which is not its end")
            content = _member(archive, manifest.checkpoint, path, manifest.size)
    except (tarfile.TarError, msgspec.DecodeError, EOFError) as error:
        raise BackupError(f"{path} is no backup that `kraft snapshot save` wrote, or is damaged: {error}") from error
    if hashlib.sha256(content).hexdigest() != manifest.sha256:
        raise BackupError(f"{path} is damaged: its checkpoint has another SHA-256 than its manifest says")
    _check_every_byte(path, manifest, content)
    return _checked(path, manifest, content)


def _check_every_byte(path: Path, manifest: BackupManifest, content: bytes) -> None:
    """Hold the file against what `save_backup` writes of these members: headers and padding are under no checksum.

    Raises:
        BackupError: a byte is another, missing, or too many.
    """
    with path.open("rb") as file:
        compared = _Compared(path, file)
        _tar(cast("IO[bytes]", compared), _members(manifest, content), manifest.created_ms // 1000)
        if file.read(1):
            raise _other_bytes(path, compared.tell())


class _Compared:
    """Takes the bytes that a file should have, instead of a file to write them to."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file
        self._position = 0

    def write(self, data: bytes) -> int:
        found = self._file.read(len(data))
        if found != data:
            pairs = enumerate(zip(found, data, strict=False))
            same = next((at for at, (one, other) in pairs if one != other), min(len(found), len(data)))
            raise _other_bytes(self._path, self._position + same)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position


def _other_bytes(path: Path, position: int) -> BackupError:
    return BackupError(
        f"{path} is damaged: byte {position} is not as `kraft snapshot save` wrote it, though its manifest and its "
        "checkpoint are whole: take another copy of it"
    )


def _member(archive: tarfile.TarFile, name: str, path: Path, limit: int) -> bytes:
    try:
        member = archive.getmember(name)
    except KeyError:
        raise BackupError(f"{path} is no backup that `kraft snapshot save` wrote: it holds no {name}") from None
    reading = archive.extractfile(member)
    if reading is None or member.size > limit:
        raise BackupError(f"{path} is damaged: {name} in it is no file of at most {limit} bytes")
    content = reading.read()
    if len(content) != member.size:
        raise BackupError(f"{path} is damaged: it ends within {name}")
    return content


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
