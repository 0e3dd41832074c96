"""Writes a second and their latency, from one client to 256, and in requests of a hundred; syncs and processor time.

Everything on one fresh start of the side, warm where it has to be.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.load import Figures, Plan, warm, write
from benchmarks.side import Side, cpu_seconds

NAME: Final = "rates"
TITLE: Final = "Creates committed a second (etcd: puts, ZooKeeper: creates, of 128 bytes)"


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One load: so many clients, each with one request under way, of so many writes."""

    clients: int
    batch: int

    @property
    def name(self) -> str:
        """`64 clients`, `16 clients x 100`."""
        clients = f"{self.clients} client{'s' if self.clients > 1 else ''}"
        return clients if self.batch == 1 else f"{clients} x {self.batch}"


STAGES: Final = (
    Stage(clients=1, batch=1),
    Stage(clients=16, batch=1),
    Stage(clients=64, batch=1),
    Stage(clients=256, batch=1),
    Stage(clients=1, batch=100),
    Stage(clients=16, batch=100),
)
_QUICK_STAGES: Final = (STAGES[0], STAGES[2], STAGES[4])


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """One run: figures of every stage."""
    side.start()
    warm(side, loadgen, plan)
    figures: Figures = {}
    for stage in _QUICK_STAGES if plan.is_quick else STAGES:
        figures |= stage_figures(side, loadgen, stage, plan)
    yield figures
    side.stop()


def stage_figures(side: Side, loadgen: Path, stage: Stage, plan: Plan, *words: str) -> Figures:
    """Return the figures of one load, with the stage's name before each. `words`: options for the load generator."""
    leader = side.leader()
    followers = [member for member in side.members if member != leader]
    syncs, cpu = side.syncs(leader), {member: cpu_seconds(side.pid(member)) for member in side.members}
    began = time.monotonic()
    found = write(
        side, loadgen, "-clients", str(stage.clients), "-batch", str(stage.batch),
        "-seconds", str(plan.seconds), "-warmup", str(plan.warmup), *words,
    )  # fmt: skip
    took = time.monotonic() - began
    used = {member: (cpu_seconds(side.pid(member)) - cpu[member]) / took for member in side.members}
    synced = side.syncs(leader)
    # The counters saw the warm-up too: at the same rate.
    writes = found["writes_per_second"] * (plan.seconds + plan.warmup)
    figures = {
        "a second": found["writes_per_second"],
        "p50, ms": found["p50_ms"],
        "p99, ms": found["p99_ms"],
        "leader's syncs a write": None if syncs is None or synced is None else (synced - syncs) / writes,
        "leader's cores": used[leader],
        "a follower's cores": sum(used[member] for member in followers) / len(followers),
    }
    return {f"{stage.name}: {name}": value for name, value in figures.items()}
