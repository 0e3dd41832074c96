"""A `Files` port that reads segments and checkpoints without credentials: same lengths, other bytes.

Decides: which bytes of a log are secret. Must not know: how the rest is shown.

Salts and keys of SCRAM credentials read as zeros, passwords in configs as stars. Checksums match the changed bytes.
Damaged bytes, and values that this release cannot decode, may hold secrets too, and read as zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.errors import InvariantViolation, RecordError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import FileHandle
from metadata_log.format.batch import CRC_COVERS_FROM, CRC_POSITION, HEADER_SIZE, batch_records
from metadata_log.format.crc import crc32c
from metadata_log.records import (
    ConfigRecord,
    MetadataRecord,
    UserScramCredentialRecord,
    decode_versioned,
    encode_record,
)
from metadata_log.secret_names import may_be_secret
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.scan import Damage, scan

_BESIDE: Final = re.compile(
    r"/(meta\.properties|quorum-state|committed-state|leader-epoch-checkpoint|partition\.metadata|\.lock|manifest\.json"
    r"|\.kafka_cleanshutdown|[^/]*\.(index|timeindex|txnindex|snapshot))$"
)
"""Files without records. Any other file may be a segment under another name, such as `….log.deleted` or a link."""
_FRAME: Final = 3


def redacted(record: MetadataRecord) -> MetadataRecord:
    """Return the record without its secrets; its encoding keeps its length."""
    match record:
        case UserScramCredentialRecord():
            keys = {name: bytes(len(getattr(record, name))) for name in ("salt", "stored_key", "server_key")}
            return msgspec.structs.replace(record, **keys)
        case ConfigRecord(name=name, value=str(value)) if may_be_secret(name):
            return msgspec.structs.replace(record, value="*" * len(value.encode()))
        case _:
            return record


class RedactedFiles(OsFiles):
    """The port, for reading. Bytes that are appended to a file after it was opened are not read. `files` opens the
    files."""

    def __init__(self, files: OsFiles | None = None) -> None:
        self._files = files or OsFiles()

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        """See the port."""
        handle = self._files.open(path, create=create, exclusive=exclusive, read_only=read_only)
        if _BESIDE.search(path):
            return handle
        try:
            return _Redacted(handle)
        except BaseException:
            handle.close()
            raise


class _Redacted:
    """A file of a log with its secrets overwritten."""

    def __init__(self, handle: FileHandle) -> None:
        self._handle = handle
        self._size = handle.size()
        self._patches: list[tuple[int, bytes]] = []
        self._blank: list[tuple[int, int]] = []
        for found in scan(handle, 0, self._size):
            if isinstance(found, Damage):
                self._blank.append((found.position + HEADER_SIZE, found.end))
            elif not found.header.is_control:
                self._patches += _patches(found)

    def pread(self, count: int, position: int) -> bytes:
        """See the port."""
        data = bytearray(self._handle.pread(max(min(count, self._size - position), 0), position))
        for start, content in self._patches:
            _overwrite(data, start - position, content)
        for start, end in self._blank:
            first, last = max(start - position, 0), min(end - position, len(data))
            if first < last:
                data[first:last] = bytes(last - first)
        return bytes(data)

    def size(self) -> int:
        """See the port."""
        return self._size

    def close(self) -> None:
        """See the port."""
        self._handle.close()

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        """Refuse: read-only."""
        raise InvariantViolation("what is read without secrets is not written")

    def truncate(self, size: int) -> None:
        """Refuse: read-only."""
        raise InvariantViolation("what is read without secrets is not written")

    def fdatasync(self) -> None:
        """Refuse: read-only."""
        raise InvariantViolation("what is read without secrets is not written")


def _overwrite(data: bytearray, at: int, content: bytes) -> None:
    """Write the part of `content` that overlaps `data`, from `at` on."""
    first, last = max(at, 0), min(at + len(content), len(data))
    if first < last:
        data[first:last] = content[first - at : last - at]


def _patches(batch: LocatedBatch) -> Iterator[tuple[int, bytes]]:
    """Yield position and new bytes of an intact batch, if it holds a secret."""
    head, end = batch.at + HEADER_SIZE, batch.at + batch.header.size_in_bytes
    before = body = batch.buffer[head:end]
    for record in batch_records(batch.buffer, batch.header, batch.at):
        value = record.value or b""
        changed = _redacted_value(value)
        if changed != value:
            body = body.replace(value, changed)  # a key may hold the same bytes
    if body != before:
        content = batch.buffer[batch.at : head] + body
        checksum = crc32c(content[CRC_COVERS_FROM:]).to_bytes(4, "big")
        yield batch.position, content[:CRC_POSITION] + checksum + content[CRC_COVERS_FROM:]


def _redacted_value(value: bytes) -> bytes:
    try:
        record, version = decode_versioned(value)
    except RecordError:
        return value[:_FRAME] + bytes(max(len(value) - _FRAME, 0))
    other = redacted(record)
    if other is record:
        return value
    changed = encode_record(other, version)
    return changed if len(changed) == len(value) else value[:_FRAME] + bytes(len(value) - _FRAME)
