"""The paths that are searched for nodes, and those that are not: links and their targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.read.sources import SourceError, find_sources
from tests.support.damage import copy_cluster


def test_a_link_in_a_directory_is_not_searched(clusters: Path, tmp_path: Path) -> None:
    """It may lead above the directory, or to the whole machine, as /proc/self/root does."""
    given = tmp_path / "given"
    (given / "deeper").mkdir(parents=True)
    (given / "deeper" / "everything").symlink_to(clusters)
    (given / "deeper" / "again").symlink_to(given)

    with pytest.raises(SourceError, match="holds no metadata log"):
        find_sources([given])


def test_a_link_that_is_named_is_searched(clusters: Path, tmp_path: Path) -> None:
    (tmp_path / "named").symlink_to(clusters / "basic")

    found = find_sources([tmp_path / "named"])

    assert [node.node_id for node in found.nodes] == [1, 2, 3, 11, 12]


def test_a_link_to_a_node_is_the_node(clusters: Path, tmp_path: Path) -> None:
    for name in ("node-1", "node-2", "node-3"):
        (tmp_path / name).symlink_to(clusters / "basic" / name)

    report = check_paths([tmp_path])

    assert [node.node_id for node in report.nodes] == [1, 2, 3]
    assert report.is_sound


def test_a_segment_may_be_a_link(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    segment = cluster.segment(1)
    segment.rename(tmp_path / "elsewhere.log")
    segment.symlink_to(tmp_path / "elsewhere.log")

    (node,) = check_paths([cluster.node(1)]).nodes

    assert node.node_id == 1
    assert find_sources([segment]).files == (segment,)
