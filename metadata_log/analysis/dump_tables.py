"""Chosen records as one Arrow table, streamed: what `dump -o parquet` and `-o arrow` write.

Decides: the columns' types. Must not know: what is chosen, nor where the bytes go. Memory is that of one piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from metadata_log.errors import MetadataLogError
from metadata_log.os_files import OsFiles
from metadata_log.tools.dump_pieces import Piece, pieces
from metadata_log.tools.dump_select import Selection
from metadata_log.tools.dump_texts import TextRow, text_rows

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
    paths: Sequence[str], selection: Selection, form: str, out: BinaryIO
) -> Iterator[tuple[str, MetadataLogError]]:
    """Write the records of these files to `out`, as `parquet` or as an Arrow stream (`arrow`), while being iterated.

    Yields:
        each file that is damaged, with the error, after the records before the damage.
    """
    failed: list[tuple[str, MetadataLogError]] = []
    with pq.ParquetWriter(out, _SCHEMA) if form == "parquet" else pa.ipc.new_stream(out, _SCHEMA) as writer:
        for path in paths:
            handle = OsFiles().open(path, read_only=True)
            try:
                for piece in pieces(handle, handle.size()):
                    writer.write_batch(_batch(path, _rows(piece, selection, path, failed)))
            except MetadataLogError as error:
                failed.append((path, error))
            finally:
                handle.close()
    out.flush()
    yield from failed


def _rows(piece: Piece, selection: Selection, path: str, failed: list[tuple[str, MetadataLogError]]) -> list[TextRow]:
    rows: list[TextRow] = []
    try:
        for row in text_rows(piece, selection):
            rows.append(row)
    except MetadataLogError as error:
        failed.append((path, error))
    return rows


def _batch(path: str, rows: list[TextRow]) -> pa.RecordBatch:
    columns = [[path] * len(rows), *([getattr(row, name) for row in rows] for name in _SCHEMA.names[1:])]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
