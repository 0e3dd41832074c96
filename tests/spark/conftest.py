"""Copies of a real cluster's controllers to plant faults in, and the one Spark of this suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext

from metadata_log.analysis.session import spark_context
from tests.spark.plant import Replica, copy_basic, copy_failovers


@pytest.fixture(scope="session", autouse=True)
def spark() -> Iterator[SparkContext]:
    """One JVM for all tests: to start it costs more than all that it does."""
    context = spark_context()
    yield context
    context.stop()


@pytest.fixture
def replicas(tmp_path: Path) -> dict[int, Replica]:
    """Writable copies of the logs of controllers 1, 2 and 3, which agree up to offset 95; 2 and 3 go on to 96."""
    return {node_id: copy_basic(node_id, tmp_path / "cluster") for node_id in (1, 2, 3)}


@pytest.fixture
def failovers(tmp_path: Path) -> Path:
    """The cluster of `failovers` in which node 2, a deposed leader, still has what it never committed: 309 to 317."""
    return copy_failovers(tmp_path / "failovers")
