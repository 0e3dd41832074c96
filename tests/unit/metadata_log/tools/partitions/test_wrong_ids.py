"""A live replica's directory with the id of a topic that is gone: wrong, unless its broker has not heard of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.directory import format_partition_metadata
from metadata_log.ids import TopicId, parse_topic_id
from metadata_log.reconcile import Kind
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.partitions.audit import audit
from tests.support.damage import Cluster, copy_cluster

GONE = parse_topic_id("0Voj9lgKQY-gQFbG4oNRbw")
"""`basic`: the id of a payments-73 that was deleted."""
FORMER = parse_topic_id("EPL9HZUrT7aAZOTSAvHEJQ")
"""`stray`: the id of the mail-90 that was deleted while broker 13 was away."""


def give(directory: Path, topic_id: TopicId) -> Path:
    """Write the id into a partition's directory; its partition.metadata."""
    path = directory / "partition.metadata"
    path.write_bytes(format_partition_metadata(topic_id))
    return path


def found_at(cluster: Cluster, path: Path) -> list[Finding]:
    found = check_paths(sorted(cluster.root.glob("node-*"))).findings
    assert {one.file for one in found if one.counts} <= {str(path)}
    return [one for one in found if one.file == str(path)]


def verdict_of(cluster: Cluster, broker: int, directory: str) -> tuple[Kind, str]:
    found = audit([cluster.disk(broker)], [cluster.node(1)]).directories
    return next((one.verdict.kind, one.verdict.why) for one in found if one.facts.name == directory)


def test_the_id_of_a_deleted_topic_of_another_name(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = give(cluster.disk(11) / "orders-3-0", GONE)

    (found,) = found_at(cluster, path)

    assert (found.kind, found.node_id, found.counts) == ("partition_wrong_id", 11, True)
    assert "is that of topic 'payments-73', which is deleted" in found.meaning
    assert verdict_of(cluster, 11, "orders-3-0")[0] is Kind.WRONG_ID


def test_an_id_that_no_log_knows_where_logs_begin_with_a_checkpoint(clusters: Path, tmp_path: Path) -> None:
    """There may have been a topic of that id; but the broker must have put the present one's partition there since."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    listed = [
        path
        for broker in (11, 12)
        for path in sorted(cluster.disk(broker).glob("*/partition.metadata"))
        if not path.parent.name.startswith("__") and not path.parent.name.endswith("-delete")
    ]
    for path in listed[::9]:
        kept = path.read_bytes()
        give(path.parent, TopicId(bytes(range(1, 17))))
        assert [one.kind for one in found_at(cluster, path)] == ["partition_wrong_id"], path
        path.write_bytes(kept)
    assert len(listed) > 50


def test_the_id_of_an_earlier_topic_of_the_name(clusters: Path, tmp_path: Path) -> None:
    """The broker read of the topic's successor, and went on long after that."""
    cluster = copy_cluster(clusters / "stray", tmp_path / "stray")
    path = give(cluster.disk(12) / "mail-90-1", FORMER)

    (found,) = found_at(cluster, path)

    assert (found.kind, found.node_id, found.counts) == ("partition_wrong_id", 12, True)
    assert "the broker's own copy of the log has it as a replica of that one" in found.meaning
    assert verdict_of(cluster, 12, "mail-90-1")[0] is Kind.WRONG_ID


@pytest.mark.parametrize("is_here", [True, False])
def test_a_broker_that_was_away_keeps_the_earlier_topics(is_here: bool, clusters: Path, tmp_path: Path) -> None:
    """Its own copy ends before the deletion, or is gone: it is stale, and a note."""
    cluster = copy_cluster(clusters / "stray" / "before", tmp_path / "stray")
    path = cluster.disk(13) / "mail-90-1" / "partition.metadata"
    shutil.rmtree(cluster.disk(13) / "geo-99-0")
    if not is_here:
        shutil.rmtree(cluster.metadata(13))

    (found,) = found_at(cluster, path)

    assert (found.kind, found.counts) == ("partition_stale", False)
    assert verdict_of(cluster, 13, "mail-90-1")[0] is Kind.STALE
