"""The rows of the gate: how each is prepared, and how it puts one side under load."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.gate.clusters import InstalledSide
from benchmarks.gate.installations import ENVIRONMENT, Installation
from benchmarks.gate.pairs import BASE, Load, LoadOn
from benchmarks.load import fill, write
from benchmarks.processes import timed
from benchmarks.rows.starting import NEVER, first_write_s
from benchmarks.side import cpu_seconds
from benchmarks.toolkit_logs import node_directory

CLUSTER_ROUNDS: Final = 4
"""Rounds between which clusters live on: instances differ in speed, which no round on one of them evens out."""
LOAD_S: Final = 1.0
"""The length of a load, as nearly as whole requests or processes allow."""
_TIMEOUT_S: Final = 600.0
_LEAST_REQUESTS: Final = 200
_LEAST_A_CLIENT: Final = 4
_FEW_TOPICS: Final = 100
_TICK_S: Final = 0.01


class Scene:
    """Everything that rows share: the installations, the load generator, and a directory with a long log, made once."""

    def __init__(self, work: Path, loadgen: Path, installations: Mapping[str, Installation], records: int) -> None:
        self.work = work
        self.loadgen = loadgen
        self.installations = installations
        self._records = records

    @cached_property
    def node(self) -> Path:
        """The log directory of a node, whose log holds that many records."""
        return node_directory(self.work / "node", self._records)

    @cached_property
    def log(self) -> Path:
        """The log of that directory."""
        (found,) = self.node.glob("*/*.log")
        return found

    def started(self, stack: ExitStack, done: int) -> dict[str, InstalledSide]:
        """Start a cluster of each installation, another one first after other rounds; `stack` ends them.

        No cluster writes a checkpoint: one side's would run during another's load.
        """
        names = sorted(self.installations)
        first = done // CLUSTER_ROUNDS % len(names)
        sides = {
            name: InstalledSide(self.work / name, self.installations[name]) for name in names[first:] + names[:first]
        }
        for side in sides.values():
            stack.callback(side.stop)
            side.start(NEVER)
        return sides


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row.

    Attributes:
        title: what it measures.
        judged: the measure that decides.
        beside: the measure that is shown beside it.
        opened: see `pairs.Opened`.
        rounds_each: see `pairs.Plan`.
    """

    title: str
    judged: str
    beside: str
    opened: Callable[[Scene, int], AbstractContextManager[LoadOn]]
    rounds_each: int = sys.maxsize


@contextlib.contextmanager
def _creates(scene: Scene, done: int, *, clients: int, batch: int) -> Iterator[LoadOn]:
    """Keep a cluster of each side alive, and have each create equally many topics.

    Each load is a fixed number of requests, found by two loads of the base: so all clusters grow alike.
    """
    with ExitStack() as stack:
        sides = scene.started(stack, done)
        requests = max(_LEAST_REQUESTS, _LEAST_A_CLIENT * clients)
        for _ in range(2):
            rates = {name: _create(side, scene, clients, batch, requests) for name, side in sides.items()}
            requests = max(_LEAST_A_CLIENT * clients, round(rates[BASE].judged * LOAD_S / batch))
        yield lambda name: _create(sides[name], scene, clients, batch, requests)


def _create(side: InstalledSide, scene: Scene, clients: int, batch: int, requests: int) -> Load:
    """Put one cluster under load; when this returns, all of its members have applied every record."""
    leader = side.pid(side.leader())
    before = cpu_seconds(leader)
    words = ("-clients", clients, "-batch", batch, "-requests", requests)
    found = write(side, scene.loadgen, *map(str, words), timeout_s=_TIMEOUT_S)
    used = max(cpu_seconds(leader) - before, _TICK_S)
    for member in side.members:
        side.await_replayed(member)
    return Load(judged=found["writes_per_second"], beside=requests * batch / used, took_s=found["seconds"])


@contextlib.contextmanager
def _cold_start(scene: Scene, done: int) -> Iterator[LoadOn]:
    """Form a cluster of each side, and kill it: one after another is started again while the others are down."""
    with ExitStack() as stack:
        sides = scene.started(stack, done)
        for side in sides.values():
            fill(side, scene.loadgen, _FEW_TOPICS)
            side.stop_broker()
            _kill(side)
        yield lambda name: _start(sides[name], scene)


def _start(side: InstalledSide, scene: Scene) -> Load:
    took = first_write_s(side, scene.loadgen)
    used = sum(cpu_seconds(side.pid(member)) for member in side.members)
    _kill(side)
    return Load(judged=1 / took, beside=1 / max(used, _TICK_S), took_s=took)


def _kill(side: InstalledSide) -> None:
    for member in side.members:
        side.signal(member, signal.SIGKILL)


@contextlib.contextmanager
def _process(scene: Scene, done: int, *, words: Callable[[Scene], tuple[str | Path, ...]]) -> Iterator[LoadOn]:
    """Run one command as often as fits into a load, once at least."""
    said = words(scene)
    times = max(1, round(LOAD_S / _run(scene, BASE, said, 1).took_s))
    yield lambda name: _run(scene, name, said, times)


def _run(scene: Scene, name: str, words: tuple[str | Path, ...], times: int) -> Load:
    command = scene.installations[name].kraft(*words)
    costs = [timed(command, environment=ENVIRONMENT, timeout_s=_TIMEOUT_S) for _ in range(times)]
    wall_s, cpu_s = sum(cost.wall_s for cost in costs), sum(cost.cpu_s for cost in costs)
    return Load(judged=times / cpu_s, beside=times / wall_s, took_s=wall_s)


def _creates_row(clients: int, batch: int = 1) -> Row:
    each = f"{clients} client{'s' if clients > 1 else ''}"
    return Row(
        title=f"creates, {each}" + (f", {batch} topics a request" if batch > 1 else ""),
        judged="topics/s",
        beside="topics/s of the leader's processor",
        opened=partial(_creates, clients=clients, batch=batch),
        rounds_each=CLUSTER_ROUNDS,
    )


def _process_row(title: str, words: Callable[[Scene], tuple[str | Path, ...]]) -> Row:
    """Return a row of processes, judged by their processor time.

    It is steadier than the clock. The middle half of the ratios of equal code, beside other work, was at most 11 %
    wide. By the clock it was 20 %.
    """
    return Row(
        title=title,
        judged="runs/s of processor",
        beside="runs/s",
        opened=partial(_process, words=words),
    )


ROWS: Final[Mapping[str, Row]] = {
    "creates-1": _creates_row(1),
    "creates-16": _creates_row(16),
    "creates-256": _creates_row(256),
    "creates-1x100": _creates_row(1, 100),
    "creates-16x100": _creates_row(16, 100),
    "cold-start": Row(
        title="cold start of three killed controllers, to the first acknowledged create",
        judged="starts/s",
        beside="starts/s of processors",
        opened=_cold_start,
        rounds_each=CLUSTER_ROUNDS,
    ),
    "help": _process_row("kraft --help", lambda scene: ("--help",)),
    "dump": _process_row("kraft log dump", lambda scene: ("log", "dump", scene.log)),
    "verify": _process_row("kraft log verify", lambda scene: ("log", "verify", scene.log)),
    "check": _process_row("kraft check", lambda scene: ("check", scene.node)),
}
