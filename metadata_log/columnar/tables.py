"""The tables of metadata logs: their names, and the columns of each, as Arrow schemas.

Decides: the columns that every table has, and the name of a field that has several types. Must not know: how rows are
read, and Spark.

Tables: `records`, one wide table with the fields of all types; `records.topic` and so on, one for each type; `batches`,
in which a run of NoOps is one row; `checkpoints`; `files`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]

from metadata_log.columnar.types import struct_type
from metadata_log.records.declarations.nodes import FenceBrokerRecord, UnfenceBrokerRecord
from metadata_log.records.json_form import type_name
from metadata_log.records.registry import CONTROL_RECORDS, METADATA_RECORDS, ControlRecord, MetadataRecord
from metadata_log.tools.dump.lines import CONTROL_NAMES

AnyRecord: TypeAlias = type[MetadataRecord] | type[ControlRecord]

RECORDS: Final = "records"
BATCHES: Final = "batches"
CHECKPOINTS: Final = "checkpoints"
FILES: Final = "files"
TIME: Final = pa.timestamp("us", tz="UTC")
"""Spark's type of a time."""
_OTHER_NAMES: Final[dict[tuple[AnyRecord, str], str]] = {
    (record, name): other
    for record in (FenceBrokerRecord, UnfenceBrokerRecord)
    for name, other in (("id", "broker_id"), ("epoch", "broker_epoch"))
}
"""Fields that have other names in other types of records."""

LOG_COLUMNS: Final = [
    pa.field("cluster_id", pa.string()), pa.field("node_id", pa.int32()), pa.field("directory_id", pa.string()),
    pa.field("file", pa.string()),
]  # fmt: skip
"""The log of a row: null where the log's files do not say it."""
_PLACE: Final = [
    *LOG_COLUMNS, pa.field("position", pa.int64()), pa.field("offset", pa.int64()), pa.field("epoch", pa.int32()),
    pa.field("ts", TIME),
]  # fmt: skip
_RECORD: Final = [
    *_PLACE, pa.field("type", pa.string()), pa.field("version", pa.int16()), pa.field("error", pa.string()),
]  # fmt: skip
_BATCH: Final = [
    *_PLACE, pa.field("last_offset", pa.int64()), pa.field("last_ts", TIME), pa.field("kind", pa.string()),
    pa.field("batches", pa.int64()), pa.field("records", pa.int64()), pa.field("size_in_bytes", pa.int64()),
    pa.field("crc", pa.int64()), pa.field("digest", pa.binary()), pa.field("error", pa.string()),
]  # fmt: skip
_CHECKPOINT: Final = [
    *LOG_COLUMNS, pa.field("offset", pa.int64()), pa.field("epoch", pa.int32()), pa.field("size_in_bytes", pa.int64()),
    pa.field("modified", TIME),
]  # fmt: skip
_FILE: Final = [
    *LOG_COLUMNS, pa.field("kind", pa.string()), pa.field("size_in_bytes", pa.int64()), pa.field("modified", TIME),
]  # fmt: skip


def table_names() -> list[str]:
    """Return the names of all tables."""
    return [RECORDS, BATCHES, CHECKPOINTS, FILES, *(f"{RECORDS}.{short_name(record)}" for record in all_records())]


@cache
def table_schema(table: str) -> pa.Schema:
    """Return the columns of a table.

    Raises:
        KeyError: there is no such table.
    """
    others = {BATCHES: _BATCH, CHECKPOINTS: _CHECKPOINT, FILES: _FILE}
    if table in others:
        return pa.schema(others[table])
    if table == RECORDS:
        fields = {field.name: field for field in _wide()}
        return pa.schema([*_RECORD, *fields.values()])
    record = {f"{RECORDS}.{short_name(record)}": record for record in all_records()}[table]
    return pa.schema([*_RECORD, *(pa.field(name, kind) for name, kind in _named(record))])


@cache
def wide_names(record: AnyRecord) -> dict[str, str]:
    """Return by field of a record the name of its column in the wide table."""
    return {name: column for (of, name, column) in _wide_names() if of is record}


@cache
def own_names(record: AnyRecord) -> dict[str, str]:
    """Return by field of a record the name of its column in the table of its type."""
    return dict(zip((field.name for field in struct_type(record)), (name for name, _ in _named(record)), strict=True))


@cache
def all_records() -> list[AnyRecord]:
    """Return the class of each type: metadata records by api key, then control records."""
    return [*(record for _, record in sorted(METADATA_RECORDS.items())), *CONTROL_RECORDS.values()]


def full_name(record: AnyRecord) -> str:
    """Return the value of the column `type`: Kafka's name of the type, such as `TOPIC_RECORD`."""
    control = CONTROL_NAMES.get(record)  # type: ignore[arg-type]  # a metadata record has none
    return type_name(record) if control is None else control[0]  # type: ignore[arg-type]  # it is no control record


def short_name(record: AnyRecord) -> str:
    """Return the name of a type in the name of its table, such as `topic`."""
    return full_name(record).lower().removesuffix("_record")


def spark_type(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type without unsigned numbers, which Spark does not have."""
    if kind == pa.uint16():
        return pa.int32()
    if pa.types.is_list(kind):
        return pa.list_(spark_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, spark_type(field.type)) for field in kind])
    return kind


def _named(record: AnyRecord) -> Iterator[tuple[str, pa.DataType]]:
    """Yield name and type of the columns of a record's fields; a field with a name of every record's gets another."""
    taken = {field.name for field in _RECORD}
    for field in struct_type(record):
        name = _field_name(record, field.name)
        yield f"{name}_{short_name(record)}" if name in taken else name, spark_type(field.type)


def _field_name(record: AnyRecord, name: str) -> str:
    return _OTHER_NAMES.get((record, name), name)


@cache
def _wide_names() -> list[tuple[AnyRecord, str, str]]:
    """Return record, field and column of each field. The first type of a name has the name; others add their
    record's."""
    taken = {field.name for field in _RECORD}
    by_type: dict[tuple[str, str], str] = {}
    found = []
    for record in all_records():
        for field in struct_type(record):
            name = _field_name(record, field.name)
            key = name, str(spark_type(field.type))
            if key not in by_type:
                by_type[key] = f"{name}_{short_name(record)}" if name in taken else name
                taken.add(by_type[key])
            found.append((record, field.name, by_type[key]))
    return found


def _wide() -> Iterator[pa.Field]:
    for record, name, column in _wide_names():
        yield pa.field(column, spark_type(struct_type(record).field(name).type))


class LogIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """The log of rows: None where its files do not say it."""

    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: str | None = None
