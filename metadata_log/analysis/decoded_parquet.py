"""The decoded tables of an export as Parquet: a typed column for each field, a folder for each record type.

Decides: the tables' columns and row groups. Must not know: how records are decoded (`metadata_log.columnar` does). Ids
are text in Kafka's form; raw batches are binary. Rows are written by the tens of thousands, so memory stays constant.

    decoded/batches.parquet
    decoded/records/type=TOPIC_RECORD/records.parquet
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from metadata_log.columnar.chunks import Chunk, chunks
from metadata_log.columnar.objects import records_array
from metadata_log.columnar.records import decode_values
from metadata_log.columnar.spans import Ints
from metadata_log.columnar.types import struct_type
from metadata_log.errors import RecordError
from metadata_log.files.os_files import OsFiles
from metadata_log.records import decode_control
from metadata_log.records.json_form import type_name
from metadata_log.tools.dump.decoded import BATCH_FIELDS, BATCHES, UNREADABLE, Decoded, raw_bytes, sound_batches
from metadata_log.tools.dump.lines import CONTROL_NAMES

_ROWS: Final = 50_000
_RAW_BYTES: Final = 32 << 20
_TIME: Final = pa.timestamp("ms", tz="UTC")
_PLACE: Final = [
    ("file", pa.dictionary(pa.int32(), pa.string())), ("position", pa.int64()), ("offset", pa.int64()),
    ("epoch", pa.int32()), ("timestamp_ms", _TIME), ("version", pa.int16()),
]  # fmt: skip
_UNREADABLE_FIELDS: Final = [pa.field("raw", pa.binary()), pa.field("error", pa.string())]
_BATCH_TYPES: Final = {
    "base_offset": pa.int64(), "last_offset": pa.int64(), "partition_leader_epoch": pa.int32(),
    "base_timestamp": _TIME, "max_timestamp": _TIME, "attributes": pa.int16(), "is_control": pa.bool_(),
    "count": pa.int32(), "size_in_bytes": pa.int32(), "crc": pa.uint32(),
}  # fmt: skip


def write_parquet(export: Path, target: Path, files: OsFiles | None = None) -> Decoded:
    """Write the tables as Parquet, and return their sizes."""
    batches = records = 0
    with ExitStack() as stack:
        tables = _Tables(target, stack)
        for chunk in chunks(sound_batches(export, files or OsFiles())):
            batches += len(chunk.batches)
            records += len(chunk.values) + len(chunk.control)
            tables.add(chunk)
    return Decoded(batches=batches, records=records)


class _Tables:
    """The table of batches, and a table for each type of record, created with the first one."""

    def __init__(self, target: Path, stack: ExitStack) -> None:
        self._target = target
        self._stack = stack
        fields = [_PLACE[0], _PLACE[1], *((name, _BATCH_TYPES[name]) for name in BATCH_FIELDS), ("raw", pa.binary())]
        self._batches = stack.enter_context(_Table(target / f"{BATCHES}.parquet", pa.schema(fields)))
        self._by_type: dict[str, _Table] = {}

    def add(self, chunk: Chunk) -> None:
        """Add the batches and all their records."""
        self._add_batches(chunk)
        unreadable: list[tuple[int, int, int, int, bytes, str]] = []
        for found in decode_values(chunk.values):
            if found.record is not None and found.data is not None:
                table = self._table(type_name(found.record), list(struct_type(found.record)))
                table.add([*_places(chunk, found.rows, found.versions), *found.data.flatten()])
            for row, error in zip(found.rows.tolist(), found.errors, strict=False):
                place = chunk.positions[row], chunk.offsets[row], chunk.epochs[row], chunk.times_ms[row]
                unreadable.append((*map(int, place), chunk.values[row], error))
        unreadable += self._add_control(chunk)
        if unreadable:
            *places, raw, errors = zip(*unreadable, strict=True)
            versions = [-1] * len(unreadable)
            self._table(UNREADABLE, _UNREADABLE_FIELDS).add(
                [_files(chunk, len(unreadable)), *places, versions, raw, errors]
            )

    def _add_batches(self, chunk: Chunk) -> None:
        """Add the batches, in pieces, since a batch may have megabytes."""
        held: list[list[Any]] = []
        size = 0
        for batch in chunk.batches:
            raw = raw_bytes(batch)
            held.append([batch.position, *(getattr(batch.header, name) for name in BATCH_FIELDS), raw])
            size += len(raw)
            if size >= _RAW_BYTES or batch is chunk.batches[-1]:
                self._batches.add([_files(chunk, len(held)), *zip(*held, strict=True)], size)
                held, size = [], 0

    def _add_control(self, chunk: Chunk) -> list[tuple[int, int, int, int, bytes, str]]:
        """Add the control records, and return those that cannot be read."""
        unreadable = []
        for batch, record in chunk.control:
            epoch, value = batch.header.partition_leader_epoch, record.value or b""
            place = int(batch.position), int(record.offset), int(epoch), int(record.timestamp_ms)
            try:
                control = decode_control(record.key or b"", value)
            except RecordError as error:
                unreadable.append((*place, value, str(error)))
                continue
            table = self._table(CONTROL_NAMES[type(control)][0], list(struct_type(type(control))))
            columns = [[one] for one in (*place, control.version)]
            table.add([_files(chunk, 1), *columns, *records_array(type(control), [control]).flatten()])
        return unreadable

    def _table(self, name: str, fields: list[pa.Field]) -> _Table:
        table = self._by_type.get(name)
        if table is None:
            named = [pa.field(_column_name(field.name), field.type) for field in fields]
            schema = pa.schema([*(pa.field(*place) for place in _PLACE), *named])
            path = self._target / "records" / f"type={name}" / "records.parquet"
            table = self._by_type[name] = self._stack.enter_context(_Table(path, schema))
        return table


def _column_name(name: str) -> str:
    """Return the column's name; it differs from the field's if a fixed column has that name, as LeaderChange's
    version."""
    return f"{name}_" if name in {place for place, _ in _PLACE} else name


def _places(chunk: Chunk, rows: Ints, versions: Any) -> list[Any]:
    arrays = (chunk.positions, chunk.offsets, chunk.epochs, chunk.times_ms)
    return [_files(chunk, len(rows)), *(array[rows] for array in arrays), versions]


def _files(chunk: Chunk, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [chunk.file])


class _Table:
    """A Parquet file that collects columns and writes them in row groups."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._pieces: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def add(self, columns: list[Any], size: int = 0) -> None:
        """Add rows, given as Arrow or numpy arrays or sequences in the schema's order; `size`: their large bytes."""
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        self._pieces.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows += len(arrays[0])
        self._bytes += size
        if self._rows >= _ROWS or self._bytes >= _RAW_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._pieces:
            self._writer.write_table(pa.Table.from_batches(self._pieces, self._schema).unify_dictionaries())
        self._pieces, self._rows, self._bytes = [], 0, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()
