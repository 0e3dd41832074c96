"""Runs the load generator against a side.

Decides: how it is called. Must not know: what a row makes of its figures.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.side import Side

_FILL_BATCH: Final = 100
_FILL_CLIENTS: Final = 4


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How much of what: runs of each row, seconds of each load, outages of one start, topics of a large cluster."""

    rounds: int = 5
    seconds: float = 5.0
    warmup: float = 1.0
    outages: int = 10
    topics: int = 100_000
    warms_up: bool = True
    """Whether a side that has to be warm is made so."""
    is_quick: bool = False


class LoadError(RuntimeError):
    """The load generator ended with an error, which is in the message."""


Figures = dict[str, float | None]
"""Figures by name; None if a side does not report one."""


def addresses(side: Side) -> str:
    """Return the addresses of all members, separated by commas."""
    return ",".join(side.address(member) for member in side.members)


def write(side: Side, loadgen: Path, *words: str, timeout_s: float | None = None) -> dict[str, float]:
    """Put the leader under one load, and return what the load generator measured.

    Raises:
        LoadError: a request was refused, or nothing was acknowledged.
        subprocess.TimeoutExpired: the load took longer than `timeout_s`.
    """
    command = [str(loadgen), "-target", side.kind, "-address", side.address(side.leader()), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout_s)
    if done.returncode != 0:
        raise LoadError(f"{side.title}: {' '.join(command[1:])}: {done.stderr.strip()}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def fill(side: Side, loadgen: Path, topics: int) -> float:
    """Write so many topics (keys, nodes), and wait until every member has them; how many a second were acknowledged."""
    words = ["-clients", str(_FILL_CLIENTS), "-batch", str(_FILL_BATCH), "-requests", str(topics // _FILL_BATCH)]
    found = write(side, loadgen, *words)
    for member in side.members:
        side.await_replayed(member)
    return found["writes_per_second"]


def warm(side: Side, loadgen: Path, plan: Plan) -> None:
    """Put a side under load until its rates are its own."""
    if plan.warms_up and side.warm_s > 0:
        write(side, loadgen, "-clients", "64", "-seconds", str(side.warm_s), "-warmup", "0")
