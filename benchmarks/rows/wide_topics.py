"""Topics of a thousand partitions, created one at a time in Kafka's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan, warm
from benchmarks.rows.rates import Stage, stage_figures
from benchmarks.side import Side

NAME: Final = "wide-topics"
TITLE: Final = "Topics of 1,000 partitions created a second, in Kafka's protocol"


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """One run; none of sides that do not speak Kafka's protocol."""
    if side.kind != "kafka":
        return
    side.start()
    warm(side, loadgen, plan)
    yield stage_figures(side, loadgen, Stage(clients=1, batch=1), plan, "-partitions", "1000")
    side.stop()
