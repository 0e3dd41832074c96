"""Voters and kraft.version of checkpoints, against the log and against other replicas."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.replicas.diff import diff_logs
from metadata_log.tools.replicas.replica import read_replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.verify.verify_log import Depth, verify_log
from tests.support.damage import Cluster, copy_cluster, split, write
from tests.support.damage_quorum import only_voter_1, with_two_more, with_voters
from tests.support.damage_voters import (
    FIRST_CHECKPOINT,
    Change,
    at_other_port,
    at_version_0,
    change_controls,
    in_other_directory,
    listening_elsewhere,
    of_voters,
    with_voter_9,
)
from tests.support.fixture_files import FIXTURES

_SENT = "00000000000000000244-0000000001.checkpoint"


_JOINS = FIXTURES / "formatted-4.4" / "joins" / "data0" / METADATA_DIRECTORY / FIRST_CHECKPOINT


@pytest.mark.parametrize("depth", Depth)
def test_a_checkpoint_of_a_controller_that_joined_names_no_voters(depth: Depth, clusters: Path, tmp_path: Path) -> None:
    """Kafka 4.4 writes bootstrap records into it, and the voters come with the log."""
    cluster = copy_cluster(clusters / "basic-4.4", tmp_path / "basic-4.4")
    (cluster.metadata(1) / FIRST_CHECKPOINT).write_bytes(_JOINS.read_bytes())

    assert [found for found in _with_own(cluster, 1, depth) if found.counts] == []
    assert [found for found in _diff(sorted(cluster.root.glob("node-*"))) if found.counts] == []


def _diff(paths: list[Path]) -> tuple[Finding, ...]:
    replicas = [read_replica(node, depth=Depth.BYTES) for node in find_sources(paths).nodes]
    return diff_logs(ReplicaSet(replicas)).findings


def _with_own(cluster: Cluster, node_id: int, depth: Depth) -> tuple[Finding, ...]:
    (node,) = find_sources([cluster.node(node_id)]).nodes
    return verify_log(node, depth=depth).findings


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            with_voter_9,
            "node 3 is no voter in it, and one in checkpoints of node 1, node 11, node 12 and node 3; node 9",
        ),
        (at_other_port, "voter 1 listens at CONTROLLER://127.0.0.1:1, and at CONTROLLER://127.0.0.1:29101 in "),
        (in_other_directory, "voter 1 has directory EhISEhISEhISEhISEhISEg, and ZGlyZWN0b3J5LWlkLTAwMQ in "),
        (at_version_0, "its kraft.version is 0, and 1 in checkpoints of "),
    ],
)
def test_diff_says_which_voters_a_checkpoint_has_otherwise(
    change: Change, said: str, clusters: Path, tmp_path: Path
) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    path = cluster.metadata(2) / _SENT
    change_controls(path, change)

    (found,) = _diff([cluster.root])

    assert (found.kind, found.node_id, found.file, found.offset) == ("checkpoint_disagrees", 2, str(path), 244)
    assert said in found.meaning


def test_two_checkpoints_that_differ_are_both_named(clusters: Path, tmp_path: Path) -> None:
    """Without a third source, no check can say which is right."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    change_controls(cluster.metadata(2) / _SENT, at_other_port)

    found = _diff([cluster.node(2), cluster.node(3)])

    assert [(one.kind, one.node_id) for one in found] == [("checkpoint_disagrees", 2), ("checkpoint_disagrees", 3)]


@pytest.mark.parametrize("depth", list(Depth))
def test_a_log_is_enough_where_it_goes_back_so_far(depth: Depth, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.metadata(2) / FIRST_CHECKPOINT
    change_controls(path, at_other_port)

    (found,) = _with_own(cluster, 2, depth)

    assert (found.kind, found.node_id, found.file, found.offset) == ("checkpoint_disagrees", 2, str(path), 0)
    assert "voter 1 listens at CONTROLLER://127.0.0.1:1, and at" in found.meaning
    assert found.meaning.endswith("by its log")


def test_the_order_of_voters_means_nothing(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    change_controls(cluster.metadata(2) / _SENT, of_voters(lambda voters: voters[::-1]))

    assert _diff([cluster.root]) == ()


def test_the_first_leader_may_have_come_to_listen_elsewhere(clusters: Path, tmp_path: Path) -> None:
    """Node 3, which leads epoch 1, writes where it listens now into the log's first batch."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    for node_id in (1, 2, 3):
        change_controls(cluster.metadata(node_id) / FIRST_CHECKPOINT, listening_elsewhere(3))

    assert _diff([cluster.root]) == ()
    assert _with_own(cluster, 2, Depth.REPLAY) == ()


@pytest.mark.parametrize("change", [of_voters(lambda voters: voters[:2]), at_other_port])
def test_one_voter_at_a_time_may_change(change: Change, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    with_voters(cluster.segment(3), change)

    assert _with_own(cluster, 3, Depth.REPLAY) == ()


@pytest.mark.parametrize("change", [only_voter_1, with_two_more])
def test_a_repair_may_replace_all_voters(change: Change, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    with_voters(cluster.segment(3), change, repairs=True)

    assert not [one for one in _with_own(cluster, 3, Depth.REPLAY) if one.kind == "voters_changed_at_once"]


def test_voters_behind_a_gap_are_not_compared(clusters: Path, tmp_path: Path) -> None:
    """The missing records may have changed the voters one by one."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(3)
    with_voters(path, only_voter_1)
    batches = split(path)
    write(path, [*batches[:-2], batches[-1]])

    kinds = {found.kind for found in _with_own(cluster, 3, Depth.REPLAY)}

    assert "offset_gap" in kinds
    assert "voters_changed_at_once" not in kinds
