"""A checkpoint whose voters most copies deny takes no vote from a sound directory, and no repair goes on from it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.repairs.standalone import propose_standalone
from tests.support.damage import Cluster, copy_cluster
from tests.support.one_fault import forged_checkpoint
from tests.support.repairs import request

NODES = (1, 2, 3, 11, 12)


@pytest.fixture
def failovers(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "failovers", tmp_path / "failovers")


def _directories(cluster: Cluster, nodes: tuple[int, ...]) -> list[str]:
    return [str(cluster.disk(node)) for node in nodes]


@pytest.mark.parametrize("forger", [1, 2, 11])
def test_one_forged_checkpoint_takes_no_vote(failovers: Cluster, forger: int) -> None:
    assert forged_checkpoint(failovers.metadata(forger), random.Random(1))
    before = inspect_copies(OsFiles(), _directories(failovers, tuple(node for node in NODES if node != forger)))

    found = inspect_copies(OsFiles(), _directories(failovers, NODES))

    assert found.evidence.voters == before.evidence.voters
    assert [copy.node_id for copy in found.evidence.copies if found.evidence.is_voter(copy)] == [1, 2, 3]
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
    forged_checkpoint(failovers.metadata(1), random.Random(1))
    found = inspect_copies(OsFiles(), _directories(failovers, (1, 2)))
    assert [copy.prefix.problem for copy in found.evidence.copies] == [None, None]
