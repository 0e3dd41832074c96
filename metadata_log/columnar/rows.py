"""The rows of one part of a file, as Arrow: records by their types, and batches with each run of NoOps as one row.

Decides: which part of a file has a batch, so that the parts of a file have each row once, however it is divided. A
batch or a group of NoOps belongs to the part in which it begins. Damage belongs to the part that has what is before it.
Must not know: which files there are, and Spark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, TypeAlias

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]

from metadata_log.columnar.chunks import Chunk, chunks
from metadata_log.columnar.no_op_runs import find_no_op_run
from metadata_log.columnar.objects import records_array
from metadata_log.columnar.records import decode_values
from metadata_log.columnar.secrets import without_secrets
from metadata_log.columnar.tables import (
    BATCHES,
    RECORDS,
    AnyRecord,
    LogIdentity,
    full_name,
    own_names,
    short_name,
    table_schema,
    wide_names,
)
from metadata_log.errors import CorruptBatchError, RecordError, UnsupportedBatchError
from metadata_log.files.port import ReadHandle
from metadata_log.format.batch import check_batch
from metadata_log.records import decode_control
from metadata_log.records.declarations.cluster import NoOpRecord
from metadata_log.storage.no_ops import NO_OP_BYTES, is_no_op
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.dump.decoded import UNREADABLE
from metadata_log.tools.read.batch_sums import RANGE_BITS, checksums
from metadata_log.tools.read.fast_scan import TIME_AT, NoOpRun, Seen, walk
from metadata_log.tools.read.scan import Damage

_DIGEST_BYTES: Final = 16
_MOST_ROWS: Final = 10_000


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a file: bytes `start` to `end` (exclusive)."""

    name: str
    start: int
    end: int


class NoOps(msgspec.Struct, kw_only=True):
    """Consecutive batches of one NoOp each, within one range of 4,096 offsets: one row of `batches`."""

    position: int
    first_offset: int
    end_offset: int
    epoch: int
    first_ms: int
    last_ms: int
    checksums: bytearray

    @property
    def count(self) -> int:
        return self.end_offset - self.first_offset


Row: TypeAlias = LocatedBatch | Damage | NoOps


def part_rows(handle: ReadHandle, part: Part) -> Iterator[Row]:
    """Yield the batches, groups of NoOps and damaged ranges that belong to a part of a file, in order."""
    # What a part begins with may belong to the part before: the rest of a batch, a group, and damage behind either.
    is_of_before, reached = part.start > 0, part.end
    for row in _grouped(walk(handle, part.start, find_run=find_no_op_run)):
        if isinstance(row, Damage):
            if is_of_before:
                continue
            if row.position > reached:
                return
        elif row.position >= part.end:
            return
        elif is_of_before and isinstance(row, NoOps) and _began_before(handle, row):
            continue
        is_of_before, reached = False, max(reached, _end_of(row))
        yield row


def _end_of(row: Row) -> int:
    if isinstance(row, Damage):
        return row.end
    size = row.count * NO_OP_BYTES if isinstance(row, NoOps) else row.header.size_in_bytes
    return row.position + size


def _grouped(found: Iterable[Seen]) -> Iterator[Row]:
    """Yield what a walk finds, with consecutive NoOps of one epoch and one range of offsets as one row."""
    group: NoOps | None = None
    for seen in found:
        for row in _pieces(seen):
            if group is not None and isinstance(row, NoOps) and _continues(group, row):
                group.end_offset, group.last_ms = row.end_offset, row.last_ms
                group.checksums += row.checksums
                continue
            if group is not None:
                yield group
            group = row if isinstance(row, NoOps) else None
            if group is None:
                yield row
    if group is not None:
        yield group


def _continues(group: NoOps, row: NoOps) -> bool:
    is_next = row.position == group.position + group.count * NO_OP_BYTES and row.first_offset == group.end_offset
    is_same_range = row.first_offset >> RANGE_BITS == group.first_offset >> RANGE_BITS
    return is_next and is_same_range and row.epoch == group.epoch


