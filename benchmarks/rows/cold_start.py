"""Three processes, killed with next to nothing in their logs, start: until the first acknowledged write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan
from benchmarks.rows.starting import cold_start
from benchmarks.side import Side

NAME: Final = "cold-start"
TITLE: Final = "Cold start of three killed processes"


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """One run."""
    yield cold_start(side, loadgen, 0, None)
