"""Clusters of real cores under faults keep Raft's promises, and recover when the faults stop."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.raft_cluster import Cluster, Defects
from tests.support.raft_mutants import MUTANTS, Mutant, plant, run_scenarios
from tests.support.raft_random_scenarios import ACTIONS, first_failure, run_actions, run_scenario

RED_SEEDS = (85, 322)
"""85: a replica in its clean stop when peace came. 322: two deadlines of a prospective came together."""


@pytest.mark.parametrize("seed", RED_SEEDS)
def test_seeds_that_once_failed(seed: int) -> None:
    assert run_scenario(seed).events_taken > 0


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_scenarios_from_seeds(first: int) -> None:
    assert first_failure(first, 100) is None


@settings(max_examples=150)
@given(
    seed=st.integers(0, 1 << 32),
    voters=st.sampled_from([1, 2, 3, 5]),
    observers=st.integers(0, 1),
    actions=st.lists(st.tuples(st.sampled_from(sorted(ACTIONS)), st.integers(0, 1 << 16)), min_size=5, max_size=60),
)
def test_any_scenario(seed: int, voters: int, observers: int, actions: list[tuple[str, int]]) -> None:
    run_actions(Cluster(seed, voters=voters, observers=observers), actions)


@pytest.mark.timeout(600)  # seven seconds of a processor at most, which a loaded machine may not have in two minutes
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    """One of these seeds finds the mutant. The unchanged sources pass with all of them (tests above, `make sim`)."""
    with tempfile.TemporaryDirectory() as place:
        plant(mutant, Path(place))
        is_found, word = run_scenarios(Path(place), range(mutant.first, mutant.seeds))
    assert is_found, word


@pytest.mark.parametrize(
    ("file", "was", "said"),
    [
        ("ballots.py", "", "quorum/raft has no ballots.py"),
        ("elections.py", "a line that is not there", "0 times in elections.py, not once"),
    ],
)
def test_a_bug_that_cannot_be_planted_is_an_error(tmp_path: Path, file: str, was: str, said: str) -> None:
    """Else its scenarios would run clean sources, and say so only as "not found"."""
    with pytest.raises(AssertionError, match=said):
        plant(Mutant("a bug", file, was, "", 1), tmp_path)


@pytest.mark.parametrize(
    ("defects", "seeds"),
    [
        (Defects(effects_before_their_write=True), range(200, 800)),
        (Defects(flush_said_before_it_is_done=True), range(50)),
    ],
    ids=["a vote that leaves before it is durable", "a flush that is said too early"],
)
def test_an_executor_that_breaks_a_rule_is_found(defects: Defects, seeds: range) -> None:
    assert first_failure(seeds.start, len(seeds), defects) is not None


@pytest.mark.parametrize("voters", [2, 3, 5])
def test_a_cold_start_has_a_leader_in_a_few_round_trips(voters: int) -> None:
    for seed in range(20):
        cluster = Cluster(seed, voters=voters)
        for node_id in cluster.nodes:
            cluster.start(node_id)
        assert cluster.run(250, until=lambda cluster=cluster: cluster.leader() is not None), cluster.describe()


def test_a_killed_leader_is_replaced_without_any_timeout() -> None:
    """Messages take 1 to 3 ms and a flush 1 to 4: pre-vote, flush, vote, flush make 6 to 20 ms."""
    took = []
    for seed in range(40):
        cluster = Cluster(seed)
        for node_id in cluster.nodes:
            cluster.start(node_id)
        cluster.run(3000, until=lambda cluster=cluster: cluster.leader() is not None)
        cluster.run(300)
        killed_ms, leader = cluster.now_ms, cluster.leader()
        assert leader is not None
        cluster.crash(leader)
        assert cluster.run(2000, until=lambda cluster=cluster: cluster.leader() is not None)
        took.append(cluster.now_ms - killed_ms)
    assert sorted(took)[len(took) // 2] <= 20
    assert max(took) <= 100


def test_a_leader_that_stops_cleanly_is_replaced_at_once() -> None:
    for seed in range(20):
        cluster = Cluster(seed)
        for node_id in cluster.nodes:
            cluster.start(node_id)
        cluster.run(3000, until=lambda cluster=cluster: cluster.leader() is not None)
        cluster.run(300)
        leader = cluster.leader()
        assert leader is not None
        cluster.stop(leader)
        assert cluster.run(100, until=lambda c=cluster, old=leader: c.leader() not in (None, old)), cluster.describe()


def test_a_frozen_leader_is_replaced_after_the_fetch_timeout() -> None:
    for seed in range(20):
        cluster = Cluster(seed)
        for node_id in cluster.nodes:
            cluster.start(node_id)
        cluster.run(3000, until=lambda cluster=cluster: cluster.leader() is not None)
        cluster.run(300)
        old = cluster.leader()
        assert old is not None
        for other in cluster.nodes:
            cluster.faults.cut |= {(old, other), (other, old)} if other != old else set()
        assert cluster.run(2500, until=lambda c=cluster, old=old: c.leader() not in (None, old)), cluster.describe()
