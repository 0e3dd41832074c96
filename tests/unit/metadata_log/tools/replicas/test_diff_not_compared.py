"""Logs that `kraft log diff` compares with no other: it gives the findings that `kraft check` gives of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.replicas.diff_paths import diff_paths
from quorum.cli.main import run
from tests.support.damage import copy_cluster
from tests.support.one_fault import metadata_of, put_foreign_log


def said(findings: tuple[Finding, ...]) -> list[tuple[str, int | None, str]]:
    return [(one.kind, one.node_id, one.meaning) for one in findings]


@pytest.mark.parametrize(
    ("scenario", "other", "lower", "common_end"),
    [("basic", "every-record", 95, 83), ("basic-4.4", "failovers", 126, 115), ("failovers", "basic", 326, 326)],
)
def test_another_clusters_log_is_left_out(
    scenario: str, other: str, lower: int, common_end: int, clusters: Path, tmp_path: Path
) -> None:
    """It shares offsets with the others, or none; one reaches further, and would prove that they lost records."""
    cluster = copy_cluster(clusters / scenario, tmp_path / scenario)
    put_foreign_log(cluster.metadata(2), metadata_of(clusters / other)[2])

    report = diff_paths([cluster.root])

    assert [(one.kind, one.node_id) for one in report.findings] == [("foreign_cluster", 2)]
    assert said(report.findings) == said(check_paths([cluster.root]).findings)
    assert 2 not in {line.node_id for line in report.replicas}
    assert (report.bounds.lower, report.common_end, report.partings) == (lower, common_end, ())


@pytest.mark.parametrize(("scenario", "other"), [("basic", "every-record"), ("failovers", "basic")])
def test_of_two_clusters_logs_neither_judges(
    scenario: str, other: str, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = copy_cluster(clusters / scenario, tmp_path / scenario)
    put_foreign_log(cluster.metadata(3), metadata_of(clusters / other)[3])
    paths = [cluster.node(1), cluster.node(3)]

    report = diff_paths(paths)

    assert [(one.kind, one.node_id) for one in report.findings] == [("foreign_cluster", None)]
    assert said(report.findings) == said(check_paths(paths).findings)
    assert [(line.node_id, line.is_compared) for line in report.replicas] == [(1, False), (3, False)]
    assert (report.bounds.lower, report.bounds.upper) == (0, None)
    assert run(["log", "diff", *map(str, paths)]) == 1
    assert "Nothing could be compared." in capsys.readouterr().out


def test_the_older_of_two_logs_in_a_node_is_left_out(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    old = clusters / "failovers/lagging-follower/node-2/data"
    shutil.copytree(old, cluster.node(2) / "data2", copy_function=shutil.copyfile)
    paths = [cluster.node(node) for node in (1, 2, 3)]

    report = diff_paths(paths)

    twins = [one for one in check_paths(paths).findings if one.kind == "two_metadata_logs"]
    assert said(report.findings) == said(tuple(twins))
    assert [line.path for line in report.replicas if not line.is_compared] == [str(cluster.node(2) / "data2")]
    assert [msgspec.to_builtins(line).get("is_compared") for line in report.replicas] == [None, None, None, False]
    run(["log", "diff", *map(str, paths)])
    printed = capsys.readouterr().out
    assert f"node 2 ({cluster.node(2) / 'data2'}) was not compared" in printed
    assert "all of them reach offset 326." in printed


def test_one_log_under_two_nodes_is_read_once(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    shutil.rmtree(cluster.metadata(3))
    cluster.metadata(3).symlink_to(cluster.metadata(2))
    paths = [cluster.node(node) for node in (1, 2, 3)]

    report = diff_paths(paths)

    assert [(one.kind, one.node_id) for one in report.findings] == [("same_log_twice", 3)]
    assert said(report.findings) == said(check_paths(paths).findings)
    assert [line.node_id for line in report.replicas] == [1, 2]
