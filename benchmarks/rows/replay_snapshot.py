"""A killed follower loads many topics from a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan
from benchmarks.rows.starting import OFTEN
from benchmarks.rows.volume import replayed
from benchmarks.side import Side

NAME: Final = "replay-checkpoint"
TITLE: Final = "A killed follower with {topics:,} topics in a checkpoint"


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """One run; none where there are no checkpoints of Kafka's kind."""
    if side.takes_checkpoints:
        yield replayed(side, loadgen, plan, OFTEN)
