"""A few stories in every run of the tests; `make campaign` and `make sim MINUTES=…` tell many more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.campaign import replay_command, report, run_for, run_seeds
from tests.simulation.mutant_run import HEAD, ROOT, try_apart
from tests.simulation.mutants import MUTANTS
from tests.simulation.planting import Mutant, mutated_source
from tests.simulation.red_seeds import RED_SEEDS
from tests.simulation.setup import story_of
from tests.simulation.story import tell
from tests.simulation.voter_mutants import VOTER_MUTANTS
from tests.support.fresh_seed import fresh_seed

CAMPAIGN_S = 600 if os.environ.get("LONG") else 60
SHOWN_MUTANTS = (
    "a vote leaves before it is durable",
    "a restarted voter forgets its vote",
    "a follower fetches before it has flushed",
    "divergence is ignored",
    "a follower truncates too little",
    "a vote for a log that is behind",
    "two votes in an epoch",
    "one replica is a majority of logs",
    "a minority elects",
    "the high watermark rises in an old epoch",
    "a follower believes any high watermark",
    "a voter without a leader asks for no election",
    "a follower that leaves the leader's log truncates nothing",
    "effects do not wait for their write",
    "answered before commit",
    "a waiting answer leaves one offset early",
    "a lost leadership keeps its uncommitted images",
    "a leader publishes what is not committed yet",
    "an image is dated by its first request, not by its batch",
    "a read is answered below the offset it asks for",
    "a flush that syncs nothing",
    "truncate without sync",
    "a new segment's name is not synced",
    "a segment is rolled before it is synced",
    "an epoch is not written down before its first batch",
    "memory keeps the epochs of what was cut",
)
"""Caught by their seeds in each campaign. The others are tried with LONG=1: of most of them it is not known again since
followers take turns, and two were not caught by their seeds any more: "the leader counts what it has not flushed" and
"logs are compared by length alone"."""
QUICK_MUTANTS = ("a follower fetches before it has flushed", "two votes in an epoch", "a flush that syncs nothing")


@pytest.mark.parametrize("first", range(0, 20, 5))
def test_stories_of_the_first_seeds(first: int) -> None:
    tally = run_seeds(range(first, first + 5))
    assert tally.failed is None, report(tally.failed)
    assert tally.seeds == 5


@pytest.mark.parametrize("seed", RED_SEEDS)
def test_stories_that_once_did_not_hold(seed: int) -> None:
    outcome = tell(story_of(seed))
    assert outcome.is_clean, report(outcome)


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_the_transcript_follows_from_the_seed_alone(hash_seed: str) -> None:
    code = (
        "from tests.simulation.setup import story_of; from tests.simulation.story import tell\n"
        "for seed in (3, 4): print(tell(story_of(seed)).digest)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}", "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [tell(story_of(seed)).digest for seed in (3, 4)]


def test_seeds_differ() -> None:
    assert len({tell(story_of(seed)).digest for seed in (2, 3, 4)}) == 3


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_planted_bug_has_its_place(mutant: Mutant) -> None:
    path, source = mutated_source(mutant)
    compile(source, path, "exec")


@pytest.mark.parametrize("mutant", VOTER_MUTANTS, ids=lambda mutant: mutant.name)
def test_every_planted_bug_of_the_voters_has_its_place(mutant: Mutant) -> None:
    path, source = mutated_source(mutant)
    compile(source, path, "exec")


def test_stories_of_changing_voters() -> None:
    seeds = [seed for seed in range(10_000, 10_020) if story_of(seed).changes_voters]
    assert len(seeds) >= 3
    for seed in seeds[:4]:
        outcome = tell(story_of(seed))
        assert outcome.is_clean, report(outcome)


def test_the_planted_bugs_are_named_once_and_plenty() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 25


def test_the_table_in_the_documentation_names_every_planted_bug() -> None:
    text = (Path(ROOT) / "docs" / "simulation.md").read_text(encoding="utf-8")
    assert [mutant.name for mutant in MUTANTS if f"| {mutant.name} | `{mutant.module}` |" not in text] == []
    assert HEAD in text


@pytest.mark.parametrize("name", QUICK_MUTANTS)
def test_a_planted_bug_is_caught(name: str) -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    verdict = try_apart(mutant, 0, 5)
    assert verdict.seed is not None


def test_the_command_to_replay_names_what_was_kept() -> None:
    setup = story_of(11)
    assert replay_command(setup) == "make sim SEED=11"


@pytest.mark.campaign
@pytest.mark.timeout(CAMPAIGN_S * 4 + 600)
def test_fresh_seeds() -> None:
    first = fresh_seed("SIM_SEED", 1 << 40)
    tally = run_for(CAMPAIGN_S, workers=os.cpu_count() or 1, first=first)
    print(f"\nSIM_SEED={first}: {tally}")
    assert tally.failed is None, report(tally.failed)


@pytest.mark.campaign
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "mutant",
    [mutant for mutant in MUTANTS if os.environ.get("LONG") or mutant.name in SHOWN_MUTANTS],
    ids=lambda mutant: mutant.name,
)
def test_every_planted_bug_is_caught(mutant: Mutant) -> None:
    """By the first so many seeds, on which the code as it is runs clean (`test_fresh_seeds` and the table's word)."""
    assert try_apart(mutant).seed is not None
