"""What is in a segment or a checkpoint: as the text of `kafka-dump-log --cluster-metadata-decoder`, or as rows.

`dump_text` gives byte for byte what Kafka 4.3 prints of the same bytes, so that runbooks and scripts work on it. Only
what it says of damage is our own: a record that cannot be read shows as "Error at <offset>, skipping." with our
reason, and where Kafka ends with a stack trace one of our errors is raised, after everything before the damage. Rows,
one for each record, are for JSON and tables.

Decides: the form of the output. Must not know: where the bytes come from (the caller reads the file), nor what records
do to an image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

import msgspec
from crc32c import crc32c

from metadata_log.batch import CRC_COVERS_FROM, BatchHeader, Record, batch_records, parse_header
from metadata_log.errors import MalformedRecordError, RecordError, UnsupportedBatchError
from metadata_log.offsets import Epoch, Offset
from metadata_log.records.control import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from metadata_log.records.json_form import JsonValue, data_of, json_object, json_text, type_name
from metadata_log.records.registry import ControlRecord
from metadata_log.records.serde import control_type_of, decode_control, decode_versioned

_SEGMENT_NAME: Final = re.compile(r"(\d+)\.log")
_CHECKPOINT_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_BOOTSTRAP_NAME: Final = "bootstrap.checkpoint"

_LENGTH_END: Final = 12
_LEAST_HEAD: Final = 17
"""With fewer bytes Kafka does not look for a batch any more."""

_LOG_APPEND_TIME: Final = 0x08
_DELETE_HORIZON: Final = 0x40

_CONTROL_NAMES: Final[dict[type[ControlRecord], tuple[str, str]]] = {
    LeaderChangeMessage: ("LEADER_CHANGE", " LeaderChange: "),
    SnapshotHeaderRecord: ("SNAPSHOT_HEADER", " SnapshotHeader "),
    SnapshotFooterRecord: ("SNAPSHOT_FOOTER", " SnapshotFooter "),
    KRaftVersionRecord: ("KRAFT_VERSION", " KRaftVersion "),
    VotersRecord: ("KRAFT_VOTERS", " KRaftVoters "),
}
"""The type's name, and how the text announces it."""

_QUORUM_CONTROL_TYPES: Final = range(2, 7)


class DumpRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One record. `position` is that of its batch in the file, in bytes; `data` None: it cannot be read, and `error`
    says why.
    """

    position: int
    offset: Offset
    epoch: Epoch
    timestamp_ms: int
    is_control: bool
    type: str
    version: int | None
    data: dict[str, JsonValue] | None
    error: str | None = None


def dump_text(path: str, buffer: bytes) -> Iterator[str]:
    """The lines, without their ends, that kafka-dump-log prints of the file `path` whose bytes are `buffer`.

    Raises:
        CorruptBatchError: a batch cannot be framed, or its records cannot.
        UnsupportedBatchError: a batch is compressed or older than format 2.
    """
    name = PurePath(path).name
    yield f"Dumping {path}"
    yield from _title(name)
    end = 0
    for position, header in _batches(buffer):
        yield _batch_line(buffer, position, header)
        for record in _records(buffer, position, header):
            yield _record_line(header, record)
        end = position + header.size_in_bytes
    if end < len(buffer):
        yield f"Found {len(buffer) - end} invalid bytes at the end of {name}"


def dump_rows(buffer: bytes) -> Iterator[DumpRow]:
    """A row for each record of a segment or checkpoint, in order. What follows the last whole batch is not looked at.

    Raises:
        CorruptBatchError, UnsupportedBatchError: as `dump_text`.
    """
    for position, header in _batches(buffer):
        for record in _records(buffer, position, header):
            yield _row(position, header, record)


def _title(name: str) -> Iterator[str]:
    if segment := _SEGMENT_NAME.fullmatch(name):
        yield f"Log starting offset: {int(segment[1])}"
    elif name == _BOOTSTRAP_NAME:
        yield "KRaft bootstrap snapshot"
    elif checkpoint := _CHECKPOINT_NAME.fullmatch(name):
        yield f"Snapshot end offset: {int(checkpoint[1])}, epoch: {int(checkpoint[2])}"


def _batches(buffer: bytes) -> Iterator[tuple[int, BatchHeader]]:
    """The whole batches up to a torn one, or to bytes that are all zero as in a file prepared for writing."""
    position = 0
    while len(buffer) - position >= _LEAST_HEAD:
        length = int.from_bytes(buffer[position + 8 : position + _LENGTH_END], "big", signed=True)
        if length == 0 and not any(buffer[position:]):
            return
        if position + _LENGTH_END + length > len(buffer):
            return
        header = parse_header(buffer, position)
        yield position, header
        position += header.size_in_bytes


def _records(buffer: bytes, position: int, header: BatchHeader) -> list[Record]:
    if header.compression != "none":
        raise UnsupportedBatchError(
            f"the batch at position {position}, offset {header.base_offset}, is compressed ({header.compression}); "
            "metadata logs never are, and we do not read it"
        )
    return batch_records(buffer, header, position)


def _batch_line(buffer: bytes, position: int, header: BatchHeader) -> str:
    horizon = f"OptionalLong[{header.base_timestamp}]" if header.attributes & _DELETE_HORIZON else "OptionalLong.empty"
    covered = memoryview(buffer)[position + CRC_COVERS_FROM : position + header.size_in_bytes]
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.count}"
        f" baseSequence: {header.base_sequence} lastSequence: {_sequence(header, header.last_offset_delta)}"
        f" producerId: {header.producer_id} producerEpoch: {header.producer_epoch}"
        f" partitionLeaderEpoch: {header.partition_leader_epoch} isTransactional: {json_text(header.is_transactional)}"
        f" isControl: {json_text(header.is_control)} deleteHorizonMs: {horizon} position: {position}"
        f" {_timestamp_type(header)}: {header.max_timestamp} size: {header.size_in_bytes} magic: {header.magic}"
        f" compresscodec: {header.compression} crc: {header.crc} isvalid: {json_text(crc32c(covered) == header.crc)}"
    )


def _timestamp_type(header: BatchHeader) -> str:
    return "LogAppendTime" if header.attributes & _LOG_APPEND_TIME else "CreateTime"


def _sequence(header: BatchHeader, delta: int) -> int:
    return -1 if header.base_sequence == -1 else (header.base_sequence + delta) % 2**31


def _record_line(header: BatchHeader, record: Record) -> str:
    timestamp = header.max_timestamp if header.attributes & _LOG_APPEND_TIME else record.timestamp_ms
    keys = ",".join(name for name, _ in record.headers)
    content = _control_text(record) if header.is_control else f" payload: {_payload(record)}"
    return (
        f"| offset: {record.offset} {_timestamp_type(header)}: {timestamp} keySize: {_size(record.key)}"
        f" valueSize: {_size(record.value)} sequence: {_sequence(header, record.offset - header.base_offset)}"
        f" headerKeys: [{keys}]{content}"
    )


def _size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


def _payload(record: Record) -> str:
    try:
        return json_text(json_object(*decode_versioned(_value(record))))
    except RecordError as error:
        return _unreadable(record, error)


def _control_text(record: Record) -> str:
    try:
        control_type = control_type_of(_key(record))
        if control_type not in _QUORUM_CONTROL_TYPES:
            return f" controlType: UNKNOWN({control_type})"
        control = decode_control(_key(record), _value(record))
    except RecordError as error:
        return f" {_unreadable(record, error)}"
    return _CONTROL_NAMES[type(control)][1] + json_text(data_of(control, control.version))


def _unreadable(record: Record, error: RecordError) -> str:
    return f"Error at {record.offset}, skipping. {error}"


def _row(position: int, header: BatchHeader, record: Record) -> DumpRow:
    kind, version, data, reason = "UNREADABLE", None, None, None
    try:
        if header.is_control:
            control = decode_control(_key(record), _value(record))
            kind, version = _CONTROL_NAMES[type(control)][0], control.version
            data = data_of(control, version)
        else:
            decoded, version = decode_versioned(_value(record))
            kind, data = type_name(type(decoded)), data_of(decoded, version)
    except RecordError as error:
        reason = str(error)
    return DumpRow(
        position=position,
        offset=record.offset,
        epoch=header.partition_leader_epoch,
        timestamp_ms=record.timestamp_ms,
        is_control=header.is_control,
        type=kind,
        version=version,
        data=data,
        error=reason,
    )


def _key(record: Record) -> bytes:
    if record.key is None:
        raise MalformedRecordError("it has no key")
    return record.key


def _value(record: Record) -> bytes:
    if record.value is None:
        raise MalformedRecordError("it has no value")
    return record.value
