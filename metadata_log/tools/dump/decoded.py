"""Decoded tables beside an export's files: every batch with its raw bytes, and the records, a folder for each type.

Decides: which tables there are, their columns, and their form as JSON lines. Must not know: Parquet (`analysis` writes
the same tables in it), and other replicas. Damaged bytes are in no table: `kraft log verify` reports them.

    decoded/batches.jsonl                               a line for each batch; `raw` is base64
    decoded/records/type=TOPIC_RECORD/records.jsonl     a line for each record of that type
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final

import msgspec

from metadata_log.errors import RecordError
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import BatchHeader, batch_records
from metadata_log.records import MetadataRecord, decode_control
from metadata_log.records.json_form import type_name
from metadata_log.records.printing import data_text
from metadata_log.records.registry import ControlRecord
from metadata_log.records.serde import decode_versioned
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.dump.lines import CONTROL_NAMES
from metadata_log.tools.new_files import new_directory
from metadata_log.tools.read.contents import data_files
from metadata_log.tools.read.scan import Damage, scan

DECODED: Final = "decoded"
BATCHES: Final = "batches"
_FILES: Final = OsFiles()
UNREADABLE: Final = "UNREADABLE"
BATCH_FIELDS: Final = (
    "base_offset", "last_offset", "partition_leader_epoch", "base_timestamp", "max_timestamp", "attributes",
    "is_control", "count", "size_in_bytes", "crc",
)  # fmt: skip


class DecodedRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A record and its position. If it cannot be read, `record` is `None`, `error` is the reason, and `raw` is its
    value."""

    file: str
    position: int
    offset: int
    epoch: int
    timestamp_ms: int
    type: str
    version: int
    record: MetadataRecord | ControlRecord | None
    raw: bytes = b""
    error: str | None = None


class Decoded(msgspec.Struct, frozen=True, kw_only=True):
    """The number of batches and records that were written."""

    batches: int
    records: int


def write_beside(export: Path, write: Callable[[Path, Path], Decoded], *, group_readable: bool = False) -> Decoded:
    """Let `write(export, target)` make the tables. They appear whole or not at all, and other users cannot read
    them."""
    with new_directory(export / DECODED, group_readable=group_readable) as beside:
        return write(export, beside)


def write_json_lines(export: Path, target: Path, files: OsFiles = _FILES) -> Decoded:
    """Write the tables as JSON lines, and return their sizes."""
    batches = records = 0
    with ExitStack() as stack:
        batch_lines = stack.enter_context((target / f"{BATCHES}.jsonl").open("w", encoding="utf-8"))
        by_type: dict[str, IO[str]] = {}
        for file, batch in sound_batches(export, files):
            batches += 1
            batch_lines.write(_batch_line(file, batch))
            for row in decoded_rows(file, batch):
                records += 1
                out = by_type.get(row.type)
                if out is None:
                    path = target / "records" / f"type={row.type}"
                    path.mkdir(parents=True)
                    out = by_type[row.type] = stack.enter_context((path / "records.jsonl").open("w", encoding="utf-8"))
                out.write(_record_line(row))
    return Decoded(batches=batches, records=records)


def sound_batches(export: Path, files: OsFiles = _FILES) -> Iterator[tuple[str, LocatedBatch]]:
    """Yield every intact batch of a directory's segments and checkpoints, with its file's name."""
    for name in data_files(os.listdir(export)):
        handle = files.open(str(export / name), read_only=True)
        try:
            for found in scan(handle):
                if not isinstance(found, Damage):
                    yield name, found
        finally:
            handle.close()


def raw_bytes(batch: LocatedBatch) -> bytes:
    """Return the bytes of the whole batch in the file."""
    return batch.buffer[batch.at : batch.at + batch.header.size_in_bytes]


def decoded_rows(file: str, batch: LocatedBatch) -> Iterator[DecodedRow]:
    """Yield the records of an intact batch."""
    header = batch.header
    for record in batch_records(batch.buffer, header, batch.at):
        value = record.value or b""
        try:
            kind, version, decoded = _decode(header, record.key or b"", value)
            error, raw = None, b""
        except RecordError as reason:
            kind, version, decoded, error, raw = UNREADABLE, -1, None, str(reason), value
        yield DecodedRow(
            file=file,
            position=batch.position,
            offset=record.offset,
            epoch=header.partition_leader_epoch,
            timestamp_ms=record.timestamp_ms,
            type=kind,
            version=version,
            record=decoded,
            raw=raw,
            error=error,
        )


def _decode(header: BatchHeader, key: bytes, value: bytes) -> tuple[str, int, MetadataRecord | ControlRecord]:
    if header.is_control:
        control = decode_control(key, value)
        return CONTROL_NAMES[type(control)][0], control.version, control
    decoded, version = decode_versioned(value)
    return type_name(type(decoded)), version, decoded


def _batch_line(file: str, batch: LocatedBatch) -> str:
    fields = {name: getattr(batch.header, name) for name in BATCH_FIELDS}
    raw = base64.b64encode(raw_bytes(batch)).decode("ascii")
    return json.dumps({"file": file, "position": batch.position, **fields, "raw": raw}) + "\n"


def _record_line(row: DecodedRow) -> str:
    head = (
        f'{{"file":"{row.file}","position":{row.position},"offset":{row.offset},"epoch":{row.epoch}'
        f',"timestamp_ms":{row.timestamp_ms},"version":{row.version}'
    )
    if row.record is None:
        raw = base64.b64encode(row.raw).decode("ascii")
        return f'{head},"error":{json.dumps(row.error)},"raw":"{raw}"}}\n'
    return f'{head},"data":{data_text(row.record, row.version)}}}\n'
