"""Directories with a log that nothing shows to be this cluster's: no advice gives them a voter's id."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.advice import UNSHOWN_LOG
from metadata_log.tools.findings.finding import Finding
from tests.support.damage import Cluster, copy_cluster, split, write
from tests.support.one_fault import metadata_of, put_foreign_log, segments_of, with_other_voters

_FOLLOWED = '{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
_NODES = (1, 2, 3, 11, 12)
_OTHER_ID = "directory.id=czVhp5xRd-Q3Opp-BuS21A\n"


def _found(cluster: Cluster) -> dict[str, Finding]:
    report = check_paths([cluster.node(node_id) for node_id in _NODES])
    return {found.kind: found for found in report.findings if found.node_id == 2}


def _without_id(cluster: Cluster, instead: str = "") -> None:
    path = cluster.disk(2) / "meta.properties"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("directory.id")) + instead)


def _with_log_of(clusters: Path, target: Path, scenario: str) -> Cluster:
    """Return a copy of failovers-4.4 whose node 2 has another cluster's log. That of basic ends before all others."""
    cluster = copy_cluster(clusters / "failovers-4.4", target / "failovers-4.4")
    put_foreign_log(cluster.metadata(2), metadata_of(clusters / scenario)[2])
    return cluster


@pytest.mark.parametrize(
    ("scenario", "why"), [("basic", "not shown to be of the same cluster"), ("every-record", "another cluster's")]
)
def test_a_strange_log_without_an_id_does_not_get_the_voters(
    clusters: Path, tmp_path: Path, scenario: str, why: str
) -> None:
    cluster = _with_log_of(clusters, tmp_path, scenario)
    _without_id(cluster)

    found = _found(cluster)["missing_directory_id"]

    assert found.meaning.endswith(f"but the log here is {why}")
    assert found.advice == str(UNSHOWN_LOG)


def test_the_voters_own_log_gets_its_id_back(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "failovers-4.4", tmp_path / "failovers-4.4")
    _without_id(cluster)

    assert "write that back into meta.properties" in _found(cluster)["missing_directory_id"].advice


def test_a_log_that_is_not_shown_to_be_the_clusters_is_not_added_as_a_voter(clusters: Path, tmp_path: Path) -> None:
    cluster = _with_log_of(clusters, tmp_path, "basic")
    _without_id(cluster, _OTHER_ID)

    assert _found(cluster)["not_the_voter"].advice == str(UNSHOWN_LOG)


def test_a_log_of_another_cluster_is_not_called_a_former_voter(clusters: Path, tmp_path: Path) -> None:
    cluster = _with_log_of(clusters, tmp_path, "every-record")
    _without_id(cluster, _OTHER_ID)

    assert set(_found(cluster)) == {"foreign_cluster"}


def test_a_directory_of_another_cluster_is_not_called_a_former_voter(clusters: Path, tmp_path: Path) -> None:
    """Its `meta.properties` names that cluster."""
    cluster = copy_cluster(clusters / "failovers-4.4", tmp_path / "failovers-4.4")
    shutil.rmtree(cluster.node(2))
    shutil.copytree(clusters / "every-record/node-2", cluster.node(2), copy_function=shutil.copyfile)
    _without_id(cluster, _OTHER_ID)
    path = cluster.disk(2) / "meta.properties"
    path.write_text(re.sub("cluster.id=.*", "cluster.id=bO1XfB-XQEiMIjkuLeFAYg", path.read_text()))

    assert set(_found(cluster)) == {"foreign_cluster"}


def test_a_strange_log_is_not_an_older_copy(clusters: Path, tmp_path: Path) -> None:
    """It ends early in epoch 1, led by a node of the same id, and no registration contradicts the others."""
    cluster = copy_cluster(clusters / "failovers-4.4", tmp_path / "failovers-4.4")
    metadata = cluster.metadata(2)
    for path in metadata.iterdir():
        if path.name != "partition.metadata":
            path.unlink()
    (segment, *_) = segments_of(metadata_of(clusters / "basic-4.4")[2])
    write(metadata / segment.name, split(segment)[:20])
    with_other_voters(metadata / segment.name)
    (metadata / "leader-epoch-checkpoint").write_text("0\n1\n1 0\n")
    (metadata / QUORUM_STATE_FILE).write_text(_FOLLOWED)

    found = _found(cluster)

    assert found["voter_set_back"].meaning.endswith("; or its log is of another cluster")
    assert found["voter_set_back"].advice == str(UNSHOWN_LOG)
    assert "leader_behind_followers" not in found
