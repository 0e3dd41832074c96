"""What is measured of one side, with numbers as the result.

Decides: how each figure is taken, the same for both sides. Must not know: which side it is, and how results are shown.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.side import Side, cpu_seconds, resident_mb

_FILL_BATCH: Final = 100
_PROBE_TIMEOUT_S: Final = 90.0


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


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of one stage showed. `cores` is processor time over time, `syncs_per_write` of the leader."""

    writes_per_second: float
    p50_ms: float
    p99_ms: float
    syncs_per_write: float
    leader_cores: float
    follower_cores: float


class Volume(msgspec.Struct, frozen=True, kw_only=True):
    """With many topics or keys: memory of each server, and how long a killed follower takes until it has them again."""

    writes: int
    fill_per_second: float
    resident_mb: tuple[float, ...]
    restart_s: float
    resident_after_restart_mb: float


class LoadError(RuntimeError):
    """The load generator ended with an error, which is in the message."""


def measure_rate(side: Side, loadgen: Path, stage: Stage, *, seconds: float, warmup: float) -> Rate:
    """One run of a stage against the leader.

    Raises:
        LoadError: a request was refused, or nothing was acknowledged.
    """
    leader = side.leader()
    followers = [member for member in side.members if member != leader]
    load = _load(side, loadgen, leader, stage)
    syncs, cpu = side.syncs(leader), {member: cpu_seconds(side.pid(member)) for member in side.members}
    began = time.monotonic()
    found = _run([*load, "-seconds", str(seconds), "-warmup", str(warmup)])
    took = time.monotonic() - began
    used = {member: (cpu_seconds(side.pid(member)) - cpu[member]) / took for member in side.members}
    # The counters saw the warm-up too: at the same rate.
    writes = found["writes_per_second"] * (seconds + warmup)
    return Rate(
        writes_per_second=found["writes_per_second"],
        p50_ms=found["p50_ms"],
        p99_ms=found["p99_ms"],
        syncs_per_write=(side.syncs(leader) - syncs) / writes,
        leader_cores=used[leader],
        follower_cores=sum(used[member] for member in followers) / len(followers),
    )


def measure_kill(side: Side, loadgen: Path) -> float:
    """Kill the leader; for how many ms nothing could be written. It is started again, and has all when this returns.

    Raises:
        LoadError: nothing could be written within a minute.
    """
    leader = side.leader()
    addresses = ",".join(side.address(member) for member in side.members)
    command = [str(loadgen), "-probe", "-target", side.kind, "-address", addresses]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as probe:
        if probe.stdin is None or probe.stdout is None or probe.stderr is None:
            raise LoadError("the load generator has no pipes")
        if probe.stdout.readline().strip() != "ready":
            raise LoadError(f"{side.title}: {probe.stderr.read()}")
        killed_ns = side.kill(leader)
        found, errors = probe.communicate(f"{killed_ns}\n", timeout=_PROBE_TIMEOUT_S)
    if probe.returncode != 0:
        raise LoadError(f"{side.title}: {errors}")
    side.restart(leader)
    side.await_replayed(leader)
    return float(found)


def measure_volume(side: Side, loadgen: Path, writes: int) -> Volume:
    """Fill a fresh side, look at its memory, then kill a follower and start it again.

    Raises:
        LoadError: a request was refused.
    """
    leader = side.leader()
    follower = next(member for member in side.members if member != leader)
    stage = Stage(clients=4, batch=_FILL_BATCH)
    filled = _run([*_load(side, loadgen, leader, stage), "-requests", str(writes // _FILL_BATCH)])
    for member in side.members:
        side.await_replayed(member)
    resident = tuple(resident_mb(side.pid(member)) for member in side.members)
    side.kill(follower)
    began = time.monotonic()
    side.restart(follower)
    side.await_replayed(follower)
    return Volume(
        writes=writes,
        fill_per_second=filled["writes_per_second"],
        resident_mb=resident,
        restart_s=time.monotonic() - began,
        resident_after_restart_mb=resident_mb(side.pid(follower)),
    )


def _load(side: Side, loadgen: Path, leader: str, stage: Stage) -> list[str]:
    return [
        str(loadgen), "-target", side.kind, "-address", side.address(leader),
        "-clients", str(stage.clients), "-batch", str(stage.batch),
    ]  # fmt: skip


def _run(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LoadError(f"{' '.join(command[1:])}: {done.stderr.strip()}")
    found: dict[str, float] = json.loads(done.stdout)
    return found
