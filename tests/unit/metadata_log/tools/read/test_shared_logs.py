"""One metadata log that two paths lead to: it counts once, and the node without another is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.errors import WrongUseError
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.replicas.diff_paths import diff_paths
from tests.support.damage import Cluster, copy_cluster


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    """Node 2's log is a link to that of node 3."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    shutil.rmtree(cluster.metadata(2))
    cluster.metadata(2).symlink_to(cluster.metadata(3))
    return cluster


def test_check_counts_it_once(cluster: Cluster) -> None:
    alone = check_paths([cluster.disk(3)])

    both = check_paths([cluster.disk(2), cluster.disk(3)])

    (found,) = [one for one in both.findings if one.counts]
    assert (found.kind, found.node_id, found.file) == ("same_log_twice", 2, str(cluster.metadata(2)))
    assert str(cluster.metadata(3)) in found.meaning
    assert [node.node for node in both.nodes] == ["node 3"]
    assert both.bounds == alone.bounds


def test_diff_counts_it_once(cluster: Cluster) -> None:
    report = diff_paths([cluster.disk(node) for node in (1, 2, 3)])

    assert [line.node_id for line in report.replicas] == [1, 3]
    assert [(one.kind, one.node_id) for one in report.findings if one.counts] == [("same_log_twice", 2)]


def test_a_link_without_a_disk_is_the_same_log_named_twice(cluster: Cluster, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere"
    link.symlink_to(cluster.metadata(3))

    assert [node.node for node in check_paths([link, cluster.disk(3)]).nodes] == ["node 3"]
    with pytest.raises(WrongUseError, match="named twice is one"):
        diff_paths([link, cluster.metadata(3)])
