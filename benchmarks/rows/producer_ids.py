"""AllocateProducerIds in Kafka's protocol, from one connection to 256: the smallest write that a broker asks for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan, warm
from benchmarks.rows.rates import STAGES, stage_figures
from benchmarks.side import Side

NAME: Final = "producer-ids"
TITLE: Final = "Blocks of producer ids allocated a second, in Kafka's protocol"


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """One run; none of sides that do not speak Kafka's protocol."""
    if side.kind != "kafka":
        return
    side.start()
    warm(side, loadgen, plan)
    figures: Figures = {}
    for stage in STAGES:
        if stage.batch == 1:
            figures |= stage_figures(side, loadgen, stage, plan, "-producer-ids")
    yield figures
    side.stop()
