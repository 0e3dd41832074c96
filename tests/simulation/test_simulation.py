"""A few scenarios in every run of the tests; `make campaign` and `make sim MINUTES=…` run many more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.simulation.campaign import Tally, replay_command, report, run_for, run_seeds
from tests.simulation.fault_names import ALL
from tests.simulation.happened import EFFECTS
from tests.simulation.mutant_proof import against_types, prove
from tests.simulation.mutant_run import try_apart
from tests.simulation.mutant_table import PASS, ROOT, lines_changed, read_table
from tests.simulation.mutants import MUTANTS
from tests.simulation.planting import Mutant, mutated_source
from tests.simulation.red_seeds import RED_SEEDS
from tests.simulation.scenario import run_scenario
from tests.simulation.setup import scenario_of
from tests.simulation.statistics_table import LINES, STORIES
from tests.simulation.statistics_table import block as statistics_block
from tests.simulation.statistics_table import written as written_statistics
from tests.support.cores import CORES
from tests.support.fresh_seed import fresh_seed

CAMPAIGN_S = 600 if os.environ.get("LONG") else 240 // CORES
"""Four minutes of fresh seeds, on one core or on several at once; with LONG=1 ten on each."""
REPEATED = (4, 9, 12)
"""Seeds of cheap scenarios, two of them with many faults."""
QUICK_PROOFS = (
    "an agent makes a directory under its own name at once",
    "divergence is ignored",
    "the high watermark rises in an old epoch",
)
QUICK_MUTANTS = ("a follower fetches before it has flushed", "two votes in an epoch", "a flush that syncs nothing")


@cache
def _digest(seed: int) -> str:
    """Return the digest of a seed's scenario, run in this process."""
    return run_scenario(scenario_of(seed)).digest


@pytest.mark.parametrize("first", range(10, 20, 5))  # the seeds before cost more, and run in the campaign
def test_scenarios_of_the_first_seeds(first: int) -> None:
    tally = run_seeds(range(first, first + 5))
    assert tally.failed is None, report(tally.failed)
    assert tally.seeds == 5


@pytest.mark.parametrize("seed", RED_SEEDS)
def test_scenarios_that_once_did_not_hold(seed: int) -> None:
    outcome = run_scenario(scenario_of(seed))
    assert outcome.is_clean, report(outcome)


