"""Encoding and decoding of records: finds the generated function, and turns all its errors into one.

A metadata record's value is a frame (unsigned varints: frame version 1, api key, version) and the body. A control
record has its type in the key (int16 version 0, int16 type) and its version in front of the body.

Like Kafka, this decodes some bytes that Kafka never writes: a bool of 2, superfluous bytes of a number, a tag with its
default, an unknown tag. A new encoding would differ. So nodes store and forward received bytes, never a new encoding.

Source: KIP-631 (the frame), KIP-482 (flexible messages), KIP-595 (control records).
"""

from __future__ import annotations

import struct
from typing import Final, cast

from metadata_log.errors import InvariantViolation, MalformedRecordError, UnknownRecordError
from metadata_log.records.codec import CONTROL_READERS, READERS, WRITERS
from metadata_log.records.primitives import read_uvarint
from metadata_log.records.registry import METADATA_RECORDS, ControlRecord, MetadataRecord

_FRAME_VERSION: Final = 1
_FRAME_BYTES: Final = 3
_CONTROL_KEY: Final = struct.Struct(">hh")
_INT16: Final = struct.Struct(">h")
_READ_ERRORS: Final = (struct.error, IndexError, UnicodeDecodeError, MalformedRecordError)
_WRITE_ERRORS: Final = (KeyError, struct.error, UnicodeEncodeError, MalformedRecordError)


def decode_record(value: bytes) -> MetadataRecord:
    """Return the record in a value of a data batch.

    Raises:
        UnknownRecordError: Kafka 4.4 has no such type, or no such version of it.
        MalformedRecordError: the bytes are not a record; malformed bytes raise nothing else.
    """
    read = READERS.get(value[:_FRAME_BYTES])
    if read is None:
        return decode_versioned(value)[0]
    try:
        return read(value)
    except _READ_ERRORS as error:
        raise _malformed(value[1], value[2], error) from error


def decode_versioned(value: bytes) -> tuple[MetadataRecord, int]:
    """Return the record, as `decode_record`, and the version in which it was written."""
    if value[:_FRAME_BYTES] in READERS:
        return decode_record(value), value[2]
    api_key, version, end = _frame(value)
    frame = bytes((_FRAME_VERSION, api_key, version)) if api_key < 128 and version < 128 else b""
    if frame not in READERS:
        raise UnknownRecordError(api_key, version)
    return decode_record(frame + value[end:]), version


def api_key_of(value: bytes) -> int:
    """Return the api key of the record in a value of a data batch, without decoding the record.

    Raises:
        MalformedRecordError: the value has no frame.
    """
    if len(value) >= _FRAME_BYTES and value[0] == _FRAME_VERSION and value[1] < 128:
        return value[1]
    return _frame(value)[0]


def encode_record(record: MetadataRecord, version: int) -> bytes:
    """Return the encoding of `record` in this version; `levels.write_version` returns the version to write.

    Raises:
        InvariantViolation: the record has no such version, or has a field set that this version lacks.
        MalformedRecordError: a number, a string or an id does not fit its wire form.
    """
    try:
        return WRITERS[type(record)][version](record)
    except _WRITE_ERRORS as error:
        raise _unwritable(record, version, error) from error


def encode_control(record: ControlRecord) -> tuple[bytes, bytes]:
    """Return key and value of a control record, in the version of its field `version`.

    Raises:
        InvariantViolation, MalformedRecordError: as `encode_record`.
    """
    try:
        value = WRITERS[type(record)][record.version](record)
    except _WRITE_ERRORS as error:
        raise _unwritable(record, record.version, error) from error
    return _CONTROL_KEY.pack(0, record.CONTROL_TYPE), value


def control_type_of(key: bytes) -> int:
    """Return the type in the key of a control record, known or not.

    Raises:
        MalformedRecordError: the bytes are not such a key.
    """
    if len(key) < _CONTROL_KEY.size:
        raise MalformedRecordError(f"the key of a control record has {len(key)} bytes, not {_CONTROL_KEY.size}")
    version, control_type = _CONTROL_KEY.unpack_from(key)
    if version < 0:
        raise MalformedRecordError(f"the key of a control record has version {version}")
    return cast(int, control_type)


def decode_control(key: bytes, value: bytes) -> ControlRecord:
    """Return the control record in these bytes.

    Raises:
        UnknownRecordError: Kafka 4.4 has no such type (2 to 6 are the quorum's), or no such version of it.
        MalformedRecordError: the bytes are not a control record.
    """
    control_type = control_type_of(key)
    if len(value) < _INT16.size:
        raise MalformedRecordError(f"a control record of type {control_type} has no version")
    version: int = _INT16.unpack_from(value)[0]
    readers = CONTROL_READERS.get(control_type, ())
    if not 0 <= version < len(readers):
        raise UnknownRecordError(control_type, version, kind="control record")
    try:
        return readers[version](value)
    except _READ_ERRORS as error:
        raise MalformedRecordError(f"control record of type {control_type}, version {version}: {error}") from error


def control_or_newer(key: bytes, value: bytes) -> ControlRecord | UnknownRecordError:
    """Return the control record in these bytes, or its UnknownRecordError if a later release wrote it.

    Raises:
        MalformedRecordError: as `decode_control`.
    """
    try:
        return decode_control(key, value)
    except UnknownRecordError as error:
        return error


def _unwritable(record: MetadataRecord | ControlRecord, version: int, error: Exception) -> Exception:
    if isinstance(error, KeyError):
        return InvariantViolation(f"{type(record).__name__} has no version {version}")
    return MalformedRecordError(f"{type(record).__name__}, version {version}: {error}")


def _frame(value: bytes) -> tuple[int, int, int]:
    """Return api key, version and the position of the body, also if a number has superfluous bytes."""
    try:
        frame_version, position = read_uvarint(value, 0)
        api_key, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
    except (IndexError, MalformedRecordError) as error:
        raise MalformedRecordError(f"a value of {len(value)} bytes has no frame of a metadata record") from error
    if frame_version != _FRAME_VERSION:
        raise MalformedRecordError(f"frame version {frame_version}: only {_FRAME_VERSION} is known")
    return api_key, version, position


def _malformed(api_key: int, version: int, error: Exception) -> MalformedRecordError:
    return MalformedRecordError(f"{METADATA_RECORDS[api_key].__name__}, version {version}: {error}")
