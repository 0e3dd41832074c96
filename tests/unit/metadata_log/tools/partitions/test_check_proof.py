"""Brokers' partition directories prove a loss: of topics, of added partitions, of added replicas."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from metadata_log.directory import QUORUM_STATE_FILE, format_partition_metadata
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.ids import parse_topic_id
from metadata_log.reconcile import Kind
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding, Severity
from metadata_log.tools.partitions.audit import audit
from metadata_log.tools.read.history import open_history
from quorum.cli.main import run
from tests.support.damage import Cluster, copy_cluster
from tests.support.damage_reach import bare, cut_at

UNHEARD_OF = parse_topic_id("kT-uWSgxFRs6PMomGwAXoA")
PARTITIONS_ADDED = 60
"""`basic`: the offset from which on orders-3, which was made with three partitions, has five."""
REPLICAS_ADDED = 95
"""`stray`: from there on users-26-0, -1 and -2 have a third replica, on broker 12, 11 and 12."""
REPLICA_MOVED = 126
"""`every-record`: the offset at which broker 13 becomes a replica of carts-97-0, on 11 and 12 before."""


def cut_back(cluster: Cluster, controllers: Iterable[int], end: int) -> None:
    """End the controllers' logs at `end`, with no file beside them that shows the cut."""
    for controller in controllers:
        assert cut_at(cluster, controller, end)[0] == end
        bare(cluster, controller, ".index", ".timeindex", ".snapshot", ".checkpoint")


def errors(cluster: Cluster) -> list[Finding]:
    found = check_paths([cluster.root]).findings
    assert "partition_stale" not in {one.kind for one in found}
    return [one for one in found if one.counts]


def shown(found: list[Finding]) -> list[tuple[str, int | None, list[str]]]:
    """Return kind and node of each finding, and the same of its consequences as text."""
    return [(one.kind, one.node_id, [each.partition(", /")[0] for each in one.consequences or ()]) for one in found]


def one_loss(*brokers: int) -> list[tuple[str, int | None, list[str]]]:
    """Return what `shown` returns if all three controllers lost the records of these brokers' directories."""
    lost = [f"committed_lost, node {controller}" for controller in (2, 3)]
    return [("committed_lost", 1, [*lost, *(f"partition_beyond_logs, node {broker}" for broker in brokers)])]


@pytest.mark.parametrize("controllers", [(1, 2), (1, 2, 3)])
def test_partitions_that_were_added_prove_what_a_majority_lost(
    controllers: tuple[int, ...], clusters: Path, tmp_path: Path
) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    cut_back(cluster, controllers, PARTITIONS_ADDED)

    found = errors(cluster)

    assert [(one.kind, one.node_id, one.offset) for one in found] == [
        ("committed_lost", controller, PARTITIONS_ADDED) for controller in controllers
    ]
    assert "has orders-3-4 of topic id" in found[0].meaning
    assert "it was given at offset 61" in found[0].meaning
    assert check_paths([cluster.root]).bounds.lower == PARTITIONS_ADDED + 2


