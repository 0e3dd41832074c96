"""Spark's side of the data source: `spark.read.format("kraft_metadata_log").load(PATH)`.

Decides: which of Spark's filters leave out files and rows before they are decoded. Must not know: files and records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from metadata_log.analysis.source.options import SourceOptions, parse_options
from metadata_log.analysis.source.reading import Piece, pieces_of, rows_of
from metadata_log.columnar.tables import all_records, full_name, table_schema
from metadata_log.records.declarations.cluster import NoOpRecord


class Pieces(InputPartition):
    """The pieces of one task."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        super().__init__(list(pieces))


def schema(options: Mapping[str, str]) -> StructType:
    """Return the columns of the table that the options name.

    Raises:
        AnalysisError: an option is wrong.
    """
    found: StructType = from_arrow_schema(table_schema(parse_options(options).table))
    return found


def reader(options: Mapping[str, str], schema: StructType) -> MetadataLogReader:
    """Return the reader of these columns.

    Raises:
        AnalysisError: an option is wrong.
    """
    found = parse_options(options)
    return (FilteredReader if found.pushdown else MetadataLogReader)(found, schema.names)


class MetadataLogReader(DataSourceReader):
    """Reads the columns of a table."""

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = list(columns)

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks."""
        return [Pieces(pieces) for pieces in pieces_of(self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task."""
        yield from rows_of(partition.value, self._options, self._columns)


class FilteredReader(MetadataLogReader):
    """The reader that takes Spark's filters. Spark rejects such a class unless its configuration enables filters."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take what a filter says of clusters, nodes, types and offsets. Spark applies every filter itself, too."""
        for one in filters:
            self._options = _narrowed(self._options, one)
            yield one


def _narrowed(options: SourceOptions, one: Filter) -> SourceOptions:
    """Return options that leave out rows for which the filter is false."""
    column = ".".join(getattr(one, "attribute", ()))
    if isinstance(one, EqualTo | In):
        values: set[Any] = {one.value} if isinstance(one, EqualTo) else set(one.value)
        return _with_values(options, column, values)
    if column != "offset" or options.table == "batches" or not isinstance(getattr(one, "value", None), int):
        return options
    if isinstance(one, GreaterThan | GreaterThanOrEqual):
        least = one.value + isinstance(one, GreaterThan)
        return msgspec.structs.replace(options, first_offset=max(least, options.first_offset or 0))
    if isinstance(one, LessThan | LessThanOrEqual):
        end = one.value + isinstance(one, LessThanOrEqual)
        known = end if options.end_offset is None else min(end, options.end_offset)
        return msgspec.structs.replace(options, end_offset=known)
    return options


def _with_values(options: SourceOptions, column: str, values: set[Any]) -> SourceOptions:
    if column == "cluster_id" and None not in values:
        return msgspec.structs.replace(options, clusters=_both(options.clusters, values))
    if column == "node_id" and None not in values:
        return msgspec.structs.replace(options, nodes=_both(options.nodes, values))
    if column == "type" and options.types is None and options.table == "records":
        chosen = tuple(record for record in all_records() if full_name(record) in values)
        if len(chosen) == len(values):  # NoOps have no rows, whether Spark passes its filters on or not
            return msgspec.structs.replace(options, types=tuple(one for one in chosen if one is not NoOpRecord))
    return options


def _both(known: frozenset[Any], values: set[Any]) -> frozenset[Any]:
    """Return the values that both allow. If they share none, the option's stay: Spark's filter then keeps no row."""
    return (frozenset(values) & known or known) if known else frozenset(values)
