"""A follower that is killed with many topics and started again: shared by the rows that differ in checkpoints."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.load import Figures, Plan, fill
from benchmarks.side import Side, cpu_seconds, resident_mb


def replayed(side: Side, loadgen: Path, plan: Plan, properties: Mapping[str, str] | None) -> Figures:
    """Until it has everything in its memory again."""
    side.start(properties)
    fill(side, loadgen, plan.topics)
    leader = side.leader()
    follower = next(member for member in side.members if member != leader)
    side.signal(follower, signal.SIGKILL)
    began = time.monotonic()
    side.restart(follower)
    side.await_replayed(follower)
    figures: Figures = {
        "has all again after, s": time.monotonic() - began,
        "processor time of that, s": cpu_seconds(side.pid(follower)),
        "memory after it, MB": resident_mb(side.pid(follower)),
    }
    side.stop()
    return figures
