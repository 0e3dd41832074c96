"""The decoded tables of an export as Parquet: a typed column for each field, a folder for each record type.

Decides: the Arrow type of a field. Must not know: which tables there are (`tools.dump.decoded` does). Ids are text in
Kafka's form; raw batches are binary. Rows are written by the tens of thousands, so memory stays constant.

    decoded/batches.parquet
    decoded/records/type=TOPIC_RECORD/records.parquet
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import id_text
from metadata_log.records import MetadataRecord
from metadata_log.records.codec import READERS
from metadata_log.records.printing import READ_ERRORS
from metadata_log.records.registry import ControlRecord
from metadata_log.records.wire import Field, schema_of
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.dump.decoded import (
    BATCH_FIELDS,
    BATCHES,
    Decoded,
    DecodedRow,
    decoded_rows,
    raw_bytes,
    sound_batches,
)
from metadata_log.tools.dump.lines import common_values

_Row: TypeAlias = tuple[str, int, int, int, int, int, MetadataRecord | ControlRecord | None, bytes, str | None]
"""File, position, offset, epoch, timestamp, version, record; raw bytes and error if the record cannot be read."""
_ONE_BYTE: Final = 0x80
"""Types and versions from this value on take two bytes."""
_known_id_text: Final = lru_cache(1 << 16)(id_text)
_ROWS: Final = 50_000
_RAW_BYTES: Final = 32 << 20
_TYPES: Final = {
    "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "uint16": pa.uint16(), "float64": pa.float64(), "uuid": pa.string(), "string": pa.string(), "bytes": pa.binary(),
}  # fmt: skip
_TIME: Final = pa.timestamp("ms", tz="UTC")
_PLACE: Final = [
    ("file", pa.dictionary(pa.int32(), pa.string())), ("position", pa.int64()), ("offset", pa.int64()),
    ("epoch", pa.int32()), ("timestamp_ms", _TIME), ("version", pa.int16()),
]  # fmt: skip
_BATCH_TYPES: Final = {
    "base_offset": pa.int64(), "last_offset": pa.int64(), "partition_leader_epoch": pa.int32(),
    "base_timestamp": _TIME, "max_timestamp": _TIME, "attributes": pa.int16(), "is_control": pa.bool_(),
    "count": pa.int32(), "size_in_bytes": pa.int32(), "crc": pa.uint32(),
}  # fmt: skip


def write_parquet(export: Path, target: Path, files: OsFiles | None = None) -> Decoded:
    """Write the tables as Parquet, and return their sizes."""
    batches = 0
    with ExitStack() as stack:
        batch_table = stack.enter_context(_BatchTable(target))
        tables = _Tables(target, stack)
        for file, batch in sound_batches(export, files or OsFiles()):
            batches += 1
            fields = [getattr(batch.header, name) for name in BATCH_FIELDS]
            batch_table.add([file, batch.position, *fields], raw_bytes(batch))
            tables.add(file, batch)
    return Decoded(batches=batches, records=tables.count)


class _Tables:
    """A table for each type of record, created with the first one. `count`: the number of records in all tables."""

    def __init__(self, target: Path, stack: ExitStack) -> None:
        self.count = 0
        self._target = target
        self._stack = stack
        self._by_type: dict[str, _RecordTable] = {}
        self._by_frame: dict[bytes, _RecordTable] = {}
        """The table of each record frame that was met."""

    def add(self, file: str, batch: LocatedBatch) -> None:
        """Add the records of a batch: the fast way for common records, otherwise row by row."""
        header = batch.header
        values = common_values(batch.buffer, header, batch.at)
        self.count += header.count
        if values is None or not self._add_common(file, batch, values):
            for row in decoded_rows(file, batch):
                self._add(row)

    def _add_common(self, file: str, batch: LocatedBatch, values: list[bytes]) -> bool:
        """Add the records if all their tables exist and all can be read; otherwise add none and return False."""
        header, by_frame = batch.header, self._by_frame
        position, epoch, time_ms = batch.position, header.partition_leader_epoch, header.base_timestamp
        rows: list[tuple[_RecordTable, _Row]] = []
        try:
            for offset, value in enumerate(values, header.base_offset):
                frame = value[:3]
                row: _Row = (file, position, offset, epoch, time_ms, frame[2], READERS[frame](value), b"", None)
                rows.append((by_frame[frame], row))
        except (*READ_ERRORS, KeyError):
            return False
        for table, row in rows:
            table.add(row)
        return True

    def _add(self, row: DecodedRow) -> None:
        table = self._by_type.get(row.type)
        if table is None:
            table = self._by_type[row.type] = self._stack.enter_context(_RecordTable(self._target, row))
        if row.record is not None and 0 <= row.version < _ONE_BYTE:
            key = getattr(type(row.record), "API_KEY", _ONE_BYTE)
            if key < _ONE_BYTE:
                self._by_frame[bytes((1, key, row.version))] = table
        place = (row.file, row.position, row.offset, row.epoch, row.timestamp_ms, row.version)
        table.add((*place, row.record, row.raw, row.error))


class _Table(ABC):
    """A Parquet file that collects rows and writes them in groups."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")

    def write(self, columns: list[list[Any]]) -> None:
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self.schema))

    @abstractmethod
    def flush(self) -> None:
        """Write the collected rows."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()
        self._writer.close()


class _BatchTable(_Table):
    def __init__(self, target: Path) -> None:
        fields = [_PLACE[0], _PLACE[1], *((name, _BATCH_TYPES[name]) for name in BATCH_FIELDS), ("raw", pa.binary())]
        super().__init__(target / f"{BATCHES}.parquet", pa.schema(fields))
        self._rows: list[list[Any]] = []
        self._bytes = 0

    def add(self, row: list[Any], raw: bytes) -> None:
        self._rows.append([*row, raw])
        self._bytes += len(raw)
        if len(self._rows) >= _ROWS or self._bytes >= _RAW_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self.write([list(column) for column in zip(*self._rows, strict=True)])
        self._rows, self._bytes = [], 0


class _RecordTable(_Table):
    def __init__(self, target: Path, first: DecodedRow) -> None:
        fields = () if first.record is None else schema_of(type(first.record)).fields
        own = [("raw", pa.binary()), ("error", pa.string())] if first.record is None else []
        named = [(_column_name(field), _arrow_type(field)) for field in fields]
        path = target / "records" / f"type={first.type}" / "records.parquet"
        super().__init__(path, pa.schema([*_PLACE, *named, *own]))
        self._rows: list[_Row] = []
        self._columns = list(map(_of_record, fields))
        self._has_raw = bool(own)

    def add(self, row: _Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            *place, records, raw, error = map(list, zip(*self._rows, strict=True))
            columns = [list(column(records)) for column in self._columns]
            self.write([*place, *columns, *([raw, error] if self._has_raw else [])])
        self._rows = []


def _column_name(field: Field) -> str:
    """Return the column's name; it differs from the field's if a fixed column has that name, as LeaderChange's
    version."""
    return f"{field.name}_" if field.name in {name for name, _ in _PLACE} else field.name


def _of_record(field: Field) -> Callable[[list[Any]], Iterable[Any]]:
    """Return the function that makes a column of one field of all records."""
    convert, get = _converter(field), attrgetter(field.name)
    if convert is None:
        return partial(map, get)
    return lambda records: [None if (value := get(record)) is None else convert(value) for record in records]


def _converter(field: Field) -> Callable[[Any], Any] | None:
    """Return the function that converts a field's value for Arrow, or None if it needs no conversion."""
    one: Callable[[Any], Any] | None = None
    if field.wire_type == "uuid":
        one = _known_id_text
    elif field.element is not None:
        inner = [(f.name, _converter(f)) for f in schema_of(field.element).fields]
        one = partial(_builtins, inner)
    if one is None or not field.is_array:
        return one
    each = one
    return lambda values: [each(value) for value in values]


def _builtins(inner: list[tuple[str, Callable[[Any], Any] | None]], value: msgspec.Struct) -> dict[str, Any]:
    return {
        name: item if convert is None or item is None else convert(item)
        for name, convert in inner
        for item in (getattr(value, name),)
    }


def _arrow_type(field: Field) -> pa.DataType:
    if field.element is not None:
        one = pa.struct([(f.name, _arrow_type(f)) for f in schema_of(field.element).fields])
    else:
        one = _TYPES[field.wire_type]
    return pa.list_(one) if field.is_array else one