def _pieces(seen: Seen) -> Iterator[Row]:
    """Yield a batch or damage as it is, and the NoOps of a run or of a single batch by ranges of offsets."""
    if isinstance(seen, Damage) or (isinstance(seen, LocatedBatch) and not is_no_op(seen.buffer, seen.at, seen.header)):
        yield seen
        return
    if isinstance(seen, NoOpRun):
        first, end, epoch = seen.base_offset, seen.end_offset, seen.epoch
    else:
        header = seen.header
        first, end, epoch = int(header.base_offset), int(header.next_offset), int(header.partition_leader_epoch)
    at, position = seen.at, seen.position
    while first < end:
        until = min(end, (first >> RANGE_BITS) + 1 << RANGE_BITS)
        size = (until - first) * NO_OP_BYTES
        yield NoOps(
            position=position,
            first_offset=first,
            end_offset=until,
            epoch=epoch,
            first_ms=_time_of(seen.buffer, at),
            last_ms=_time_of(seen.buffer, at + size - NO_OP_BYTES),
            checksums=checksums(seen.buffer, at, size),
        )
        first, at, position = until, at + size, position + size


def _time_of(buffer: bytes, at: int) -> int:
    return int.from_bytes(buffer[at + TIME_AT : at + TIME_AT + 8], "big", signed=True)


def _began_before(handle: ReadHandle, row: NoOps) -> bool:
    """Return True if the batch before a group's first one is a NoOp of the same group."""
    if row.position < NO_OP_BYTES or row.first_offset % (1 << RANGE_BITS) == 0:
        return False
    buffer = handle.pread(NO_OP_BYTES, row.position - NO_OP_BYTES)
    try:
        header = check_batch(buffer)
    except (CorruptBatchError, UnsupportedBatchError):
        return False
    is_before = header.next_offset == row.first_offset and header.partition_leader_epoch == row.epoch
    return is_before and is_no_op(buffer, 0, header)


