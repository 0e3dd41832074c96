"""Logs with terminal control sequences in every text, or numbers that name nothing; every checksum is right.

Decides: which fields of which records are changed. Must not know: what reads the logs.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.format.batch import batch_records, batch_values, parse_header
from metadata_log.records import FeatureLevelRecord, MetadataRecord, decode_control, decode_versioned, encode_record
from tests.support.damage import split, with_controls, with_values, write
from tests.support.image_logs import FIXTURES

NODE: Final = FIXTURES / "every-record" / "node-1" / "data"
METADATA: Final = "__cluster_metadata-0"
UNSEEN: Final = (
    *range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x2028, 0x202F),
    *range(0x2060, 0x206A), 0xFEFF, 0xFFF9, 0xE0001, *range(0xE0020, 0xE0080),
)  # fmt: skip
HOSTILE: Final = "\x1b]0;owned\x07\x1b[2J\x9b31m" + "".join(map(chr, UNSEEN))


def hostile_node(target: Path) -> Path:
    """Make a node's log directory in which every text of segments and checkpoints is followed by `HOSTILE`."""
    shutil.copytree(NODE, target, copy_function=shutil.copyfile)
    for path in (target / METADATA).iterdir():
        if path.suffix in (".log", ".checkpoint"):
            write(path, [_hostile(batch) for batch in split(path)])
    for path in (target / METADATA).glob("*index"):
        path.unlink()  # positions have changed
    return target


def _hostile(batch: bytes) -> bytes:
    header = parse_header(batch)
    if header.is_control:
        raw = [decode_control(one.key or b"", one.value or b"") for one in batch_records(batch, header)]
        return with_controls(batch, [changed(record, _hostile_leaf) for record in raw])
    decoded = map(decode_versioned, batch_values(batch, header))
    return with_values(batch, [encode_record(_hostile_record(one), version) for one, version in decoded])


def _hostile_record(record: MetadataRecord) -> MetadataRecord:
    """Return the record with hostile texts; features stay, since unknown ones belong to later releases and are not
    shown."""
    return record if isinstance(record, FeatureLevelRecord) else changed(record, _hostile_leaf)


def _hostile_leaf(value: object) -> object:
    return value + HOSTILE if isinstance(value, str) and value else value


def changed(record: object, change: Callable[[object], object]) -> MetadataRecord:
    """Return a record with every leaf changed, also in lists and nested structs."""
    fields = {name: _changed(getattr(record, name), change) for name in record.__struct_fields__}  # type: ignore[attr-defined]
    return msgspec.structs.replace(record, **fields)  # type: ignore[return-value, type-var]


def _changed(value: object, change: Callable[[object], object]) -> object:
    if isinstance(value, tuple):
        return tuple(_changed(one, change) for one in value)
    return changed(value, change) if isinstance(value, msgspec.Struct) else change(value)


def every_record() -> list[tuple[MetadataRecord, int]]:
    """Return the last record of each type in the log of all types, and its version."""
    found: dict[type, tuple[MetadataRecord, int]] = {}
    for path in sorted((NODE / METADATA).glob("*.log")):
        for batch in split(path):
            header = parse_header(batch)
            for record, version in map(decode_versioned, [] if header.is_control else batch_values(batch, header)):
                found[type(record)] = (record, version)
    return list(found.values())


def strange_numbers() -> Iterator[tuple[str, MetadataRecord, int]]:
    """Yield records in which the numbers of one field name nothing, with their versions."""
    for record, version in every_record():
        for name in sorted(_number_fields(record)):
            for number in (0, -1, 99, 127):
                yield f"{type(record).__name__}.{name}={number}", _with_number(record, name, number), version


def _number_fields(record: object) -> set[str]:
    found = set[str]()
    for name in record.__struct_fields__:  # type: ignore[attr-defined]
        value = getattr(record, name)
        found |= {name} if isinstance(value, int) and not isinstance(value, bool) else set()
        for one in value if isinstance(value, tuple) else (value,):
            found |= _number_fields(one) if isinstance(one, msgspec.Struct) else set()
    return found


def _with_number(record: object, name: str, number: int) -> MetadataRecord:
    fields = {}
    for field in record.__struct_fields__:  # type: ignore[attr-defined]
        value = getattr(record, field)
        if field == name and isinstance(value, int):
            fields[field] = number
        elif isinstance(value, tuple):
            fields[field] = tuple(
                _with_number(one, name, number) if isinstance(one, msgspec.Struct) else one for one in value
            )
        elif isinstance(value, msgspec.Struct):
            fields[field] = _with_number(value, name, number)
    return msgspec.structs.replace(record, **fields)  # type: ignore[return-value, type-var]
