"""A replica that was named to `kraft log diff`, and has no metadata log that can be read: it is named."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_log.tools.replicas.diff_paths import diff_paths
from quorum.cli.main import run
from tests.support.damage import Cluster, copy_cluster


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "basic", tmp_path / "basic")


def _gone(_: Path) -> None:
    pass


def _file(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("instead", [_gone, _file, os.mkfifo])
def test_a_voter_without_a_log_is_named(
    instead: Callable[[Path], None], cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(cluster.metadata(2))
    instead(cluster.metadata(2))
    paths = [cluster.node(node) for node in (1, 2, 3)]

    report = diff_paths(paths)

    assert [line.node_id for line in report.replicas] == [1, 3]
    assert [(one.kind, one.node_id) for one in report.findings if one.counts] == [("voter_without_log", 2)]
    assert run(["log", "diff", *map(str, paths)]) == 1
    assert "node 2 is a voter" in capsys.readouterr().out


def test_a_voter_whose_log_is_behind_a_looped_link_is_named(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(cluster.metadata(2))
    cluster.metadata(2).symlink_to(cluster.metadata(2))
    paths = [cluster.node(node) for node in (1, 2, 3)]

    report = diff_paths(paths)

    assert [line.node_id for line in report.replicas] == [1, 3]
    assert [(one.kind, one.node_id) for one in report.findings if one.counts] == [("unreadable_file", 2)]
    assert run(["log", "diff", *map(str, paths)]) == 1
    assert "symbolic links" in capsys.readouterr().out


def test_a_broker_without_a_log_is_named(cluster: Cluster) -> None:
    shutil.rmtree(cluster.metadata(11))

    report = diff_paths([cluster.node(node) for node in (1, 2, 11)])

    found = [one for one in report.findings if one.counts]
    assert [(one.kind, one.node_id, one.file) for one in found] == [("missing_file", 11, str(cluster.node(11)))]