def batch_table(
    handle: ReadHandle, part: Part, log: LogIdentity, columns: Collection[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table `batches`, with these columns or all."""
    held: list[dict[str, Any]] = []
    for row in part_rows(handle, part):
        held.append(_batch_row(row))
        if len(held) >= _MOST_ROWS:
            yield _of_rows(held, log, part.name, columns)
            held = []
    if held:
        yield _of_rows(held, log, part.name, columns)


def _batch_row(row: Row) -> dict[str, Any]:
    if isinstance(row, Damage):
        error = row.what
        return {"position": row.position, "kind": "damage", "size_in_bytes": row.end - row.position, "error": error}
    if isinstance(row, NoOps):
        return {
            "position": row.position, "offset": row.first_offset, "last_offset": row.end_offset - 1,
            "epoch": row.epoch, "ts": row.first_ms, "last_ts": row.last_ms, "kind": "no_op", "batches": row.count,
            "records": row.count, "size_in_bytes": row.count * NO_OP_BYTES,
            "digest": hashlib.blake2b(row.checksums, digest_size=_DIGEST_BYTES).digest(),
        }  # fmt: skip
    header = row.header
    return {
        "position": row.position, "offset": header.base_offset, "last_offset": header.last_offset,
        "epoch": header.partition_leader_epoch, "ts": header.base_timestamp, "last_ts": header.max_timestamp,
        "kind": "control" if header.is_control else "data", "batches": 1, "records": header.count,
        "size_in_bytes": header.size_in_bytes, "crc": header.crc,
    }  # fmt: skip


def _of_rows(
    rows: list[dict[str, Any]], log: LogIdentity, name: str, columns: Collection[str] | None
) -> pa.RecordBatch:
    schema = _columns_of(BATCHES, columns)
    known = {**msgspec.structs.asdict(log), "file": name}
    arrays = []
    for field in schema:
        values = [known[field.name]] * len(rows) if field.name in known else [row.get(field.name) for row in rows]
        if pa.types.is_timestamp(field.type):
            values = [None if value is None else value * 1000 for value in values]
        arrays.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns_of(table: str, columns: Collection[str] | None) -> pa.Schema:
    """Return the schema of a table with these columns or all."""
    return pa.schema([field for field in table_schema(table) if columns is None or field.name in columns])


def record_table(
    handle: ReadHandle,
    part: Part,
    log: LogIdentity,
    *,
    of: AnyRecord | None = None,
    columns: Collection[str] | None = None,
    types: Collection[AnyRecord] | None = None,
    with_secrets: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of `records`, or of the table of one type, with these columns or all.

    Rows are in the order of the log within a type. `types` leaves out all other types. NoOps have rows only if they are
    asked for, by `of` or `types`. Secrets are hidden unless `with_secrets`.
    """
    wanted = types if of is None else (of,)
    table = RECORDS if of is None else f"{RECORDS}.{short_name(of)}"
    sink = _Records(_columns_of(table, columns), log, of, wanted, with_secrets=with_secrets)
    batches = (
        (part.name, batch)
        for row in part_rows(handle, part)
        for batch in _to_decode(handle, row, no_ops=wanted is not None and NoOpRecord in wanted)
    )
    for chunk in chunks(batches):
        yield from sink.rows(chunk)


def _to_decode(handle: ReadHandle, row: Row, *, no_ops: bool) -> Iterator[LocatedBatch]:
    if isinstance(row, LocatedBatch):
        yield row
    elif isinstance(row, NoOps) and no_ops:
        buffer = handle.pread(row.count * NO_OP_BYTES, row.position)
        for at in range(0, len(buffer), NO_OP_BYTES):
            yield LocatedBatch(position=row.position + at, header=check_batch(buffer, at), buffer=buffer, at=at)


class _Records:
    """Makes rows of records from chunks, with the columns of one schema."""

    def __init__(
        self,
        schema: pa.Schema,
        log: LogIdentity,
        of: AnyRecord | None,
        wanted: Collection[AnyRecord] | None,
        *,
        with_secrets: bool,
    ) -> None:
        self._schema = schema
        self._log = msgspec.structs.asdict(log)
        self._of = of
        self._wanted = wanted
        self._with_secrets = with_secrets

    def rows(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a chunk, by type."""
        for columns in decode_values(chunk.values, self._wanted):
            if columns.record is NoOpRecord and self._wanted is None:
                continue
            rows = columns.rows
            place = {
                "position": chunk.positions[rows], "offset": chunk.offsets[rows], "epoch": chunk.epochs[rows],
                "ts": chunk.times_ms[rows] * 1000, "version": columns.versions,
            }  # fmt: skip
            if columns.record is None:
                if self._wanted is None:
                    yield self._batch(chunk.file, len(rows), {**place, "error": list(columns.errors)}, UNREADABLE)
            elif columns.data is not None:
                yield self._of_type(columns.record, chunk.file, place, columns.data)
        yield from self._control(chunk)

    def _of_type(self, record: AnyRecord, file: str, place: dict[str, Any], data: pa.StructArray) -> pa.RecordBatch:
        data = data if self._with_secrets else without_secrets(record, data)
        names = wide_names(record) if self._of is None else own_names(record)
        for column, values in zip(names.values(), data.flatten(), strict=True):
            if column in self._schema.names:
                place[column] = values.cast(self._schema.field(column).type)
        return self._batch(file, len(data), place, full_name(record))

    def _control(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        for batch, record in chunk.control:
            place: dict[str, Any] = {
                "position": [batch.position], "offset": [record.offset],
                "epoch": [batch.header.partition_leader_epoch], "ts": [record.timestamp_ms * 1000],
            }  # fmt: skip
            try:
                control = decode_control(record.key or b"", record.value or b"")
            except RecordError as error:
                if self._wanted is None:
                    yield self._batch(chunk.file, 1, {**place, "version": [-1], "error": [str(error)]}, UNREADABLE)
                continue
            if self._wanted is None or type(control) in self._wanted:
                place["version"] = [control.version]
                yield self._of_type(type(control), chunk.file, place, records_array(type(control), [control]))

    def _batch(self, file: str, count: int, columns: dict[str, Any], kind: str) -> pa.RecordBatch:
        known = {**self._log, "file": file, "type": kind}
        arrays = []
        for field in self._schema:
            values = columns.get(field.name)
            if field.name in known:
                arrays.append(pa.repeat(pa.scalar(known[field.name], field.type), count))
            elif values is None:
                arrays.append(pa.nulls(count, field.type))
            else:
                arrays.append(values if isinstance(values, pa.Array) else pa.array(values, field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