@pytest.mark.parametrize(
    "hash_seed", ["1", *(pytest.param(other, marks=pytest.mark.campaign) for other in ("0", "4242"))]
)
def test_the_transcript_follows_from_the_seed_alone(hash_seed: str) -> None:
    code = (
        "from tests.simulation.setup import scenario_of; from tests.simulation.scenario import run_scenario\n"
        f"for seed in {REPEATED!r}: print(run_scenario(scenario_of(seed)).digest)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [_digest(seed) for seed in REPEATED]


def test_seeds_differ() -> None:
    assert len({_digest(seed) for seed in REPEATED}) == len(REPEATED)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_planted_bug_has_its_place(mutant: Mutant) -> None:
    path, source = mutated_source(mutant)
    compile(source, path, "exec")


def test_any_seed_may_draw_any_kind_of_fault() -> None:
    """Each range of seeds draws every kind of fault."""
    for first in (0, 100_000):
        scenarios = [scenario_of(seed) for seed in range(first, first + 400)]
        drawn = {step.fault for scenario in scenarios for step in scenario.steps}
        assert drawn == ALL
        assert 20 < sum(scenario.static_voters for scenario in scenarios) < 80
        assert 60 < sum(scenario.changes_voters for scenario in scenarios) < 250


def test_the_planted_bugs_are_named_once_and_plenty() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 25


def test_the_table_in_the_documentation_names_every_planted_bug_and_who_caught_it() -> None:
    rows = read_table()
    assert list(rows) == [mutant.name for mutant in MUTANTS]
    assert [name for name, row in rows.items() if not row.seed.isdigit()] == []
    assert [name for name, row in rows.items() if row.types not in (PASS, "")] == []
    assert [mutant.name for mutant in MUTANTS if lines_changed(mutant) != 1] == []


def test_every_checker_is_the_first_to_catch_a_planted_bug() -> None:
    directory = Path(__file__).parent / "checkers"
    checkers = {path.stem for path in directory.glob("*.py")} - {"__init__", "invariant_failure", "reference"}
    assert checkers - {row.checker for row in read_table().values()} == set()


def test_plenty_of_planted_bugs_pass_the_unit_tests_of_their_module() -> None:
    rows = read_table()
    passing = [mutant for mutant in MUTANTS if rows[mutant.name].passes]
    assert len(passing) >= 25
    assert {mutant.part for mutant in passing} >= {"core", "directory", "executor", "log", "snapshots"}


@pytest.mark.parametrize("name", QUICK_MUTANTS)
def test_a_planted_bug_is_caught(name: str) -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    verdict = try_apart(mutant, range(8))
    assert verdict.seed is not None


def test_the_command_to_replay_names_what_was_kept() -> None:
    setup = scenario_of(11)
    assert replay_command(setup) == "make sim SEED=11"


def test_the_statistics_in_the_documentation_have_a_place_for_every_fault_and_effect() -> None:
    faults = [fault for line in LINES for fault in line.faults]
    assert sorted(faults) == sorted(ALL)
    assert sorted(effect for line in LINES for effect in line.effects) == sorted(EFFECTS)
    assert _without_numbers(statistics_block(Tally())) == _without_numbers(written_statistics())


def _without_numbers(text: str) -> list[str]:
    return re.sub(r"[\d,]*\d", "", text).split()


@pytest.mark.campaign
@pytest.mark.timeout(1200)
def test_the_first_scenarios_are_clean_every_fault_comes_to_something_and_the_documentation_says_to_what() -> None:
    tally = run_seeds(range(STORIES))
    assert tally.failed is None, report(tally.failed)
    assert [effect for effect in EFFECTS if effect not in tally.happened] == []
    assert statistics_block(tally) == written_statistics(), "python -m tests.simulation.statistics_table"


@pytest.mark.campaign
@pytest.mark.timeout(CAMPAIGN_S * 4 + 600)
def test_fresh_seeds() -> None:
    first = fresh_seed("SIM_SEED", 1 << 40)
    tally = run_for(CAMPAIGN_S, workers=CORES, first=first)
    print(f"\nSIM_SEED={first}: {tally}")
    assert tally.failed is None, report(tally.failed)


@pytest.mark.campaign
@pytest.mark.timeout(1200)
def test_every_planted_bug_type_checks() -> None:
    """Otherwise mypy would find the bug, and no simulator would be needed."""
    assert {name: said for name, said in against_types(MUTANTS).items() if said != PASS} == {}


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_the_unit_tests_see_of_the_planted_bugs_what_the_table_says() -> None:
    """Check the table's verdict of the unit tests: all bugs with LONG=1, otherwise a few.

    Checked is only whether they pass; which test fails first may differ.
    """
    rows = {name: row for name, row in read_table().items() if row.unit_tests}
    names = rows if os.environ.get("LONG") else QUICK_PROOFS
    chosen = [mutant for mutant in MUTANTS if mutant.name in names]
    said = {mutant.name: unit_tests == PASS for mutant, _, unit_tests in prove(chosen, CORES)}
    assert said == {name: rows[name].unit_tests == PASS for name in said}


@pytest.mark.campaign
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_planted_bug_is_caught(mutant: Mutant) -> None:
    """The table's seed catches the bug, or another of the first `seeds` seeds, on which the unchanged code is clean.

    The test above checks the first of these seeds, the one below all.
    """
    assert try_apart(mutant).seed is not None


@pytest.mark.campaign
@pytest.mark.timeout(1200)
def test_the_seeds_of_the_planted_bugs_are_clean() -> None:
    """Check all of them with LONG=1, otherwise those in the table."""
    seeds = {int(row.seed) for row in read_table().values()}
    if os.environ.get("LONG"):
        seeds = set(range(max(mutant.seeds for mutant in MUTANTS)))
    tally = run_seeds(sorted(seeds - set(range(STORIES))))
    assert tally.failed is None, report(tally.failed)
    assert tally.seeds > 0


@pytest.mark.parametrize(
    ("virtual_ms", "said"),
    [
        (1_002_000, "1002 s (17 minutes) of virtual time"),
        (200_000_000, "200000 s (2.3 days) of virtual time"),
        (63_115_200_000, "63115200 s (2.00 years) of virtual time"),
    ],
)
def test_virtual_time_is_told_in_a_unit_that_fits(virtual_ms: int, said: str) -> None:
    assert f", {said}, " in str(Tally(virtual_ms=virtual_ms))
