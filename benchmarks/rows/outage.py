"""How long nothing can be written after something happened to the leader: shared by the rows that differ in what."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, LoadError, Plan, addresses, warm
from benchmarks.side import Side

_PROBE_TIMEOUT_S: Final = 90.0
FIGURE: Final = "nothing written for, ms"


def measure_outages(side: Side, loadgen: Path, plan: Plan, number: signal.Signals) -> Iterator[Figures]:
    """Some outages of one start, each once the one before is over and every member has all."""
    side.start()
    warm(side, loadgen, plan)
    for _ in range(plan.outages):
        yield {FIGURE: outage(side, loadgen, number)}
    side.stop()


def outage(side: Side, loadgen: Path, number: signal.Signals) -> float:
    """Send the leader a signal; for how many ms nothing could be written.

    Raises:
        LoadError: nothing could be written within a minute.
    """
    leader = side.leader()
    command = [str(loadgen), "-probe", "-target", side.kind, "-address", addresses(side)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as probe:
        if probe.stdin is None or probe.stdout is None or probe.stderr is None:
            raise LoadError("the load generator has no pipes")
        if probe.stdout.readline().strip() != "ready":
            raise LoadError(f"{side.title}: {probe.stderr.read()}")
        at_ns = side.signal(leader, number)
        found, errors = probe.communicate(f"{at_ns}\n", timeout=_PROBE_TIMEOUT_S)
    if probe.returncode != 0:
        raise LoadError(f"{side.title}: {errors}")
    if number is signal.SIGSTOP:
        side.signal(leader, signal.SIGCONT)
    else:
        side.restart(leader)
    side.await_replayed(leader)
    return float(found)
