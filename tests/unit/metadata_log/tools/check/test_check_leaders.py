"""A quorum-state that names a leader: what that leader's own files may say of the epoch, and what they may not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding
from tests.support.damage import Cluster, copy_cluster

LEADER, OTHER = 3, 1


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    """Node 3 leads epoch 9, the last."""
    return copy_cluster(clusters / "failovers", tmp_path / "failovers")


def _set(cluster: Cluster, node_id: int, **fields: int) -> None:
    path = cluster.metadata(node_id) / "quorum-state"
    text = path.read_text()
    for name, value in fields.items():
        text, count = re.subn(rf'"{name}":-?\d+', f'"{name}":{value}', text)
        assert count == 1
    path.write_text(text)


def _said(cluster: Cluster) -> list[Finding]:
    return [one for one in check_paths([cluster.root]).findings if one.kind == "leader_without_epoch"]


def test_it_names_both_files_and_what_to_do(cluster: Cluster) -> None:
    _set(cluster, OTHER, leaderEpoch=10)

    (found,) = _said(cluster)

    assert (found.node_id, found.epoch) == (OTHER, 10)
    assert found.file == str(cluster.metadata(OTHER) / "quorum-state")
    assert "node 3 leads epoch 10, which node 3 knows nothing of: its log ends in epoch 9" in found.meaning
    assert "its own quorum-state is of epoch 9" in found.meaning
    assert "copy all again" in found.advice


def test_a_candidate_that_was_not_elected_led_nothing(cluster: Cluster) -> None:
    _set(cluster, OTHER, leaderEpoch=10)
    _set(cluster, LEADER, leaderEpoch=10, leaderId=-1)

    assert [one.node_id for one in _said(cluster)] == [OTHER]


@pytest.mark.parametrize(
    ("other", "leader"),
    [
        pytest.param({"leaderEpoch": 10, "leaderId": -1}, {}, id="an election without a leader yet"),
        pytest.param({"leaderEpoch": 10}, {"leaderEpoch": 11, "leaderId": -1}, id="it was deposed, and cut its log"),
        pytest.param({"leaderEpoch": 10}, {"leaderEpoch": 10}, id="it resigned at once, or lost its end"),
        pytest.param({"leaderEpoch": 10, "leaderId": 7}, {}, id="a leader that is not here"),
        pytest.param({"leaderEpoch": 8, "leaderId": 2}, {}, id="an epoch that the log has"),
    ],
)
def test_what_may_be_so_is_silent(other: dict[str, int], leader: dict[str, int], cluster: Cluster) -> None:
    _set(cluster, OTHER, **other)
    _set(cluster, LEADER, **leader)

    assert _said(cluster) == []
