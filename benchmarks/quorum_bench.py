"""Three controllers of ours beside three etcd servers: rates, latencies, syncs, kills, restart and memory in one run.

    python -m benchmarks.quorum_bench [--quick] [--only rates,kills,volume] [--rounds N] [--json FILE]

Both sides run on this machine and on the file system of this checkout (below build/, never tmpfs), are driven by the
same client program in Go, and take turns within each round. etcd puts values of 128 bytes; we create topics of one
partition, which are two records each. Figures are medians; compare them within one run only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from benchmarks.etcd import EtcdSide, MissingError
from benchmarks.loadgen.build import ROOT, CannotBuildError, build
from benchmarks.measures import STAGES, LoadError, Stage, measure_kill, measure_rate, measure_volume
from benchmarks.ours import KraftSide
from benchmarks.report import Results, SideResults, file_system, machine, show
from benchmarks.side import Side

WORK: Final = ROOT / "build" / "bench"
SUBJECTS: Final = ("rates", "kills", "volume")
_QUICK_STAGES: Final = (STAGES[0], STAGES[2], STAGES[4])

Pair = tuple[tuple[Side, SideResults], tuple[Side, SideResults]]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How much of what."""

    subjects: tuple[str, ...]
    stages: tuple[Stage, ...] = STAGES
    rounds: int = 5
    seconds: float = 5.0
    warmup: float = 1.0
    kills: int = 20
    volume_rounds: int = 3
    volume: int = 100_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 0, or 2 with a message where something is missing or fails."""
    options = _options(arguments)
    console = Console()
    try:
        loadgen = build()
        sides = (KraftSide(WORK / "kraft"), EtcdSide(WORK / "etcd"))
    except (CannotBuildError, MissingError) as missing:
        print(f"make bench: {missing}", file=sys.stderr)
        return 2
    plan = _plan(options)
    if file_system(ROOT) == "tmpfs":
        print("make bench: the checkout is on tmpfs, where a sync costs nothing: clone it to a disk", file=sys.stderr)
        return 2
    results = Results(
        machine=machine(),
        file_system=file_system(ROOT),
        began=datetime.now(UTC).isoformat(timespec="seconds"),
        load_before=os.getloadavg()[0],
        ours=SideResults(title=sides[0].title),
        etcd=SideResults(title=sides[1].title),
    )
    pair = ((sides[0], results.ours), (sides[1], results.etcd))
    try:
        for subject in plan.subjects:
            _SUBJECTS[subject](pair, loadgen, plan, console)
    except LoadError as error:
        print(f"make bench: {error}", file=sys.stderr)
        return 2
    finally:
        for side in sides:
            side.stop()
    show(results, plan.stages, console)
    path = Path(options.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results)) + b"\n")
    console.print(f"All runs: {path}")
    return 0


def _rates(pair: Pair, loadgen: Path, plan: Plan, console: Console) -> None:
    """Each round on fresh directories, so that every round sees the same."""
    for number in range(plan.rounds):
        for side, _ in pair:
            side.start()
        for stage in plan.stages:
            said = []
            for side, into in pair:
                rate = measure_rate(side, loadgen, stage, seconds=plan.seconds, warmup=plan.warmup)
                into.rates.setdefault(stage.name, []).append(rate)
                said.append(f"{side.kind} {rate.writes_per_second:,.0f}/s")
            console.print(f"round {number + 1} of {plan.rounds}, {stage.name}: {', '.join(said)}")
        for side, _ in pair:
            side.stop()


def _kills(pair: Pair, loadgen: Path, plan: Plan, console: Console) -> None:
    for side, _ in pair:
        side.start()
    for number in range(plan.kills):
        said = []
        for side, into in pair:
            into.without_leader_ms.append(measure_kill(side, loadgen))
            said.append(f"{side.kind} {into.without_leader_ms[-1]:,.0f} ms")
        console.print(f"kill {number + 1} of {plan.kills}: without a leader {', '.join(said)}")
    for side, _ in pair:
        side.stop()


def _volume(pair: Pair, loadgen: Path, plan: Plan, console: Console) -> None:
    for number in range(plan.volume_rounds):
        for side, into in pair:
            side.start()
            began = time.monotonic()
            into.volumes.append(measure_volume(side, loadgen, plan.volume))
            took = time.monotonic() - began
            console.print(
                f"volume {number + 1} of {plan.volume_rounds}, {side.kind}: killed follower has all again after "
                f"{into.volumes[-1].restart_s:.2f} s (measured in {took:.0f} s)"
            )
            side.stop()


_SUBJECTS: Final = {"rates": _rates, "kills": _kills, "volume": _volume}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench", description="Measure three controllers beside three etcd servers, in one run."
    )
    parser.add_argument("--quick", action="store_true", help="half a minute instead of ten")
    parser.add_argument("--only", default=",".join(SUBJECTS), help=f"of {','.join(SUBJECTS)}, separated by commas")
    parser.add_argument("--rounds", type=int, help="of rates (5; with --quick 1)")
    parser.add_argument("--json", default=str(ROOT / "build" / "bench.json"), help="where all runs are written")
    options = parser.parse_args(arguments)
    if unknown := set(options.only.split(",")) - set(SUBJECTS):
        parser.error(f"--only: unknown {', '.join(sorted(unknown))}; there are {', '.join(SUBJECTS)}")
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def _plan(options: argparse.Namespace) -> Plan:
    subjects = tuple(subject for subject in SUBJECTS if subject in options.only.split(","))
    if options.quick:
        return Plan(
            subjects=subjects, stages=_QUICK_STAGES, rounds=options.rounds or 1, seconds=2.0, warmup=0.5,
            kills=3, volume_rounds=1, volume=20_000,
        )  # fmt: skip
    return Plan(subjects=subjects, rounds=options.rounds or 5)


if __name__ == "__main__":
    sys.exit(main())
