"""Tries planted bugs: `python -m tests.simulation.mutant_run [NAME...]` tries those, or all, and writes their
rows in the table of docs/simulation.md anew; `... NAME FIRST COUNT` tries one, in this process.

Decides: what counts as caught. Must not know: what the bugs are. Each runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from tests.simulation.mutants import MUTANTS
from tests.simulation.planting import Mutant, plant

ROOT: Final = Path(__file__).resolve().parents[2]
DOCUMENT: Final = ROOT / "docs" / "simulation.md"
_BEGIN: Final = "<!-- table of planted bugs: written by `python -m tests.simulation.mutant_run` -->\n"
_END: Final = "<!-- end of the table -->\n"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one: the first seed that noticed, by which checker; None when none did."""

    seed: int | None
    checker: str
    what: str
    events: int


def try_here(mutant: Mutant, first: int, count: int) -> Verdict:
    """Plant it in this process and run seeds."""
    plant(mutant)
    from tests.simulation.setup import planned_story, story_of  # noqa: PLC0415 - after the planting
    from tests.simulation.story import tell  # noqa: PLC0415

    events = 0
    for seed in range(first, first + count):
        outcome = tell(planned_story(seed, mutant.fault) if mutant.fault else story_of(seed))
        events += outcome.events
        if not outcome.is_clean:
            return Verdict(seed=seed, checker=outcome.checker or "", what=outcome.what, events=events)
    return Verdict(seed=None, checker="", what="", events=events)


def try_apart(mutant: Mutant, first: int | None = None, count: int | None = None) -> Verdict:
    """Plant it in a process of its own."""
    first = mutant.first if first is None else first
    seeds = mutant.seeds if count is None else count
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation.mutant_run", mutant.name, str(first), str(seeds)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/proto", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"{mutant.name}: {done.stderr[-2000:]}")
    return msgspec.json.decode(done.stdout, type=Verdict)


HEAD: Final = "| planted bug | in | first caught by | at seed |"


def row(mutant: Mutant, verdict: Verdict) -> str:
    """Its line in the table, as Markdown."""
    seed = f"none of {mutant.seeds}" if verdict.seed is None else str(verdict.seed)
    seed += f" of *{mutant.fault}*" if mutant.fault else ""
    return f"{_place(mutant)} {verdict.checker} | {seed} |"


def _place(mutant: Mutant) -> str:
    return f"| {mutant.name} | `{mutant.module}` |"


def write_table(rows: list[str]) -> None:
    """Put these rows into the document; rows of other bugs that still exist stay as they are."""
    document = DOCUMENT.read_text(encoding="utf-8")
    head, _, rest = document.partition(_BEGIN)
    old, _, tail = rest.partition(_END)
    known = [*rows, *old.splitlines()]
    lines = [next((line for line in known if line.startswith(_place(mutant))), "") for mutant in MUTANTS]
    text = "\n".join([HEAD, "|---|---|---|---|", *filter(None, lines)])
    DOCUMENT.write_text(f"{head}{_BEGIN}\n{text}\n\n{_END}{tail}", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """See the module."""
    named = {mutant.name: mutant for mutant in MUTANTS}
    if len(arguments) == 3 and arguments[1].isdigit():
        verdict = try_here(named[arguments[0]], int(arguments[1]), int(arguments[2]))
        print(json.dumps(msgspec.to_builtins(verdict)))
        return 0
    chosen = [named[name] for name in arguments] or list(MUTANTS)
    verdicts = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        for mutant, verdict in zip(chosen, pool.map(try_apart, chosen), strict=True):
            verdicts.append((mutant, verdict))
            caught = f"{verdict.checker} at seed {verdict.seed}" if verdict.checker else "NOT CAUGHT"
            print(f"{mutant.name}: {caught}: {verdict.what[:150]}", flush=True)
    write_table([row(mutant, verdict) for mutant, verdict in verdicts])
    return any(verdict.seed is None for _, verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
