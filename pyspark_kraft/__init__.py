"""The data source `kraft_metadata_log` for Spark, which finds it by this module's name.

Spark imports every top-level module `pyspark_…` in each session of an environment and looks for `DefaultSource`. So
this module imports nothing of the project by itself, and raises nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    from pyspark.sql.datasource import DataSource
except ImportError:  # Spark before 4.0 has no data sources in Python, and does not look here
    pass
else:
    if TYPE_CHECKING:
        from pyspark.sql.datasource import DataSourceReader
        from pyspark.sql.types import StructType

    class DefaultSource(DataSource):
        """Metadata logs of KRaft as tables: `spark.read.format("kraft_metadata_log").load(PATH)`."""

        @classmethod
        def name(cls) -> str:
            """Return the name of the format."""
            return "kraft_metadata_log"

        def schema(self) -> StructType:
            """Return the columns of the table that the options name."""
            from metadata_log.analysis.source.data_source import schema  # noqa: PLC0415

            return schema(self.options)

        def reader(self, schema: StructType) -> DataSourceReader:
            """Return the reader of these columns."""
            from metadata_log.analysis.source.data_source import reader  # noqa: PLC0415

            return reader(self.options, schema)
