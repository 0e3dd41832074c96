"""Compares the records of replicas at the same offsets, field by field. Must not know: which side is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

import msgspec

from metadata_log.errors import CorruptBatchError, RecordError
from metadata_log.files.port import Files
from metadata_log.format.batch import batch_records
from metadata_log.records import decode_control, decode_versioned
from metadata_log.records.json_form import JsonValue, data_of, json_text
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.log_reader import LogReader
from metadata_log.tools.times import time_text

OFFSETS_SHOWN: Final = 3
_VALUE_SHOWN: Final = 60
_VALUE_KEPT: Final = 1000
"""Characters of a value that are kept for an HTML page; a text shows only `_VALUE_SHOWN`."""
_RECORD_SHOWN: Final = 120
_WHOLE_SHOWN: Final = 1000
_OF_BATCH: Final = "batch "
_EPOCH: Final = f"{_OF_BATCH}epoch"
_Records: TypeAlias = dict[int, dict[str, JsonValue]]
"""The fields of the record at each offset, and its type under an empty name."""


class _Read(NamedTuple):
    """The records of a side from the differing batch on, and the offset one past the last."""

    records: _Records
    end: int


class FieldDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A field that differs, with its value on each side. Its name is `record` if the records have different types."""

    name: str
    values: tuple[str, ...]


class RecordDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that differ at one offset. `type` is empty if the sides hold records of different types."""

    offset: int
    type: str
    fields: tuple[FieldDifference, ...]


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The first records that differ. `unread`: the indexes of the sides whose records cannot be read."""

    records: tuple[RecordDifference, ...] = ()
    unread: tuple[int, ...] = ()


def compare_records(files: Files, places: Sequence[tuple[str, int]]) -> Compared:
    """Return the first records that differ between sides, each given by the file and position of a batch.

    Only offsets that each side has in this file are compared. The records of one side may be in several batches.

    Raises:
        OSError: a segment cannot be read.
    """
    read = [_records(files, file, position) for file, position in places]
    unread = tuple(number for number, found in enumerate(read) if found is None)
    if unread:
        return Compared(unread=unread)
    sides = [found for found in read if found is not None]
    end = min(found.end for found in sides)
    offsets = sorted({offset for found in sides for offset in found.records if offset < end})
    found = (record for offset in offsets if (record := _at(offset, [side.records for side in sides])) is not None)
    return Compared(records=tuple(islice(found, OFFSETS_SHOWN)))


def differences(files: Files, sides: Sequence[tuple[str, str, int]]) -> tuple[str, ...]:
    """Return the result of `compare_records` as texts.

    If the records of a side cannot be read, the only text says so.

    Args:
        sides: the names of each side's replicas, and the file and position of its batch.

    Raises:
        OSError: a segment cannot be read.
    """
    compared = compare_records(files, [(file, position) for _, file, position in sides])
    if compared.unread:
        return (f"the records on {', '.join(sides[number][0] for number in compared.unread)} cannot be read",)
    return tuple(_text(record, [names for names, _, _ in sides]) for record in compared.records)


def _text(record: RecordDifference, names: Sequence[str]) -> str:
    def sides(field: FieldDifference, limit: int) -> str:
        return ", ".join(f"{_cut(value, limit)} on {name}" for value, name in zip(field.values, names, strict=True))

    if not record.type:
        return f"offset {record.offset}: {sides(record.fields[0], _WHOLE_SHOWN)}"
    fields = (f"{field.name} {sides(field, _VALUE_SHOWN)}" for field in record.fields)
    return f"offset {record.offset}, {record.type}: {'; '.join(fields)}"


def _at(offset: int, sides: Sequence[_Records]) -> RecordDifference | None:
    """Return the difference at an offset, or None if the records are equal."""
    types = {str(records[offset][""]) for records in sides if offset in records}
    if len(types) > 1:
        whole = FieldDifference(name="record", values=tuple(_whole(records.get(offset)) for records in sides))
        return RecordDifference(offset=offset, type="", fields=(whole,))
    fields = []
    for field in dict.fromkeys(name for records in sides for name in records.get(offset, {})):
        values = [records.get(offset, {}).get(field) for records in sides]
        if any(value != values[0] for value in values):
            shown = tuple(_cut(_shown(field, value), _VALUE_KEPT) for value in values)
            fields.append(FieldDifference(name=field or "record", values=shown))
    return RecordDifference(offset=offset, type="".join(types), fields=tuple(fields)) if fields else None


def _whole(fields: dict[str, JsonValue] | None) -> str:
    """Return a record as one text, with the epoch of its batch."""
    if fields is None:
        return "nothing"
    data = {name: value for name, value in fields.items() if name and not name.startswith(_OF_BATCH)}
    return f"{fields['']} {_cut(json_text(data), _RECORD_SHOWN)} of epoch {fields[_EPOCH]}"


def _shown(field: str, value: JsonValue) -> str:
    return "nothing" if value is None else json_text(value) if field else str(value)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _records(files: Files, file: str, position: int) -> _Read | None:
    """Return records from a batch on; None if the batch cannot be read, or a running node has removed the file."""
    found: _Read | None = None
    with closing(LogReader(files, [file], start=position).seen(past_removed=True)) as batches:
        for batch in batches:
            if not isinstance(batch, LocatedBatch):
                break
            try:
                records = dict(_of_batch(batch))
            except CorruptBatchError:
                return None
            found = _Read({**(found.records if found else {}), **records}, int(batch.header.next_offset))
            if len(found.records) >= OFFSETS_SHOWN:
                break
    return found


def _of_batch(batch: LocatedBatch) -> Iterator[tuple[int, dict[str, JsonValue]]]:
    records = batch_records(batch.buffer, batch.header, batch.at)
    own: dict[str, JsonValue] = {
        _EPOCH: int(batch.header.partition_leader_epoch),
        f"{_OF_BATCH}time": time_text(batch.header.max_timestamp),
    }
    for record in records:
        key, value = record.key or b"", record.value or b""
        try:
            if batch.header.is_control:
                control = decode_control(key, value)
                name, data = type(control).__name__, data_of(control, control.version)
            else:
                decoded, version = decode_versioned(value)
                name, data = type(decoded).__name__, data_of(decoded, version)
        except RecordError as error:
            name, data = str(error), {"value": value.hex()}
        yield int(record.offset), {"": name, **data, **own}
