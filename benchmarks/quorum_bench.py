"""Three of our controllers beside etcd, ZooKeeper and Apache Kafka's own controllers, in one run.

    python -m benchmarks.quorum_bench [--quick] [--only ROWS] [--sides SIDES] [--rounds N] [--json FILE]

All sides run on this machine and on the file system of this checkout (below build/, never tmpfs). One client program in
Go drives them. They take turns within each round: one side at a time. etcd and ZooKeeper write values of 128 bytes. Our
controllers and Kafka create topics of one partition, which are two records each. Compare figures within one run only.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from benchmarks.etcd import EtcdSide
from benchmarks.exclusive import run_alone
from benchmarks.kafka import KafkaSide
from benchmarks.load import Plan
from benchmarks.loadgen.build import ROOT, CannotBuildError, build
from benchmarks.ours import KafkaDoorSide, KraftSide
from benchmarks.report import Results, file_system, machine, show
from benchmarks.rows import ROWS, broker_boot, producer_ids, rates, wide_topics
from benchmarks.side import MissingError, Side
from benchmarks.zookeeper import ZooKeeperSide

WORK: Final = ROOT / "build" / "bench"
SIDES: Final[dict[str, Callable[[Path], Side]]] = {
    "ours": lambda loadgen: KraftSide(WORK / "kraft"),
    "ours-kafka": lambda loadgen: KafkaDoorSide(WORK / "kraft"),
    "etcd": lambda loadgen: EtcdSide(WORK / "etcd"),
    "zookeeper": lambda loadgen: ZooKeeperSide(WORK / "zookeeper"),
    "kafka": lambda loadgen: KafkaSide(WORK / "kafka", loadgen),
    "kafka-default": lambda loadgen: KafkaSide(WORK / "kafka", loadgen, linger_ms=None),
}
"""By name; Kafka's protocol and Kafka's default linger make a difference in some rows only."""
_NOT_EVERYWHERE: Final = frozenset({"ours-kafka", "kafka-default"})
_THEIRS: Final = frozenset({rates.NAME, producer_ids.NAME, wide_topics.NAME, broker_boot.NAME})
_FULL: Final = Plan()
_QUICK: Final = Plan(
    rounds=1, seconds=2.0, warmup=0.5, outages=2, topics=10_000, warms_up=False, is_quick=True
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 0, or 2 where nothing can be measured or a run failed: that one is left out and named."""
    options = _options(arguments)
    console = Console()
    if file_system(ROOT) == "tmpfs":
        print("make bench: the checkout is on tmpfs, where a sync costs nothing: clone it to a disk", file=sys.stderr)
        return 2
    try:
        loadgen = build()
    except CannotBuildError as missing:
        print(f"make bench: {missing}", file=sys.stderr)
        return 2
    sides, missing = _sides(options.sides, loadgen)
    results = Results(
        machine=machine(),
        file_system=file_system(ROOT),
        began=datetime.now(UTC).isoformat(timespec="seconds"),
        load_before=os.getloadavg()[0],
        sides=[side.title for side in sides.values()],
        missing=missing,
    )
    for name, why in missing.items():
        console.print(f"{name} is not measured: {why}")
    plan = _QUICK if options.quick else _FULL
    try:
        for row in options.only:
            _measure(row, sides, loadgen, plan, options.rounds or plan.rounds, results, console)
    finally:
        for side in sides.values():
            side.stop()
    show(results, {name: row.TITLE.format(topics=plan.topics) for name, row in ROWS.items()}, console)
    _write(Path(options.json), results)
    console.print(f"All runs: {options.json}")
    return 2 if results.failed else 0


def _sides(names: Sequence[str], loadgen: Path) -> tuple[dict[str, Side], dict[str, str]]:
    """Return the sides that can run here, and the reasons for the others."""
    here: dict[str, Side] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            here[name] = SIDES[name](loadgen)
        except MissingError as error:
            missing[name] = str(error)
    return here, missing


def _measure(
    name: str, sides: dict[str, Side], loadgen: Path, plan: Plan, rounds: int, results: Results, console: Console
) -> None:
    """All rounds of one row; the sides take turns."""
    row = ROWS[name]
    into = results.rows.setdefault(name, {})
    for number in range(rounds):
        for side_name, side in sides.items():
            if side_name in _NOT_EVERYWHERE and name not in _THEIRS:
                continue
            began = time.monotonic()
            try:
                found = list(row.measure(side, loadgen, plan))
            except (RuntimeError, TimeoutError) as error:  # of a load, of a node, of a peer that does not come up
                side.stop()
                results.failed.append(f"{name}, round {number + 1}, {side_name}: {error}")
                console.print(f"make bench: {results.failed[-1]}", markup=False)
                continue
            into.setdefault(side.title, []).extend(found)
            said = "; ".join(f"{key} {value:,.2f}" for run in found for key, value in run.items() if value is not None)
            took = time.monotonic() - began
            console.print(f"{name}, round {number + 1} of {rounds}, {side_name}, {took:.0f} s: {said or 'nothing'}")


def _write(path: Path, results: Results) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results)) + b"\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench", description="Measure three controllers beside etcd, ZooKeeper and Kafka's, in one run."
    )
    parser.add_argument("--quick", action="store_true", help="one short round, nothing warm: shows that it runs")
    parser.add_argument("--only", default=",".join(ROWS), help=f"of {','.join(ROWS)}, separated by commas")
    parser.add_argument("--sides", default=",".join(SIDES), help=f"of {','.join(SIDES)}, separated by commas")
    parser.add_argument("--rounds", type=int, help="of each row (5; with --quick 1)")
    parser.add_argument("--json", default=str(ROOT / "build" / "bench.json"), help="where all runs are written")
    options = parser.parse_args(arguments)
    options.only, options.sides = options.only.split(","), options.sides.split(",")
    for option, given, known in (("only", options.only, ROWS), ("sides", options.sides, SIDES)):
        if unknown := set(given) - set(known):
            parser.error(f"--{option}: unknown {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # through `finally`: no server is left
    sys.exit(run_alone("make bench", main))