def test_partitions_beyond_every_log_are_kept(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    cut_back(cluster, (1, 2, 3), PARTITIONS_ADDED)
    for broker in (11, 12):
        shutil.rmtree(cluster.metadata(broker))

    found = errors(cluster)

    assert shown(found) == one_loss(11, 11, 12, 12)
    assert "ever gave topic 'orders-3' its partition 3" in (found[0].consequences or ())[2]
    assert "move and delete no partition directory" in found[0].advice
    assert found[0].bars_start


def test_partitions_never_become_fewer_in_a_log_without_its_beginning(clusters: Path, tmp_path: Path) -> None:
    """Every log begins with a checkpoint, and each knows the topic to the end: with fewer partitions."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    image = open_history(cluster.metadata(3)).state_at().image
    topic = next(iter(image.topics.by_id.values()))
    path = cluster.disk(11) / f"{topic.name}-{len(topic.partitions)}" / "partition.metadata"
    path.parent.mkdir()
    path.write_bytes(format_partition_metadata(topic.topic_id))

    found = errors(cluster)

    assert shown(found) == one_loss(11)


def test_a_replica_that_came_later_is_beyond_every_log(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "every-record", tmp_path / "every-record")
    cut_back(cluster, (1, 2, 3), REPLICA_MOVED)
    for broker in (11, 12, 13):
        shutil.rmtree(cluster.metadata(broker))

    path = next(cluster.node(13).glob("data*/carts-97-0/partition.metadata"))
    every = errors(cluster)

    found = [one for one in every if one.file == str(path)]
    assert [one.kind for one in found] == ["partition_beyond_logs"]
    assert "ever made node 13 a replica of carts-97-0" in found[0].meaning
    # Files beside the logs prove the loss. Only the directories that look like copies have findings of their own.
    copies = [("partition_beyond_logs", 13), ("partition_beyond_logs", 13)]
    assert [(one.kind, one.node_id) for one in every] == [
        ("log_cut", 1),
        ("log_cut", 3),
        ("committed_lost", 1),
        *copies,
    ]
    assert len(every[2].consequences or ()) == 18
    assert "move and delete no partition directory" in every[2].advice


def test_a_replica_that_came_later_proves_what_a_majority_lost(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "stray", tmp_path / "stray")
    shutil.rmtree(cluster.root / "before")
    cut_back(cluster, (1, 2), REPLICAS_ADDED)
    cut_back(cluster, (3,), REPLICAS_ADDED + 3)
    for controller in (1, 2, 3):
        bare(cluster, controller, EPOCH_FILE, QUORUM_STATE_FILE)
    for broker in (11, 12, 13):
        shutil.rmtree(cluster.metadata(broker))
    for path in cluster.root.glob("node-1[123]/data/[!_]*/partition.metadata"):
        if not path.parent.name.startswith("users-26-"):
            shutil.rmtree(path.parent)

    found = [one for one in check_paths([cluster.root]).findings if one.kind == "committed_lost"]

    assert [(one.node_id, one.offset) for one in found] == [(1, REPLICAS_ADDED), (2, REPLICAS_ADDED)]
    assert "node 12 has users-26-2 of topic id" in found[0].meaning
    assert f"it was given at offset {REPLICAS_ADDED + 2}" in found[0].meaning


@pytest.mark.parametrize("number", [5, 9])
def test_a_directory_that_was_renamed_by_hand_blames_no_log(number: int, clusters: Path, tmp_path: Path) -> None:
    """Behind a gap, or the very next number: the partition whose name it had is gone there."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.disk(11) / f"orders-3-{number}"
    (cluster.disk(11) / "orders-3-4").rename(path)

    (found,) = errors(cluster)

    assert (found.kind, found.severity) == ("partition_beyond_logs", Severity.ERROR)
    assert (found.node_id, found.file) == (11, str(path / "partition.metadata"))
    assert "orders-3-4, which the log has on node 11, has no directory there: this may be it, renamed" in found.meaning
    assert ("no broker here has partition 5 to 8 of it" in found.meaning) is (number == 9)
    assert "make an empty one for what is gone" in found.advice


def test_a_copy_behind_a_gap_blames_no_log(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    shutil.copytree(cluster.disk(11) / "orders-3-4", cluster.disk(11) / "orders-3-7")

    (found,) = errors(cluster)

    assert (found.kind, found.severity) == ("partition_beyond_logs", Severity.WARNING)
    assert "no broker here has partition 5 to 6 of it" in found.meaning


def test_a_copy_of_another_brokers_replica_blames_no_log(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "every-record", tmp_path / "every-record")
    path = cluster.disk(11) / "carts-97-2"
    shutil.copytree(cluster.disk(13) / "carts-97-2", path)

    (found,) = errors(cluster)

    assert (found.kind, found.severity, found.file) == (
        "partition_beyond_logs",
        Severity.WARNING,
        str(path / "partition.metadata"),
    )
    assert "is broker 12 and 13's, of which it may be a copy" in found.meaning


def ghost(cluster: Cluster) -> Path:
    """A directory on broker 11 of a topic that no log knows; where it is."""
    path = cluster.disk(11) / "ghost-0"
    shutil.copytree(cluster.disk(11) / "orders-3-0", path)
    (path / "partition.metadata").write_bytes(format_partition_metadata(UNHEARD_OF))
    return path


def test_an_audit_leaves_what_is_proof(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = ghost(cluster)
    assert shown(errors(cluster)) == one_loss(11)

    found = {one.facts.name: one for one in audit([cluster.disk(11)], [cluster.node(1)]).directories}

    assert (found[path.name].verdict.kind, found[path.name].is_judged) == (Kind.UNKNOWN, False)
    assert "it may be all that is left of that, and stays" in found[path.name].verdict.why
    assert not any(one.is_wrong for one in found.values())
    assert run(["storage", "audit", str(cluster.disk(11)), "--image", str(cluster.node(1)), "--quarantine"]) == 1
    assert path.is_dir()


def test_an_audit_leaves_partitions_beyond_every_log(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    cut_back(cluster, (1, 2, 3), PARTITIONS_ADDED)
    shutil.rmtree(cluster.metadata(11))

    found = {one.facts.name: one for one in audit([cluster.disk(11)], [cluster.node(1)]).directories}

    assert [found[f"orders-3-{number}"].is_judged for number in range(5)] == [True, True, True, False, False]
    assert "ever gave topic 'orders-3' its partition 4" in found["orders-3-4"].verdict.why


def test_what_was_set_aside_is_a_note(clusters: Path, tmp_path: Path) -> None:
    """A broker sets a directory aside when it starts. A quarantine gives such a name, too."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = ghost(cluster)
    path.rename(path.with_name(f"{path.name}.{'0' * 32}-stray"))

    report = check_paths([cluster.root])

    assert [(one.kind, one.severity) for one in report.findings] == [("partition_beyond_logs", Severity.NOTE)]
    assert "its data is certainly not needed" in report.findings[0].advice


@pytest.mark.parametrize("end", [0, 28])
def test_partitions_are_not_judged_by_a_log_that_lost_its_end(end: int, clusters: Path, tmp_path: Path) -> None:
    """The log lacks later assignments, which makes no directory id wrong."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    if end:
        assert cut_at(cluster, 11, end)[0] == end
    else:
        cluster.segment(11).write_bytes(b"")

    alone = check_paths([cluster.node(11)]).findings
    assert {one.kind for one in alone} - {"partition_beyond_logs"} == {"log_cut", "partitions_not_judged"}
    (note,) = (one for one in alone if one.kind == "partitions_not_judged")
    assert f"the logs here end at offset {end}, though one reached 83" in note.meaning

    assert {one.kind for one in check_paths([cluster.root]).findings} == {"log_cut"}


def test_a_partition_metadata_that_is_closed_is_no_damaged_one(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.disk(11) / "orders-3-0" / "partition.metadata"
    path.unlink()
    path.mkdir()

    found = [one for one in check_paths([cluster.root]).findings if one.file == str(path)]

    assert [one.kind for one in found] == ["unreadable_file"]


def test_a_partition_of_the_greatest_number_costs_no_more_than_another(clusters: Path, tmp_path: Path) -> None:
    """All numbers up to it were listed."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    disk = cluster.disk(11)
    shutil.copytree(disk / "orders-3-0", disk / "orders-3-2147483647")
    (found,) = [one for one in check_paths([cluster.root]).findings if one.kind == "partition_beyond_logs"]
    assert "no broker here has partition 5 to 2147483646 of it" in found.meaning
