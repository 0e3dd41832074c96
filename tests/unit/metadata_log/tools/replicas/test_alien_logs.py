"""Another cluster's log in a voter's directory is named as such, and no other log is judged by it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from tests.support.damage import Cluster, copy_cluster, other_bytes, split, write
from tests.support.damage_reach import bare, cut_at
from tests.support.one_fault import metadata_of, with_other_voters


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "basic", tmp_path / "basic")


def bring(cluster: Cluster, node: int, other: Path) -> None:
    """Put another's metadata log in the place of the node's."""
    shutil.rmtree(cluster.metadata(node))
    shutil.copytree(other / "data" / "__cluster_metadata-0", cluster.metadata(node), copy_function=shutil.copyfile)


@pytest.mark.parametrize("other", ["upgrade-path", "static-3.9", "every-record"])
def test_one_log_of_another_cluster_is_the_one_finding(other: str, cluster: Cluster, clusters: Path) -> None:
    """Each reaches further, two of them in later epochs."""
    bring(cluster, 2, clusters / other / "node-2")

    report = check_paths([cluster.root])

    assert [(one.kind, one.node_id, one.file) for one in report.findings] == [
        ("foreign_cluster", 2, str(cluster.segment(2)))
    ]
    assert "is that of node 1, node 3, node 11 and node 12" in report.findings[0].meaning
    assert report.bounds.lower == 95


@pytest.mark.parametrize("other", ["failovers", "upgrade-path", "every-record"])
def test_checkpoints_of_another_cluster_blame_no_log(other: str, cluster: Cluster, clusters: Path) -> None:
    """Each ends behind all logs here, and would prove that they lost what is between."""
    theirs = clusters / other / "node-1" / "data" / "__cluster_metadata-0"
    brought = [cluster.metadata(1) / path.name for path in sorted(theirs.glob("*-0000000001.checkpoint"))]
    for path in brought:
        shutil.copyfile(theirs / path.name, path)
        with_other_voters(path)
    assert brought

    report = check_paths([cluster.root])

    assert [(one.kind, one.node_id, one.file) for one in report.findings] == [
        ("foreign_cluster", 1, str(path)) for path in brought
    ]
    assert "one of node 2, node 3, node 11 and node 12" in report.findings[0].meaning
    assert "move the file elsewhere" in report.findings[0].advice
    assert report.bounds.lower == 96


def test_a_checkpoint_of_the_same_voters_behind_all_logs_is_believed(cluster: Cluster, clusters: Path) -> None:
    """All its topics are new, and its brokers registered again; its voters are those of the logs."""
    name = "00000000000000000244-0000000001.checkpoint"
    shutil.copyfile(metadata_of(clusters / "failovers")[1] / name, cluster.metadata(1) / name)

    found = check_paths([cluster.root]).findings

    assert "foreign_cluster" not in {one.kind for one in found}
    assert "committed_lost" in {one.kind for one in found}


def test_a_checkpoint_of_the_cluster_behind_all_logs_is_believed(cluster: Cluster, clusters: Path) -> None:
    """Its topics, or its brokers' registrations, are theirs: what it has was committed."""
    later = copy_cluster(clusters / "every-record", cluster.root.parent / "later")
    for node in (2, 3, 11, 12, 13):
        bare(later, node, ".checkpoint", ".index", ".timeindex", ".snapshot")
        cut_at(later, node, 126)

    found = check_paths([later.root]).findings

    assert "foreign_cluster" not in {one.kind for one in found}
    assert "committed_lost" in {one.kind for one in found}


def test_where_no_majority_agrees_nobody_is_called_anothers(cluster: Cluster, clusters: Path) -> None:
    bring(cluster, 2, clusters / "every-record" / "node-2")

    report = check_paths([cluster.node(1), cluster.node(2)])

    assert [(one.kind, one.node_id) for one in report.findings] == [("foreign_cluster", None)]
    assert "node 1 and node 2 are not of one cluster: not one batch" in report.findings[0].meaning


def test_a_log_with_one_other_batch_is_compared(cluster: Cluster) -> None:
    path = cluster.segment(2)
    batches = split(path)
    write(path, [batches[0], other_bytes(batches[1]), *batches[2:]])

    assert {one.kind for one in check_paths([cluster.root]).findings} >= {"log_mismatch"}


def test_a_directory_with_another_cluster_id_judges_nothing(cluster: Cluster, clusters: Path) -> None:
    """It has the voter's directory.id, and its votes, leaders and batches would contradict the others'."""
    bring(cluster, 2, clusters / "failovers" / "node-2")
    properties = cluster.node(2) / "data" / "meta.properties"
    lines = properties.read_text().splitlines(keepends=True)
    other = "cluster.id=YW5vdGhlci1jbHVzdGVy\n"
    properties.write_text("".join(other if line.startswith("cluster.id") else line for line in lines))

    report = check_paths([cluster.root])

    assert [(one.kind, one.node_id, one.file) for one in report.findings] == [("foreign_cluster", 2, str(properties))]
    assert report.bounds.lower == 95
