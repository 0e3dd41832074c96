"""No leader after SIGSTOP of the leader, at default timeouts."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan
from benchmarks.rows.outage import measure_outages
from benchmarks.side import Side

NAME: Final = "frozen"
TITLE: Final = "No leader after SIGSTOP of the leader, at default timeouts"


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """Each outage is a run."""
    yield from measure_outages(side, loadgen, plan, signal.SIGSTOP)
