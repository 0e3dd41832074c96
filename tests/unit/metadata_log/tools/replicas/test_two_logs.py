"""A log beside another in one node is set aside only if it adds nothing to that."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.tools.check.check import CheckReport, check_paths
from tests.support.damage import Cluster, copy_cluster
from tests.support.one_fault import segments_of, set_back

_VOTERS = "directory.id=ZGlyZWN0b3J5LWlkLTAwMg"
_OTHER = "directory.id=ZGlyZWN0b3J5LWlkLTAxMg"


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    """Three controllers, of which node 3 has an older log."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    for path in [path for path in cluster.root.iterdir() if path.name not in ("node-1", "node-2", "node-3")]:
        shutil.rmtree(path)
    set_back(cluster.metadata(3), 280, 6)
    return cluster


def add_disk(cluster: Cluster, directory_id: str, end: int, *, epoch: int = 10) -> Path:
    """Give node 2 a second disk, a copy of the first up to an offset, with a quorum-state; return its log's place."""
    disk = cluster.node(2) / "data2"
    shutil.copytree(cluster.disk(2), disk, copy_function=shutil.copyfile)
    properties = disk / "meta.properties"
    properties.write_text(properties.read_text().replace(_VOTERS, directory_id))
    metadata = disk / "__cluster_metadata-0"
    set_back(metadata, end, epoch)
    return metadata


def lost(report: CheckReport) -> list[int | None]:
    return [found.node_id for found in report.findings if found.kind == "committed_lost"]


@pytest.mark.parametrize("end", [0, 280])
def test_a_later_quorum_state_makes_no_shorter_log_the_judge(end: int, cluster: Cluster) -> None:
    """Node 2 alone has what was committed, in its voter's directory."""
    set_back(cluster.metadata(1), 280, 6)
    add_disk(cluster, _OTHER, end)

    report = check_paths([cluster.root])

    assert lost(report) == [1, 3]
    assert report.bounds.lower == 310


def test_the_shorter_of_two_copies_does_not_accuse_the_other(cluster: Cluster) -> None:
    add_disk(cluster, _VOTERS, 0)

    report = check_paths([cluster.root])

    assert lost(report) == []
    assert report.bounds.lower == 326
    (first, _) = [found for found in report.findings if found.kind == "duplicate_directory_id"]
    assert "nothing shows on which of them the node ran last" in first.meaning


def test_a_disk_without_a_vote_is_a_witness_of_what_it_alone_has(cluster: Cluster) -> None:
    """The voter's own directory has an older log, and ranks before the other."""
    set_back(cluster.metadata(1), 280, 6)
    add_disk(cluster, _OTHER, 400, epoch=9)
    set_back(cluster.metadata(2), 280, 10)
    assert segments_of(cluster.metadata(2))

    report = check_paths([cluster.root])

    assert report.bounds.lower == 310
    assert lost(report) == [1, 2, 3]
