"""Metadata logs in your own Spark: `kraft.spark.register(spark)`, then `spark.read.format("kraft_metadata_log")`.

Needs the extra `analysis`. Where this package is installed, Spark finds the format by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register the format `kraft_metadata_log` in a session."""
    from pyspark_kraft import DefaultSource  # noqa: PLC0415

    spark.dataSource.register(DefaultSource)
