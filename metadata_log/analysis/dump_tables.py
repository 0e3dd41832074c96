"""Selected records as one Arrow table, streamed, for `dump -o parquet` and `-o arrow`.

Decides: the columns' types. Must not know: the selection, or where the bytes go. Only one chunk is in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from metadata_log.errors import MetadataLogError
from metadata_log.files.os_files import OsFiles
from metadata_log.tools.dump.course import REMOVED, Course, Flaw
from metadata_log.tools.dump.dump import first_offset_of
from metadata_log.tools.dump.rows import TextRow, text_rows
from metadata_log.tools.dump.selection import Selection

_SCHEMA: Final = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("epoch", pa.int32(), nullable=False),
        pa.field("timestamp_ms", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("is_control", pa.bool_(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("version", pa.int16()),
        pa.field("data", pa.string()),
        pa.field("error", pa.string()),
    ]
)


def write_table(
    paths: Sequence[str], selection: Selection, form: str, out: BinaryIO, files: OsFiles
) -> Iterator[tuple[str, Flaw | str]]:
    """Write the records of these files to `out`, as `parquet` or as an Arrow stream (`arrow`), while being iterated.

    Yields:
        the flaws of the files, after everything is written, including the records behind a flaw.
    """
    found: list[tuple[str, Flaw | str]] = []
    with pq.ParquetWriter(out, _SCHEMA) if form == "parquet" else pa.ipc.new_stream(out, _SCHEMA) as writer:
        for path in paths:
            found += [(path, flaw) for flaw in _write_rows(path, selection, writer, files)]
    out.flush()
    yield from found


def _write_rows(path: str, selection: Selection, writer: Any, files: OsFiles) -> Iterator[Flaw | str]:
    try:
        for rows in _rows_of(path, selection, files):
            if isinstance(rows, Flaw):
                yield rows
            else:
                writer.write_batch(_batch(path, rows))
    except FileNotFoundError:
        yield REMOVED


def _rows_of(path: str, selection: Selection, files: OsFiles) -> Iterator[list[TextRow] | Flaw]:
    handle = files.open(path, read_only=True)
    try:
        course = Course(handle, handle.size(), first_offset_of(path))
        while course.tail is None:
            try:
                for piece in course.pieces(course.position):
                    yield list(text_rows(piece, selection, sealed=True))
            except MetadataLogError:
                pass  #   # the course is still at the flaw, and reports it below
            yield from course.past_trouble(
                lambda piece: list(text_rows(piece, selection, sealed=True)),
                lambda piece: list(text_rows(piece, selection)),
            )
    finally:
        handle.close()


def _batch(path: str, rows: list[TextRow]) -> pa.RecordBatch:
    name = os.fsencode(path).decode(errors="backslashreplace")  #   # a column of strings must be UTF-8
    columns = [[name] * len(rows), *([getattr(row, name) for row in rows] for name in _SCHEMA.names[1:])]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
