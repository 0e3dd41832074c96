"""Tries planted bugs against seeds.

`python -m tests.simulation.mutant_run [NAME...]` tries these or all, and rewrites their cells in the table of
docs/simulation.md. `... NAME SEED SEED...` tries one on these seeds, in this process.

Decides: which seeds are tried first, and when a bug counts as caught. Each bug runs in a separate process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from tests.simulation.mutant_table import ROOT, Row, read_table, write_table
from tests.simulation.mutants import MUTANTS
from tests.simulation.planting import Mutant, plant


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one bug: the first seed that noticed it, and the checker; None if no seed did."""

    seed: int | None
    checker: str
    what: str
    events: int


def try_here(mutant: Mutant, seeds: Iterable[int]) -> Verdict:
    """Plant it in this process, and run seeds until one notices."""
    plant(mutant)
    from tests.simulation.scenario import run_scenario  # noqa: PLC0415
    from tests.simulation.setup import scenario_of  # noqa: PLC0415 - after the planting

    events = 0
    for seed in seeds:
        outcome = run_scenario(scenario_of(seed))
        events += outcome.events
        if not outcome.is_clean:
            return Verdict(seed=seed, checker=outcome.checker or "", what=outcome.what, events=events)
    return Verdict(seed=None, checker="", what="", events=events)


def try_apart(mutant: Mutant, seeds: Iterable[int] | None = None) -> Verdict:
    """Plant it in a separate process; by default try the table's seed first, then all others."""
    chosen = seeds_for(mutant) if seeds is None else list(seeds)
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation.mutant_run", mutant.name, *map(str, chosen)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Verdict)


def seeds_for(mutant: Mutant) -> list[int]:
    """Return all seeds that may be tried, in a good order."""
    seed = read_table().get(mutant.name, Row()).seed
    known = [int(seed)] if seed.isdigit() else []
    return list(dict.fromkeys([*known, *range(mutant.seeds)]))


def main(arguments: list[str]) -> int:
    """See the module."""
    named = {mutant.name: mutant for mutant in MUTANTS}
    on_seeds = len(arguments) > 1 and all(argument.isdigit() for argument in arguments[1:])
    unknown = [name for name in (arguments[:1] if on_seeds else arguments) if name not in named]
    if unknown:
        names = "\n".join(f"  {name}" for name in named)
        print(f"no planted bug is called {unknown[0]!r}. There are:\n{names}", file=sys.stderr)
        return 2
    if on_seeds:
        verdict = try_here(named[arguments[0]], map(int, arguments[1:]))
        print(json.dumps(msgspec.to_builtins(verdict)))
        return 0
    chosen = [named[name] for name in arguments] or list(MUTANTS)
    all_caught = True
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for mutant, verdict in zip(chosen, pool.map(try_apart, chosen), strict=True):
            caught = f"{verdict.checker} at seed {verdict.seed}" if verdict.checker else "NOT CAUGHT"
            print(f"{mutant.name}: {caught}: {verdict.what[:150]}", flush=True)
            all_caught = all_caught and verdict.seed is not None
            seed = f"NOT CAUGHT by {mutant.seeds}" if verdict.seed is None else str(verdict.seed)
            row = read_table().get(mutant.name, Row())
            write_table({mutant.name: msgspec.structs.replace(row, checker=verdict.checker, seed=seed)})
    return not all_caught


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
