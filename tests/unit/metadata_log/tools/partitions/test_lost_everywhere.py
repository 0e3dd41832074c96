"""Partitions that all of their replicas' brokers lack."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding, Severity
from tests.support.damage import Cluster, copy_cluster

BROKERS = (11, 12)


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "basic", tmp_path / "basic")


def _lose(cluster: Cluster, name: str, *brokers: int) -> None:
    for broker in brokers:
        shutil.rmtree(cluster.disk(broker) / name)


def _found(*paths: Path) -> list[Finding]:
    return [one for one in check_paths(paths).findings if one.counts]


def test_a_partition_that_no_broker_has_is_found_on_each(cluster: Cluster) -> None:
    _lose(cluster, "orders-3-0", *BROKERS)

    found = _found(cluster.root)

    assert [(one.kind, one.node_id, one.file) for one in found] == [
        ("partition_missing", broker, str(cluster.disk(broker) / "orders-3-0")) for broker in BROKERS
    ]
    assert all(one.severity is Severity.WARNING for one in found)
    assert "nor on its other replicas' brokers (12)" in found[0].meaning
    assert "which was given to it later" in found[0].meaning


def test_one_broker_may_have_been_killed_before_it_made_it(cluster: Cluster) -> None:
    _lose(cluster, "orders-3-0", 11)

    assert _found(cluster.root) == []


def test_a_broker_that_is_not_here_may_have_it(cluster: Cluster) -> None:
    _lose(cluster, "orders-3-0", *BROKERS)

    assert _found(*(cluster.node(number) for number in (1, 2, 3, 11))) == []


def test_what_was_given_last_may_not_have_been_made(cluster: Cluster) -> None:
    """All were killed before: nothing here was given a while later."""
    _lose(cluster, "orders-3-4", *BROKERS)
    _lose(cluster, "orders-3-3", *BROKERS)

    assert _found(cluster.root) == []
