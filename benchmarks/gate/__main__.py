"""Run the performance gate.

    python -m benchmarks.gate [--rows ROWS] [--pairs N] [--records N] [--minutes N] [--quick] [--json FILE]

Three sides: `tree` is this checkout, `base` the wheel of the previous release, and `control` the same wheel again.
Each is installed from a wheel in its own environment. Loads of about a second are put on each side in turn, and
compared within one round. A row fails if the tree's median ratio is below 0.95 of the control's, and the upper quartile
of the tree's is below 1.

Exit status: 0; 1 if a row failed; 2 if something could not be measured.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.exclusive import BusyError, exclusive, lock_file
from benchmarks.gate.installations import installations
from benchmarks.gate.pairs import BASE, TREE, Plan, loop_ms, measure
from benchmarks.gate.rows import ROWS, Scene
from benchmarks.gate.show import Results, line, result, show, write
from benchmarks.gate.verdict import LEAST_PAIRS
from benchmarks.loadgen.build import ROOT, CannotBuildError, build
from benchmarks.report import file_system, machine
from quorum.cli.demo.interrupts import Interrupted, interrupts

_WORK: Final = ROOT / "build" / "gate"
_PAIRS: Final = 12
_RECORDS: Final = 1_000_000
_QUICK_RECORDS: Final = 100_000
_MINUTES: Final = 60.0
_WIDTH: Final = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    options = _options(arguments)
    if file_system(ROOT) == "tmpfs":
        return _cannot("the checkout is on tmpfs, where a sync costs nothing: clone it to a disk")
    if shutil.which("setpriv") is None:
        return _cannot(
            "setpriv starts the controllers and is not here: install it (on Debian, apt-get install util-linux)"
        )
    try:
        with interrupts(), exclusive(lock_file()):
            return _run(options)
    except (BusyError, CannotBuildError) as error:
        return _cannot(str(error))
    except subprocess.CalledProcessError as error:
        return _cannot(f"a side could not be installed: {error}")
    except Interrupted as interrupted:
        return interrupted.exit_code


def _run(options: argparse.Namespace) -> int:
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    deadline = time.monotonic() + options.minutes * 60
    shutil.rmtree(_WORK, ignore_errors=True)
    _WORK.mkdir(parents=True)
    try:
        loadgen = build()
        console.print("installing the tree, the previous release, and the control")
        sides = installations(_WORK)
        results = Results(
            machine=machine(),
            file_system=file_system(ROOT),
            began=datetime.now(UTC).isoformat(timespec="seconds"),
            load_before=os.getloadavg()[0],
            records=options.records,
            packages=sorted(sides[TREE].packages() ^ sides[BASE].packages()),
        )
        if results.packages:
            console.print(f"packages that differ: {', '.join(results.packages)}", markup=False)
        scene = Scene(_WORK, loadgen, sides, options.records)
        for name in options.rows:
            _measure(name, scene, options.pairs, deadline, results, console)
            write(options.json, results)
    finally:
        shutil.rmtree(_WORK, ignore_errors=True)
    show(results, dict(ROWS), console)
    console.print(f"All rounds: {options.json}", markup=False)
    return results.status


def _measure(name: str, scene: Scene, pairs: int, deadline: float, results: Results, console: Console) -> None:
    """Measure one row, and print its line."""
    row, began = ROWS[name], time.monotonic()
    try:
        with console.status(f"{name}: {row.title}"):
            plan = Plan(pairs=pairs, rounds_each=row.rounds_each, deadline=deadline)
            rounds = measure(partial(row.opened, scene), plan, loop_ms)
    except (RuntimeError, TimeoutError, subprocess.SubprocessError) as error:  # of a load, a node, or the time
        results.missing[name] = str(error)
        console.print(f"{name} could not be measured: {error}", markup=False)
        return
    results.rows[name] = result(rounds, time.monotonic() - began)
    console.print(line(name, results.rows[name], row), markup=False, soft_wrap=True)


def _cannot(why: str) -> int:
    print(f"make bench-gate: {why}", file=sys.stderr)
    return 2


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench-gate", description="Measure this tree beside the previous release; fail if a row is slower."
    )
    parser.add_argument("--rows", default=",".join(ROWS), help=f"of {','.join(ROWS)}, separated by commas")
    parser.add_argument("--pairs", type=int, help=f"rounds of a row ({_PAIRS}; with --quick {LEAST_PAIRS})")
    parser.add_argument("--records", type=int, help="of the log (1,000,000; with --quick 100,000)")
    parser.add_argument("--minutes", type=float, default=_MINUTES, help="no round begins later than this (60)")
    parser.add_argument("--quick", action="store_true", help="few rounds, a short log: shows that it runs")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "gate.json", help="where all rounds are written")
    options = parser.parse_args(arguments)
    options.rows = options.rows.split(",")
    if unknown := sorted(set(options.rows) - set(ROWS)):
        parser.error(f"--rows: unknown {', '.join(unknown)}; there are {', '.join(ROWS)}")
    if options.pairs is None:
        options.pairs = LEAST_PAIRS if options.quick else _PAIRS
    if options.pairs < LEAST_PAIRS:
        parser.error(f"--pairs must be at least {LEAST_PAIRS}")
    if options.records is None:
        options.records = _QUICK_RECORDS if options.quick else _RECORDS
    return options


if __name__ == "__main__":
    sys.exit(main())
