"""A survivor that lacks what others hold becomes the quorum: they cut their tails, and all logs are the same bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.os_files import OsFiles
from metadata_log.tools.hashes import hash_logs
from quorum.cli.demo.cluster import wait_until
from quorum.cli.main import run
from quorum.recovery.copies import Copy, read_copy
from quorum.recovery.places import find_place
from quorum.recovery.survey import common_end
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.recovery import directories
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(500)]


def test_a_broker_and_a_stale_voter_with_other_records_rejoin(
    tmp_path: Path, kafka_tools: KafkaTools, capsys: pytest.CaptureFixture[str]
) -> None:
    with KafkaCluster(tmp_path / "cluster", kafka_tools) as cluster:
        cluster.start()
        _create(cluster, "early")
        leader = cluster.leader()
        survivor, stale = (node for node in cluster.controllers if node is not leader)
        _leave_behind(cluster, survivor)
        shutil.rmtree(leader.log_dir)
        held = {node.node_id: copy_of(node) for node in (stale, *cluster.brokers)}
        assert all(copy.end.offset > copy_of(survivor).end.offset for copy in held.values())

        missing = f"{leader.node_id},{stale.node_id}"
        words = ["recover", "standalone", "--dir", str(survivor.log_dir), "--missing", missing]
        words += [word for broker in cluster.brokers for word in ("--copy", str(broker.log_dir))]
        assert run(words) == 1
        assert "later-4; which may have been committed" in capsys.readouterr().err
        assert run([*words, "--accept-data-loss", "--apply"]) == 0
        assert "later-4" in capsys.readouterr().out
        cut = int(copy_of(survivor).end.offset) - 2
        assert all(common_end(copy_of(survivor), copy) == cut for copy in held.values())

        cluster.start(survivor.node_id, *(broker.node_id for broker in cluster.brokers))
        cluster.start(stale.node_id)
        _create(cluster, "after")
        end = int(copy_of(survivor).end.offset)
        for node in (stale, *cluster.brokers):
            wait_until(
                f"node {node.node_id} to follow", lambda node=node: _follows(node, end), timeout_s=90, every_s=0.5
            )
        listed = set(cluster.admin("topics", "--list").split())
        assert {"early", "after"} <= listed
        assert not [name for name in listed if name.startswith("later")]
        cluster.end()
        left = [path for path in directories(cluster) if path.exists()]
        assert len({line.hash for line in hash_logs(left)}) == 1
        assert run(["log", "diff", *map(str, left)]) == 0
        for node in (stale, *cluster.brokers):
            _check_same_bytes(copy_of(survivor), copy_of(node))


def _leave_behind(cluster: KafkaCluster, survivor: KafkaNode) -> None:
    """The others commit topics that the survivor has not; then all are killed."""
    survivor.kill()
    for number in range(5):
        _create(cluster, f"later-{number}")
    for node in cluster.nodes.values():
        node.kill()


def _check_same_bytes(one: Copy, other: Copy) -> None:
    shorter, longer = sorted([one, other], key=lambda copy: copy.end.offset)
    assert common_end(shorter, longer) == shorter.end.offset, other.node_id
    assert shorter.sums.first_difference(longer.sums, int(shorter.end.offset)) is None


def copy_of(node: KafkaNode) -> Copy:
    files = OsFiles()
    return read_copy(files, find_place(files, str(node.log_dir)))


def _follows(node: KafkaNode, end: int) -> bool:
    copy = copy_of(node)
    return copy.end.epoch > 1000 and copy.end.offset >= end


def _create(cluster: KafkaCluster, topic: str) -> None:
    cluster.admin("topics", "--create", "--topic", topic, "--partitions", "1", "--replication-factor", "2")
