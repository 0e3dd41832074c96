"""The same with many topics in the log, and no checkpoint of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan
from benchmarks.rows.starting import NEVER, cold_start, properties_of
from benchmarks.side import Side

NAME: Final = "cold-start-large"
TITLE: Final = "Cold start with {topics:,} topics in the log"


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """One run."""
    yield cold_start(side, loadgen, plan.topics, properties_of(side, NEVER))
