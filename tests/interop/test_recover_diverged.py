"""A survivor that lacks what others hold becomes the quorum: they cut their tails, and all logs are the same bytes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.tools.replicas.hashes import hash_logs
from quorum.cli.demo.cluster import wait_until
from quorum.cli.main import run
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.conflicts import common_end
from quorum.recovery.journal.log_directories import find_place
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.goes_on import destroy
from tests.support.kafka.lost import UNSEEN, LostCluster
from tests.support.kafka.recovery import directories

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(500)]


def test_a_broker_and_a_stale_voter_with_other_records_rejoin(
    lost: LostCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with lost.copy(lost.behind, tmp_path / "cluster") as cluster:
        survivor = cluster.nodes[lost.survivor]
        gone, stale = (node for node in cluster.controllers if node is not survivor)
        destroy(cluster, gone.node_id)
        held = {node.node_id: copy_of(node) for node in (stale, *cluster.brokers)}
        assert all(copy.end.offset > copy_of(survivor).end.offset for copy in held.values())

        missing = f"{gone.node_id},{stale.node_id}"
        words = ["recover", "standalone", "--dir", str(survivor.log_dir), "--missing", missing]
        words += [word for broker in cluster.brokers for word in ("--copy", str(broker.log_dir))]
        assert run(words) == 1
        said = capsys.readouterr().err
        for broker in cluster.brokers:
            assert re.search(_would_lose(copy_of(survivor), copy_of(broker), cluster), said), said
        assert run([*words, "--accept-data-loss", "--apply"]) == 0
        assert UNSEEN in capsys.readouterr().out
        cut = int(copy_of(survivor).end.offset) - 2
        assert all(common_end(copy_of(survivor), copy) == cut for copy in held.values())

        for node in cluster.nodes.values():
            _take_no_checkpoints(node)
            _drop_checkpoints_past(node, cut)
        cluster.start(survivor.node_id, *(broker.node_id for broker in cluster.brokers))
        cluster.start(stale.node_id)
        cluster.admin("topics", "--create", "--topic", "after", "--partitions", "1", "--replication-factor", "2")
        end = int(copy_of(survivor).end.offset)
        for node in (stale, *cluster.brokers):
            wait_until(
                f"node {node.node_id} to follow", lambda node=node: _follows(node, end), timeout_s=90, every_s=0.5
            )
        cluster.await_topics("after")
        assert {name for name in cluster.topics() if not name.startswith("__")} == {*lost.contents.topics, "after"}
        cluster.end()
        left = [path for path in directories(cluster) if path.exists()]
        assert len({line.hash for line in hash_logs(left)}) == 1
        assert run(["log", "diff", *map(str, left)]) == 0
        for node in (stale, *cluster.brokers):
            _check_same_bytes(copy_of(survivor), copy_of(node))


def _would_lose(survivor: Copy, broker: Copy, cluster: KafkaCluster) -> str:
    """Return a pattern of the sentence on a broker that is ahead.

    A checkpoint holds only what was committed, and a directory of the topic proves its record. By chance, a broker has
    taken a checkpoint since the survivor's end, or has written partition.metadata before its kill.
    """
    proven = max(copy_of(node).extent.snapshot_end for node in cluster.brokers)
    start, end = int(survivor.end.offset), int(broker.end.offset)
    found = [path for node in cluster.brokers for path in node.log_dir.glob(f"{UNSEEN}-*/partition.metadata")]
    words = "committed in part" if found else "which may have been committed"
    if proven > start:
        words = "committed" if proven >= end else "committed in part"
    return rf"offsets {start} to {end} on {re.escape(broker.label)}: [^;]*, topics {UNSEEN}; {words}[.;] "


def _take_no_checkpoints(node: KafkaNode) -> None:
    """A Kafka that cut its log writes the old voters into its next checkpoint (`repair_evidence.beyond_repair`)."""
    with node.properties.open("a") as properties:
        properties.write("metadata.log.max.record.bytes.between.snapshots=20971520\n")


def _drop_checkpoints_past(node: KafkaNode, cut: int) -> None:
    """Remove the checkpoints above the cut, which chance may have added: this test is about logs that are cut.

    A node cannot go back below a checkpoint; `recover` says that such a directory must be set aside.
    """
    for path in node.metadata_dir.glob("*.checkpoint"):
        if int(path.name.partition("-")[0]) > cut:
            path.unlink()


def _check_same_bytes(one: Copy, other: Copy) -> None:
    shorter, longer = sorted([one, other], key=lambda copy: copy.end.offset)
    assert common_end(shorter, longer) == shorter.end.offset, other.node_id
    assert shorter.prefix.sums.first_difference(longer.prefix.sums, int(shorter.end.offset)) is None


def copy_of(node: KafkaNode) -> Copy:
    files = OsFiles()
    return read_copy(files, find_place(files, str(node.log_dir)))


def _follows(node: KafkaNode, end: int) -> bool:
    copy = copy_of(node)
    return copy.end.epoch > 1000 and copy.end.offset >= end
