"""The decoded tables of an export as Parquet: a typed column for each field, a folder for each record type.

Decides: which Arrow type a field has. Must not know: which tables there are (`tools.decoded` does). Ids are text as
Kafka shows them; raw batches are binary. Rows are written by the tens of thousands, so memory stays flat.

    decoded/batches.parquet
    decoded/records/type=TOPIC_RECORD/records.parquet
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Self

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from metadata_log.ids import id_text
from metadata_log.records.wire import Field, schema_of
from metadata_log.tools.decoded import (
    BATCH_FIELDS,
    BATCHES,
    Decoded,
    DecodedRow,
    decoded_rows,
    raw_bytes,
    sound_batches,
)

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


def write_parquet(export: Path, target: Path) -> Decoded:
    """The tables as Parquet."""
    batches = records = 0
    with ExitStack() as stack:
        batch_table = stack.enter_context(_BatchTable(target))
        by_type: dict[str, _RecordTable] = {}
        for file, batch in sound_batches(export):
            batches += 1
            fields = [getattr(batch.header, name) for name in BATCH_FIELDS]
            batch_table.add([file, batch.position, *fields], raw_bytes(batch))
            for row in decoded_rows(file, batch):
                records += 1
                table = by_type.get(row.type)
                if table is None:
                    table = by_type[row.type] = stack.enter_context(_RecordTable(target, row))
                table.add(row)
    return Decoded(batches=batches, records=records)


class _Table(ABC):
    """A Parquet file that takes rows until it has enough of them to write."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")

    def write(self, columns: list[list[Any]]) -> None:
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self.schema))

    @abstractmethod
    def flush(self) -> None:
        """Write what is kept."""

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
        self._rows: list[DecodedRow] = []
        self._columns: list[Callable[[DecodedRow], Any]] = [attrgetter(name) for name, _ in _PLACE]
        self._columns += [_of_record(field) for field in fields]
        self._columns += [attrgetter(name) for name, _ in own]

    def add(self, row: DecodedRow) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self.write([list(map(column, self._rows)) for column in self._columns])
        self._rows = []


def _column_name(field: Field) -> str:
    """A field that is called as a column of the place (LeaderChange has a version) is told apart."""
    return f"{field.name}_" if field.name in {name for name, _ in _PLACE} else field.name


def _of_record(field: Field) -> Callable[[DecodedRow], Any]:
    convert, path = _converter(field), f"record.{field.name}"
    get = attrgetter(path)
    return get if convert is None else lambda row: None if (value := get(row)) is None else convert(value)


def _converter(field: Field) -> Callable[[Any], Any] | None:
    """What makes a field's value one of Arrow's; None where it is already."""
    one: Callable[[Any], Any] | None = None
    if field.wire_type == "uuid":
        one = id_text
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
