"""The lines that Kafka's dump tool prints of a batch, built fast.

Decides: the text of a batch and of its records, as in Kafka 4.4 or 3.9. Must not know: files, titles, the selection.
Records of the common shape (no key, no headers, the batch's own time) take one loop. All others take the slow path, and
both produce the same text.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from metadata_log.errors import MalformedRecordError, RecordError, UnsupportedBatchError
from metadata_log.format.batch import CRC_COVERS_FROM, HEADER_SIZE, BatchHeader, Record, batch_records
from metadata_log.format.crc import crc32c
from metadata_log.format.frame_tables import DELTAS
from metadata_log.format.varint import varint
from metadata_log.records import BrokerRegistrationChangeRecord, ClearElrRecord, RegisterBrokerRecord
from metadata_log.records.control import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from metadata_log.records.printing import BY_FRAME, READ_ERRORS, data_text, metadata_text
from metadata_log.records.registry import ControlRecord, MetadataRecord
from metadata_log.records.serde import control_type_of, decode_control, decode_versioned

_LOG_APPEND_TIME: Final = 0x08
_DELETE_HORIZON: Final = 0x40
_UNCOMMON: Final = 0xFFFF & ~0x10
"""Attributes that no batch of the common shape has."""

CONTROL_NAMES: Final[dict[type[ControlRecord], tuple[str, str]]] = {
    LeaderChangeMessage: ("LEADER_CHANGE", " LeaderChange: "),
    SnapshotHeaderRecord: ("SNAPSHOT_HEADER", " SnapshotHeader "),
    SnapshotFooterRecord: ("SNAPSHOT_FOOTER", " SnapshotFooter "),
    KRaftVersionRecord: ("KRAFT_VERSION", " KRaftVersion "),
    VotersRecord: ("KRAFT_VOTERS", " KRaftVoters "),
}
"""The type's name, and its prefix in the text."""

_QUORUM_CONTROL_TYPES: Final = range(2, 7)

Known: TypeAlias = dict[bytes, tuple[Callable[[bytes], MetadataRecord], str, Callable[[Any], str]]]
_NEWER_THAN_3_9: Final = (b"\x01\x00\x04", b"\x01\x11\x03", b"\x01\x1c\x00")
"""The first bytes of values that 3.9 cannot read completely: RegisterBroker 4, BrokerRegistrationChange 3, ClearElr
0."""

_PREFIXES: Final[list[bytes]] = []
"""The first bytes of a record of the common shape, by its offset delta: no attributes, no own time, no key.
Grows."""


class Style(enum.StrEnum):
    """The Kafka release whose text is printed."""

    KAFKA_4_3 = "4.3"
    KAFKA_3_9 = "3.9"


_KNOWN: Final[dict[Style, Known]] = {
    Style.KAFKA_4_3: BY_FRAME,
    Style.KAFKA_3_9: {frame: how for frame, how in BY_FRAME.items() if frame not in _NEWER_THAN_3_9},
}


def batch_lines(
    buffer: bytes,
    position: int,
    header: BatchHeader,
    at: int,
    style: Style = Style.KAFKA_4_3,
    chosen: Callable[[Record], bool] | None = None,
) -> list[str]:
    """Return the line of the batch, and those of its records. The batch is at `position` in its file and at `at` in
    `buffer`.

    With `chosen`, only the records that it accepts; without any, no line at all.

    Raises:
        CorruptBatchError: its records cannot be framed.
        UnsupportedBatchError: it is compressed.
    """
    require_uncompressed(header, position)
    if chosen is None:
        lines = [_batch_line(buffer, position, header, at)]
        is_common = not header.attributes & _UNCOMMON and header.base_sequence == -1
        if is_common and _add_common(lines, buffer, header, at, _KNOWN[style]):
            return lines
        return [lines[0], *(_record_line(header, record, style) for record in batch_records(buffer, header, at))]
    records = [record for record in batch_records(buffer, header, at) if chosen(record)]
    if not records:
        return []
    return [_batch_line(buffer, position, header, at), *(_record_line(header, record, style) for record in records)]


def require_uncompressed(header: BatchHeader, position: int) -> None:
    """Check that a batch's records can be read.

    Raises:
        UnsupportedBatchError: it is compressed.
    """
    if header.compression != "none":
        raise UnsupportedBatchError.compressed(position, header.base_offset, header.compression)


def _add_common(lines: list[str], buffer: bytes, header: BatchHeader, at: int, known: Known) -> bool:
    """Add the lines of the records. At the first record of another shape return False; the added lines are then
    invalid."""
    values = _common_values(buffer, header, at)
    if values is None:
        return False
    middle = f" CreateTime: {header.base_timestamp} keySize: -1 valueSize: "
    try:
        for offset, value in enumerate(values, header.base_offset):
            lines.append(
                f"| offset: {offset}{middle}{len(value)} sequence: -1 headerKeys: [] payload: {_text(value, known)}"
            )
    except IndexError:
        return False
    return True


def common_values(buffer: bytes, header: BatchHeader, at: int) -> list[bytes] | None:
    """Return the values of a data batch whose records all have the common shape and time, or None."""
    return None if header.attributes else _common_values(buffer, header, at)


