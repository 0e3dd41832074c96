"""Memory of each member before and after many topics were written, and how fast they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan, fill
from benchmarks.side import Side, resident_mb

NAME: Final = "memory"
TITLE: Final = "Resident memory with {topics:,} topics, MB, the largest member's"


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """One run."""
    side.start()
    idle = _largest(side)
    filled = fill(side, loadgen, plan.topics)
    yield {"idle": idle, "with all topics": _largest(side), "written a second": filled}
    side.stop()


def _largest(side: Side) -> float:
    return max(resident_mb(side.pid(member)) for member in side.members)
