"""A killed follower replays many topics from its log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan
from benchmarks.rows.starting import NEVER, properties_of
from benchmarks.rows.volume import replayed
from benchmarks.side import Side

NAME: Final = "replay"
TITLE: Final = "A killed follower with {topics:,} topics in its log"


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """One run."""
    yield replayed(side, loadgen, plan, properties_of(side, NEVER))
