"""One bad witness accuses no sound node: every finding of each fault."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from tests.support.damage import Cluster, copy_cluster
from tests.support.one_fault import (
    add_leader_change,
    flipped_at,
    forged_checkpoint,
    metadata_of,
    put_foreign_log,
    repeated_topic,
    segments_of,
)


def _found(cluster: Cluster) -> list[tuple[str, int | None]]:
    return [(found.kind, found.node_id) for found in check_paths([cluster.root]).findings]


@pytest.fixture
def basic(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "basic", tmp_path / "basic")


@pytest.fixture
def failovers(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "failovers", tmp_path / "failovers")


def test_a_forged_checkpoint_accuses_no_voter(failovers: Cluster) -> None:
    assert forged_checkpoint(failovers.metadata(1), random.Random(1))

    assert _found(failovers) == [("checkpoint_disagrees", 1)]


def test_a_brokers_lone_leader_change_accuses_no_voter(basic: Cluster) -> None:
    add_leader_change(basic.segment(11), 1, (1, 2), (1, 2, 3), 0)

    assert _found(basic) == [("two_leaders", 11), ("two_leaders", 11), ("log_mismatch", 11)]


def test_a_lone_leader_change_that_the_files_beside_it_deny_accuses_no_other_leader(
    clusters: Path, tmp_path: Path
) -> None:
    """Node 3 alone has the LeaderChange of epoch 3 at the offset where node 2's log has another one."""
    cluster = copy_cluster(clusters / "basic-4.4", tmp_path / "basic-4.4")
    add_leader_change(segments_of(cluster.metadata(2))[-1], 2, (1, 2, 3), (1, 2, 3), 1)

    assert _found(cluster) == [
        ("epoch_file_wrong", 2),
        ("two_leaders", 2),
        ("two_leaders", 2),
        ("log_mismatch", 2),
    ]


def test_a_flipped_epoch_accuses_no_other_copy(failovers: Cluster) -> None:
    flipped_at(segments_of(failovers.metadata(11))[-1], 5, 15, 4)

    assert _found(failovers) == [("epoch_without_leader", 11), ("log_mismatch", 11)]


def test_a_flipped_offset_proves_no_commit(basic: Cluster) -> None:
    flipped_at(basic.segment(11), 0, 0, 2)

    assert _found(basic) == [("offset_gap", 11)]


def test_another_clusters_log_is_called_that(basic: Cluster, clusters: Path) -> None:
    put_foreign_log(basic.metadata(2), metadata_of(clusters / "failovers")[1])

    assert _found(basic) == [("foreign_cluster", 2)]


def test_what_follows_from_a_repeated_topic_is_below_it(basic: Cluster) -> None:
    assert repeated_topic(basic.segment(11)) is not None

    assert _found(basic) == [("topic_name_reused", 11), ("log_mismatch", 11)]


def test_the_older_of_two_logs_judges_nothing(failovers: Cluster, clusters: Path) -> None:
    old = clusters / "failovers/lagging-follower/node-2/data"
    shutil.copytree(old, failovers.node(2) / "data2", copy_function=shutil.copyfile)

    assert _found(failovers) == [("duplicate_directory_id", 2)] * 2 + [("two_metadata_logs", 2)] * 2
