"""The work of the data source without Spark: which parts are read, and the rows of a part.

Decides: how files are divided among tasks, and which rows an option or a filter leaves out. Must not know: Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from metadata_log.analysis.source.options import SourceOptions
from metadata_log.analysis.source.places import LogFile, RemoteFile, find_files
from metadata_log.columnar.rows import Part, batch_table, record_table
from metadata_log.columnar.tables import BATCHES, CHECKPOINTS, FILES, RECORDS, all_records, short_name, table_schema
from metadata_log.storage.checkpoint import parse_checkpoint_name

_US = 1000
_FILTERED = ("offset", "ts", "type")


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A part of one file for a task: bytes `start` to `end` (exclusive)."""

    file: LogFile
    start: int
    end: int


def pieces_of(options: SourceOptions) -> list[list[Piece]]:
    """Return the pieces of each task: large files are divided, and small ones are read together.

    Raises:
        AnalysisError: see `find_files`.
    """
    tasks: list[list[Piece]] = [[]]
    left = options.split_bytes
    for file in _chosen(options):
        size = max(file.size, 1) if options.table not in (CHECKPOINTS, FILES) else 1
        for start in range(0, size, options.split_bytes):
            end = min(start + options.split_bytes, size)
            if tasks[-1] and end - start > left:
                tasks.append([])
                left = options.split_bytes
            tasks[-1].append(Piece(file=file, start=start, end=end))
            left -= end - start
    return tasks if tasks[-1] else tasks[:-1]


def _chosen(options: SourceOptions) -> Iterator[LogFile]:
    for file in find_files(options.places):
        if options.clusters and file.log.cluster_id not in options.clusters:
            continue
        if options.nodes and file.log.node_id not in options.nodes:
            continue
        if options.table == CHECKPOINTS and not file.is_checkpoint:
            continue
        is_wanted = options.contents == "all" or file.is_checkpoint is (options.contents == "checkpoints")
        if is_wanted or options.table in (CHECKPOINTS, FILES):
            yield file


def rows_of(pieces: Sequence[Piece], options: SourceOptions, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some pieces, with these columns in this order.

    Raises:
        AnalysisError: a file cannot be read.
    """
    # a filter needs its own column, even if the rows do not have it
    needed = {*columns, *(name for name in _FILTERED if name in table_schema(options.table).names)}
    for piece in pieces:
        for batch in _all_rows(piece, options, needed):
            yield _within(batch, options).select(list(columns))


def _all_rows(piece: Piece, options: SourceOptions, needed: set[str]) -> Iterator[pa.RecordBatch]:
    if options.table in (CHECKPOINTS, FILES):
        yield _file_row(piece.file, options.table)
        return
    handle = RemoteFile(piece.file)
    try:
        part = Part(name=piece.file.name, start=piece.start, end=piece.end)
        if options.table == BATCHES:
            yield from batch_table(handle, part, piece.file.log, needed)
            return
        of = next((one for one in all_records() if options.table == f"{RECORDS}.{short_name(one)}"), None)
        yield from record_table(
            handle, part, piece.file.log, of=of, columns=needed, types=options.types, with_secrets=options.secrets
        )
    finally:
        handle.close()


def _within(batch: pa.RecordBatch, options: SourceOptions) -> pa.RecordBatch:
    """Return the rows within the options' offsets and times. A row of `batches` is within if a part of it is."""
    names = batch.schema.names
    last, last_time = ("last_offset", "last_ts") if "last_offset" in names else ("offset", "ts")
    bounds = [
        (last, pc.greater_equal, options.first_offset, 1),
        ("offset", pc.less, options.end_offset, 1),
        (last_time, pc.greater_equal, options.since_ms, _US),
        ("ts", pc.less, options.until_ms, _US),
    ]
    for name, compare, bound, unit in bounds:
        if bound is not None and name in batch.schema.names:
            column = batch.column(name)
            batch = batch.filter(compare(column, pa.scalar(bound * unit, pa.int64()).cast(column.type)))
    return batch


def _file_row(file: LogFile, table: str) -> pa.RecordBatch:
    row = {**msgspec.structs.asdict(file.log), "file": file.name, "size_in_bytes": file.size}
    row["modified"] = None if file.modified_ms is None else file.modified_ms * _US
    row["kind"] = "checkpoint" if file.is_checkpoint else "segment"
    if table == CHECKPOINTS:
        end = parse_checkpoint_name(file.name.rpartition("/")[2])
        row["offset"], row["epoch"] = (None, None) if end is None else (int(end.offset), int(end.epoch))
    schema = table_schema(table)
    return pa.RecordBatch.from_arrays([pa.array([row[field.name]], field.type) for field in schema], schema=schema)
