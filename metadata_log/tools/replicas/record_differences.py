"""The differences between records of replicas at one offset, field by field.

Decides: which fields are named, and how many. Must not know: which side is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from metadata_log.errors import CorruptBatchError, RecordError
from metadata_log.files.port import Files
from metadata_log.format.batch import batch_records
from metadata_log.records import decode_control, decode_versioned
from metadata_log.records.json_form import JsonValue, data_of, json_text
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.scan import scan
from metadata_log.tools.times import time_text

OFFSETS_SHOWN: Final = 3
_VALUE_SHOWN: Final = 60
_RECORD_SHOWN: Final = 120
_OF_BATCH: Final = "batch "
_EPOCH: Final = f"{_OF_BATCH}epoch"
_Records: TypeAlias = dict[int, dict[str, JsonValue]]
"""The fields of the record at each offset, and its type under an empty name."""


class _Read(NamedTuple):
    """The records of a side from the differing batch on, and the offset after the last one, exclusive."""

    records: _Records
    end: int


def differences(files: Files, sides: Sequence[tuple[str, str, int]]) -> tuple[str, ...]:
    """Return what differs between two or more sides from a batch on: (names of the replicas, file, position) of each.

    The first offsets alone, of those that each side has in this file: a side may have them in several batches. If the
    records of a side cannot be read, that is all.

    Raises:
        OSError: a segment cannot be read.
    """
    read = [(names, _records(files, file, position)) for names, file, position in sides]
    if any(found is None for _, found in read):
        unread = ", ".join(names for names, found in read if found is None)
        return (f"the records on {unread} cannot be read",)
    named = [(names, found.records) for names, found in read if found is not None]
    end = min(found.end for _, found in read if found is not None)
    offsets = sorted({offset for _, records in named for offset in records if offset < end})
    found = (text for offset in offsets if (text := _at(offset, named)))
    return tuple(text for text, _ in zip(found, range(OFFSETS_SHOWN), strict=False))


def _at(offset: int, named: Sequence[tuple[str, _Records]]) -> str:
    """Return the text of what differs at an offset; empty where nothing does."""
    types = {str(records[offset][""]) for _, records in named if offset in records}
    if len(types) > 1:
        return f"offset {offset}: {', '.join(f'{_whole(records.get(offset))} on {names}' for names, records in named)}"
    fields = dict.fromkeys(name for _, records in named for name in records.get(offset, {}))
    parts = []
    for field in fields:
        values = [(names, records.get(offset, {}).get(field)) for names, records in named]
        if any(value != values[0][1] for _, value in values):
            sides = ", ".join(f"{_shown(field, value)} on {names}" for names, value in values)
            parts.append(f"{field or 'record'} {sides}")
    return f"offset {offset}, {''.join(types)}: {'; '.join(parts)}" if parts else ""


def _whole(fields: dict[str, JsonValue] | None) -> str:
    """Return a record as one text, with the epoch of its batch."""
    if fields is None:
        return "nothing"
    data = {name: value for name, value in fields.items() if name and not name.startswith(_OF_BATCH)}
    text = json_text(data)
    shown = text if len(text) <= _RECORD_SHOWN else text[: _RECORD_SHOWN - 1] + "…"
    return f"{fields['']} {shown} of epoch {fields[_EPOCH]}"


def _shown(field: str, value: JsonValue) -> str:
    text = "nothing" if value is None else json_text(value) if field else str(value)
    return text if len(text) <= _VALUE_SHOWN else text[: _VALUE_SHOWN - 1] + "…"


def _records(files: Files, file: str, position: int) -> _Read | None:
    """Return records from a batch on; None if the batch cannot be read, or a running node has removed the file."""
    try:
        handle = files.open(file, read_only=True)
    except FileNotFoundError:
        return None
    try:
        found: _Read | None = None
        for batch in scan(handle, position):
            if not isinstance(batch, LocatedBatch):
                break
            records = dict(_of_batch(batch))
            found = _Read({**(found.records if found else {}), **records}, int(batch.header.next_offset))
            if len(found.records) >= OFFSETS_SHOWN:
                break
        return found
    except CorruptBatchError:
        return None
    finally:
        handle.close()


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
