"""A broker fetches a damaged metadata log again, and the advice for a controller's log is not given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_log.tools.backup.export import export_replica
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.verify.broker_advice import REFETCH
from tests.support.damage import Cluster, copy_cluster, other_bytes, quiet_batch, split, with_bytes, write

BROKER, CONTROLLER = 11, 2


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "basic", tmp_path / "basic")


def flipped(cluster: Cluster, node_id: int) -> None:
    path = cluster.segment(node_id)
    data = path.read_bytes()
    path.write_bytes(with_bytes(data, len(data) // 2, bytes([data[len(data) // 2] ^ 1])))


def missing(cluster: Cluster, node_id: int) -> None:
    path = cluster.segment(node_id)
    batches = split(path)
    number = quiet_batch(path)
    write(path, [*batches[:number], *batches[number + 1 :]])


def other(cluster: Cluster, node_id: int) -> None:
    path = cluster.segment(node_id)
    batches = split(path)
    number = quiet_batch(path)
    write(path, [*batches[:number], other_bytes(batches[number]), *batches[number + 1 :]])


def no_votes(cluster: Cluster, node_id: int) -> None:
    (cluster.metadata(node_id) / "quorum-state").write_text("rubbish")


def cut(cluster: Cluster, node_id: int) -> None:
    path = cluster.segment(node_id)
    write(path, split(path)[:-5])


def no_log(cluster: Cluster, node_id: int) -> None:
    cluster.segment(node_id).unlink()


def older_state(cluster: Cluster, node_id: int) -> None:
    path = cluster.metadata(node_id) / "quorum-state"
    path.write_text(path.read_text().replace('"leaderEpoch":1', '"leaderEpoch":0'))


DAMAGE = {
    "corrupt_batch": flipped,
    "offset_gap": missing,
    "log_mismatch": other,
    "corrupt_file": no_votes,
    "log_cut": cut,
    "log_missing": no_log,
    "quorum_state_behind": older_state,
}


def _found(cluster: Cluster, kind: str) -> Finding:
    (found,) = [one for one in check_paths([cluster.root]).findings if one.kind == kind]
    return found


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_broker_fetches_its_copy_anew(kind: str, cluster: Cluster) -> None:
    damage: Callable[[Cluster, int], None] = DAMAGE[kind]
    damage(cluster, BROKER)

    found = _found(cluster, kind)

    assert found.node_id == BROKER
    assert "stop this broker, move its metadata log's directory (__cluster_metadata-0)" in found.advice
    assert "kraft check" in found.advice
    assert "empty" not in found.advice
    assert "vote" not in found.advice + found.meaning
    assert "move the directory aside" not in found.advice


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_controller_gets_a_controllers_advice(kind: str, cluster: Cluster) -> None:
    damage: Callable[[Cluster, int], None] = DAMAGE[kind]
    damage(cluster, CONTROLLER)

    found = _found(cluster, kind)

    assert found.node_id == CONTROLLER
    assert "broker" not in found.advice


def test_a_node_that_is_both_keeps_its_vote(cluster: Cluster) -> None:
    """It holds partitions, and the log names it a voter."""
    (cluster.disk(CONTROLLER) / "replication-offset-checkpoint").write_text("0\n0\n")
    flipped(cluster, CONTROLLER)

    assert "broker" not in _found(cluster, "corrupt_batch").advice


def test_the_copy_alone_is_known_for_a_brokers(cluster: Cluster) -> None:
    flipped(cluster, BROKER)

    (found,) = [one for one in check_paths([cluster.node(BROKER)]).findings if one.kind == "corrupt_batch"]

    assert "stop this broker" in found.advice


def test_of_a_broker_without_a_log_both_are_advised(cluster: Cluster) -> None:
    """No named directory shows the voters."""
    no_log(cluster, BROKER)

    (found,) = [one for one in check_paths([cluster.node(BROKER)]).findings if one.kind == "log_missing"]

    assert "move the directory aside, whole" in found.advice
    assert "process.roles=broker" in found.advice
    assert "move its metadata log's directory (__cluster_metadata-0)" in found.advice


def test_an_export_of_a_broker_gets_a_brokers_advice(cluster: Cluster, tmp_path: Path) -> None:
    export = tmp_path / "export"
    export_replica(cluster.disk(BROKER), export)
    path = sorted(export.glob("*.log"))[-1]
    batches = split(path)
    number = quiet_batch(path)
    write(path, [*batches[:number], *batches[number + 1 :]])

    (found,) = [one for one in check_paths([export]).findings if one.kind == "offset_gap"]

    assert found.advice == str(REFETCH)
