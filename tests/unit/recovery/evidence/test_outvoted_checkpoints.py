"""A checkpoint whose voters most copies deny takes no vote from a sound directory, and no repair goes on from it.

Of two copies in a tie, the damaged one is not kept.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.files.os_files import OsFiles
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.replicas.diff_paths import diff_paths
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.repairs.standalone import propose_standalone
from tests.support.damage import Cluster, copy_cluster, other_bytes, place_of, quiet_batch, split, write
from tests.support.one_fault import forged_checkpoint
from tests.support.repairs import request

NODES = (1, 2, 3, 11, 12)


@pytest.fixture
def failovers(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "failovers", tmp_path / "failovers")


def _directories(cluster: Cluster, nodes: tuple[int, ...]) -> list[str]:
    return [str(cluster.disk(node)) for node in nodes]


def _accused(cluster: Cluster, nodes: tuple[int, ...]) -> list[tuple[str, int | None]]:
    return [(one.kind, one.node_id) for one in check_paths([cluster.node(node) for node in nodes]).findings]


@pytest.mark.parametrize("forger", [1, 2, 11])
def test_one_forged_checkpoint_takes_no_vote(failovers: Cluster, forger: int) -> None:
    assert forged_checkpoint(failovers.metadata(forger), random.Random(1))
    before = inspect_copies(OsFiles(), _directories(failovers, tuple(node for node in NODES if node != forger)))

    found = inspect_copies(OsFiles(), _directories(failovers, NODES))

    assert found.evidence.voters == before.evidence.voters
    assert sorted(copy.node_id or 0 for copy in found.evidence.copies if found.evidence.is_voter(copy)) == [1, 2, 3]
    denied = [copy.node_id for copy in found.evidence.copies if "name others" in (copy.prefix.problem or "")]
    assert denied == [forger]
    sound = ", ".join(str(node) for node in (1, 2, 3) if node != forger)
    assert found.plan.steps[0].text.startswith(f"Start controllers {sound} as they are")


def test_no_repair_goes_on_from_it(failovers: Cluster) -> None:
    forged_checkpoint(failovers.metadata(1), random.Random(1))
    own, *others = _directories(failovers, NODES)
    with pytest.raises(RefusedError, match=r"0244-0000000001.checkpoint names .* name others"):
        propose_standalone(OsFiles(), own, others, request())


def test_of_two_copies_neither_is_outvoted(failovers: Cluster) -> None:
    """The forged directory is of a voter that is not here."""
    forged_checkpoint(failovers.metadata(1), random.Random(1))
    found = inspect_copies(OsFiles(), _directories(failovers, (1, 2)))
    assert [copy.prefix.problem for copy in found.evidence.copies] == [None, None]
    assert _accused(failovers, (1, 2)) == [("checkpoint_disagrees", 1), ("checkpoint_disagrees", 2)]


@pytest.mark.parametrize("nodes", [(2, 3), (3, 2)])
def test_of_two_copies_the_directories_that_are_here_decide(failovers: Cluster, nodes: tuple[int, int]) -> None:
    """The checkpoint of node 2 names another directory of node 3 than that node has."""
    forged_checkpoint(failovers.metadata(2), random.Random(1))

    found = inspect_copies(OsFiles(), _directories(failovers, nodes))

    assert [copy.node_id for copy in found.evidence.copies] == [3, 2]
    assert [copy.prefix.problem is None for copy in found.evidence.copies] == [True, False]
    assert found.evidence.absent_voters == (1,)
    kept = {
        line.split("--dir ")[1].split()[0] for step in found.plan.steps for line in step.commands if "--dir" in line
    }
    assert kept == {str(failovers.disk(3))}
    assert _accused(failovers, nodes) == [("checkpoint_disagrees", 2)]


@pytest.mark.parametrize("nodes", [(1, 2), (2, 1)])
def test_of_two_equal_logs_the_one_without_damage_is_kept(failovers: Cluster, nodes: tuple[int, int]) -> None:
    (failovers.metadata(1) / QUORUM_STATE_FILE).unlink()

    found = inspect_copies(OsFiles(), _directories(failovers, nodes))

    assert [copy.node_id for copy in found.evidence.copies] == [2, 1]
    kept = {
        line.split("--dir ")[1].split()[0] for step in found.plan.steps for line in step.commands if "--dir" in line
    }
    assert kept == {str(failovers.disk(2))}
    assert _accused(failovers, nodes) == [("missing_file", 1)]


def test_a_tie_limits_the_certain_commits_of_every_command(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(1)
    batches = split(path)
    number = quiet_batch(path)
    batches[number] = other_bytes(batches[number])
    write(path, batches)
    paths = [cluster.node(1), cluster.node(2)]

    found = inspect_copies(OsFiles(), _directories(cluster, (1, 2)))

    assert found.evidence.bounds == check_paths(paths).bounds == diff_paths(paths).bounds
    assert found.evidence.bounds.lower == place_of(path, number)[1].base_offset
    assert [conflict.wrong for conflict in found.evidence.conflicts] == [None]
