"""No leader after SIGKILL of the leader."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan
from benchmarks.rows.outage import measure_outages
from benchmarks.side import Side

NAME: Final = "killed"
TITLE: Final = "No leader after SIGKILL of the leader"


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """Each outage is a run."""
    yield from measure_outages(side, loadgen, plan, signal.SIGKILL)
