"""Committed records that a majority lacks: the advice of `kraft check` agrees with the plan of `recover inspect`."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from quorum.cli.main import run
from tests.support.damage import Cluster, copy_cluster, split, write


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    """A cluster of which voters 1 and 3 lack the last records; files beside both logs prove that they had them."""
    found = copy_cluster(clusters / "basic", tmp_path / "basic")
    for node in (1, 3):
        path = found.segment(node)
        write(path, split(path)[:-4])
    return found


def _disks(cluster: Cluster) -> list[Path]:
    return [cluster.disk(node) for node in (1, 2, 3)]


def _advice(cluster: Cluster) -> dict[int | None, str]:
    found = check_paths(_disks(cluster)).findings
    return {one.node_id: one.advice for one in found if one.kind == "committed_lost"}


def _inspect(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> str:
    run(["recover", "inspect", *map(str, _disks(cluster))])
    return capsys.readouterr().out


def test_voters_that_lost_nothing_start(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing proves that node 1 had the records: it may have lagged. Nodes 1 and 2 can only elect 2, which has all."""
    for pattern in ("*.index", "*.timeindex", "*.snapshot"):
        for path in cluster.metadata(1).glob(pattern):
            path.unlink()

    advice = _advice(cluster)

    assert advice.keys() == {3}
    assert "do not start this node" in advice[3]
    assert "they can elect no leader without these records" in advice[3]
    assert "Start controllers 2, 1 as they are" in _inspect(cluster, capsys)


def test_nothing_starts_where_a_majority_has_lost_its_end(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    advice = _advice(cluster)

    assert advice.keys() == {1, 3}
    assert all(text.startswith("restart nothing") for text in advice.values())
    assert "Start controllers" not in _inspect(cluster, capsys)