def _common_values(buffer: bytes, header: BatchHeader, at: int) -> list[bytes] | None:
    end = at + header.size_in_bytes
    at += HEADER_SIZE
    if not 0 < header.count <= end - at:
        return None
    values: list[bytes] = []
    try:
        for prefix in _prefixes(header.count):
            length = buffer[at]
            at += 1
            if length >= 0x80:
                length = length & 0x7F | buffer[at] << 7
                at += 1
            first = at + len(prefix)
            if length & 1 or length >= 0x4000 or not buffer.startswith(prefix, at):
                return None
            at += length >> 1
            size = buffer[first]
            first += 1
            if size >= 0x80:
                size = size & 0x7F | buffer[first] << 7
                first += 1
            if size != (at - 1 - first) << 1 or buffer[at - 1] != 0 or at > end:
                return None
            values.append(buffer[first : at - 1])
    except IndexError:
        return None
    return values if at == end else None


def _prefixes(count: int) -> list[bytes]:
    if count > len(DELTAS):
        return [b"\x00\x00" + varint(delta) + b"\x01" for delta in range(count)]
    if count > len(_PREFIXES):
        _PREFIXES.extend(b"\x00\x00" + delta + b"\x01" for delta in DELTAS[len(_PREFIXES) : count])
    return _PREFIXES[:count]


def _text(value: bytes, known: Known) -> str:
    """Return the payload's text. Raises IndexError if it cannot be read, so that the slow path reports the reason."""
    found = known.get(value[:3])
    if found is None:
        raise IndexError
    read, head, text = found
    try:
        return f"{head}{text(read(value))}}}"
    except READ_ERRORS as error:
        raise IndexError from error


def _batch_line(buffer: bytes, position: int, header: BatchHeader, at: int) -> str:
    horizon = f"OptionalLong[{header.base_timestamp}]" if header.attributes & _DELETE_HORIZON else "OptionalLong.empty"
    covered = memoryview(buffer)[at + CRC_COVERS_FROM : at + header.size_in_bytes]
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.count}"
        f" baseSequence: {header.base_sequence} lastSequence: {_sequence(header, header.last_offset_delta)}"
        f" producerId: {header.producer_id} producerEpoch: {header.producer_epoch}"
        f" partitionLeaderEpoch: {header.partition_leader_epoch}"
        f" isTransactional: {'true' if header.is_transactional else 'false'}"
        f" isControl: {'true' if header.is_control else 'false'} deleteHorizonMs: {horizon} position: {position}"
        f" {_timestamp_type(header)}: {header.max_timestamp} size: {header.size_in_bytes} magic: {header.magic}"
        f" compresscodec: {header.compression} crc: {header.crc}"
        f" isvalid: {'true' if crc32c(covered) == header.crc else 'false'}"
    )


def _timestamp_type(header: BatchHeader) -> str:
    return "LogAppendTime" if header.attributes & _LOG_APPEND_TIME else "CreateTime"


def _sequence(header: BatchHeader, delta: int) -> int:
    return -1 if header.base_sequence == -1 else (header.base_sequence + delta) % 2**31


def _record_line(header: BatchHeader, record: Record, style: Style) -> str:
    timestamp = header.max_timestamp if header.attributes & _LOG_APPEND_TIME else record.timestamp_ms
    keys = ",".join(name for name, _ in record.headers)
    content = _control_text(record, style) if header.is_control else f" payload: {_payload(record, style)}"
    return (
        f"| offset: {record.offset} {_timestamp_type(header)}: {timestamp} keySize: {_size(record.key)}"
        f" valueSize: {_size(record.value)} sequence: {_sequence(header, record.offset - header.base_offset)}"
        f" headerKeys: [{keys}]{content}"
    )


def _size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


def _payload(record: Record, style: Style) -> str:
    try:
        text = metadata_text(value_of(record))
        return text if style is Style.KAFKA_4_3 else _payload_as_3_9(record, text)
    except RecordError as error:
        return _unreadable(record, error)


def _payload_as_3_9(record: Record, text: str) -> str:
    """Return the text in the form of 3.9, which is too old for some records: two of its errors, and one field less."""
    decoded, version = decode_versioned(value_of(record))
    match decoded:
        case ClearElrRecord():
            unknown = (
                f"org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id {decoded.API_KEY}"
            )
            return f"Error at {record.offset}, skipping. {unknown}"
        case RegisterBrokerRecord() if version > 3:
            return f"Error at {record.offset}, skipping. Failed to deserialize record with type {decoded.API_KEY}"
        case BrokerRegistrationChangeRecord() if version > 2:
            return text.replace(data_text(decoded, version), data_text(decoded, 2))
        case _:
            return text


def _control_text(record: Record, style: Style) -> str:
    try:
        control_type = control_type_of(key_of(record))
        if control_type not in _QUORUM_CONTROL_TYPES:
            return f" controlType: UNKNOWN({control_type})"
        if style is Style.KAFKA_3_9 and control_type == LeaderChangeMessage.CONTROL_TYPE:
            return f" controlType: LEADER_CHANGE({control_type})"
        control = decode_control(key_of(record), value_of(record))
    except RecordError as error:
        return f" {_unreadable(record, error)}"
    return CONTROL_NAMES[type(control)][1] + data_text(control, control.version)


def _unreadable(record: Record, error: RecordError) -> str:
    return f"Error at {record.offset}, skipping. {error}"


def key_of(record: Record) -> bytes:
    """Return the record's key.

    Raises:
        MalformedRecordError: it has none.
    """
    if record.key is None:
        raise MalformedRecordError("it has no key")
    return record.key


def value_of(record: Record) -> bytes:
    """Return the record's value.

    Raises:
        MalformedRecordError: it has none.
    """
    if record.value is None:
        raise MalformedRecordError("it has no value")
    return record.value
