"""Tries planted bugs: `python -m tests.simulation.mutant_run [NAME...]` tries those, or all, and writes their
rows in the table of docs/simulation.md anew; `... NAME SEED SEED...` tries one on these seeds, in this process.

Decides: what counts as caught, and on which seeds it is tried first. Must not know: what the bugs are. Each runs in a
process of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
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


def try_here(mutant: Mutant, seeds: Iterable[int]) -> Verdict:
    """Plant it in this process and run seeds until one notices."""
    plant(mutant)
    from tests.simulation.setup import story_of  # noqa: PLC0415 - after the planting
    from tests.simulation.story import tell  # noqa: PLC0415

    events = 0
    for seed in seeds:
        outcome = tell(story_of(seed))
        events += outcome.events
        if not outcome.is_clean:
            return Verdict(seed=seed, checker=outcome.checker or "", what=outcome.what, events=events)
    return Verdict(seed=None, checker="", what="", events=events)


def try_apart(mutant: Mutant, seeds: Iterable[int] | None = None) -> Verdict:
    """Plant it in a process of its own; by default the seed that the table names comes first, then all others."""
    chosen = seeds_for(mutant) if seeds is None else list(seeds)
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation.mutant_run", mutant.name, *map(str, chosen)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/proto", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Verdict)


def seeds_for(mutant: Mutant) -> list[int]:
    """All that may be tried, in a good order."""
    found = re.search(
        rf"^{re.escape(_place(mutant))} .* \| (\d+) \|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE
    )
    known = [] if found is None else [int(found[1])]
    return list(dict.fromkeys([*known, *range(mutant.seeds)]))


HEAD: Final = "| planted bug | in | first caught by | at seed |"


def row(mutant: Mutant, verdict: Verdict) -> str:
    """Its line in the table, as Markdown."""
    seed = f"NOT CAUGHT by {mutant.seeds}" if verdict.seed is None else str(verdict.seed)
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
    if len(arguments) > 1 and all(argument.isdigit() for argument in arguments[1:]):
        verdict = try_here(named[arguments[0]], map(int, arguments[1:]))
        print(json.dumps(msgspec.to_builtins(verdict)))
        return 0
    chosen = [named[name] for name in arguments] or list(MUTANTS)
    verdicts = []
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for mutant, verdict in zip(chosen, pool.map(try_apart, chosen), strict=True):
            verdicts.append((mutant, verdict))
            caught = f"{verdict.checker} at seed {verdict.seed}" if verdict.checker else "NOT CAUGHT"
            print(f"{mutant.name}: {caught}: {verdict.what[:150]}", flush=True)
    write_table([row(mutant, verdict) for mutant, verdict in verdicts])
    return any(verdict.seed is None for _, verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
