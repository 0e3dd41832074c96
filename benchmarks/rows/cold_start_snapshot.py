"""The same with many topics in a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan
from benchmarks.rows.starting import OFTEN, cold_start
from benchmarks.side import Side

NAME: Final = "cold-start-checkpoint"
TITLE: Final = "Cold start with {topics:,} topics in a checkpoint"


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """One run; none where there are no checkpoints of Kafka's kind."""
    if side.takes_checkpoints:
        yield cold_start(side, loadgen, plan.topics, OFTEN)
