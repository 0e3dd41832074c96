"""Spark's data source over exported logs: `spark.read.format("kraft_metadata_log").option("table", ...).load(path)`.

Decides: how options name logs, and how Arrow carries the rows. Must not know: what is checked.

Options: `table` is `batches` (the default) or `records`; `path` an export, a log directory, or a directory of such
(as absolute path); or, instead of it, `replicas`, the JSON of what `inputs.find_replicas` found, which holds the files'
sizes still where the logs are live; `tasks`, into how many small logs are divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from metadata_log.analysis.errors import AnalysisError
from metadata_log.analysis.inputs import Piece, ReplicaInput, bundles, find_replicas
from metadata_log.analysis.rows import BATCHES, COLUMNS, Row, read_rows

FORMAT: Final = "kraft_metadata_log"
_ARROW_TYPES: Final = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "boolean": pa.bool_()}


class Bundle(InputPartition):
    """What one task reads."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        super().__init__(None)
        self.encoded = msgspec.json.encode(pieces)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return msgspec.json.decode(self.encoded, type=tuple[Piece, ...])


class MetadataLogSource(DataSource):
    """The data source. Spark makes one for each `load`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in COLUMNS[self._table()])

    def reader(self, schema: StructType) -> DataSourceReader:
        return MetadataLogReader(self._table(), dict(self.options))

    def _table(self) -> str:
        table = self.options.get("table", BATCHES)
        if table not in COLUMNS:
            raise AnalysisError(f"there is no table {table!r}: choose one of {', '.join(COLUMNS)}")
        return table


class MetadataLogReader(DataSourceReader):
    """Divides the logs among tasks and reads a task's share."""

    def __init__(self, table: str, options: Mapping[str, str]) -> None:
        self._table = table
        self._options = dict(options)

    def partitions(self) -> Sequence[InputPartition]:
        tasks = int(self._options.get("tasks", "1"))
        return [Bundle(pieces) for pieces in bundles(self._replicas(), tasks)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if isinstance(partition, Bundle):
            for rows in read_rows(self._table, partition.pieces):
                yield arrow_batch(self._table, rows)

    def _replicas(self) -> list[ReplicaInput]:
        if "replicas" in self._options:
            return msgspec.json.decode(self._options["replicas"], type=list[ReplicaInput])
        if "path" not in self._options:
            raise AnalysisError("the source needs a path: load(path) or option('path', ...)")
        return find_replicas([Path(self._options["path"])])


def arrow_batch(table: str, rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as Arrow columns of exactly the types that Spark expects."""
    columns = zip(*rows, strict=True)
    names = [name for name, _ in COLUMNS[table]]
    arrays = [
        pa.array(column, type=_ARROW_TYPES[kind]) for column, (_, kind) in zip(columns, COLUMNS[table], strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=names)
