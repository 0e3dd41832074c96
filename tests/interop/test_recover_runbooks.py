"""The runbooks, word for word, on lost clusters of Apache Kafka: all that was committed is there, and they go on."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.storage.segment import segment_file
from metadata_log.tools.check.check import check_paths
from quorum.cli.demo.cluster import free_ports
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.journal.log_directories import find_place
from tests.support.damage import flip
from tests.support.kafka.cluster import KafkaNode
from tests.support.kafka.goes_on import check_it_goes_on, check_logs_are_equal, check_they_are_equal, destroy
from tests.support.kafka.lost import LATE, UNSEEN, LostCluster
from tests.support.kafka.recovery import read_contents
from tests.support.kafka.runbook import Block, Player, blocks_of

NEW_CLUSTER_ID = "Y2xvbmVkLWZyb20tYmVmbw"

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]


def test_all_controllers_lost(lost: LostCluster, tmp_path: Path) -> None:
    with lost.copy(lost.behind, tmp_path / "cluster") as cluster:
        destroy(cluster, 1, 2, 3)
        Player(cluster).play("all-controllers-lost")
        check_it_goes_on(cluster, lost, topics={UNSEEN})


def test_addresses_changed(lost: LostCluster, tmp_path: Path) -> None:
    moved = dict(zip((1, 2, 3), free_ports(3), strict=True))
    with lost.copy(lost.behind, tmp_path / "cluster") as cluster:
        Player(cluster, moved=moved).play("addresses-changed")
        assert {node.port for node in cluster.controllers} == set(moved.values())
        check_it_goes_on(cluster, lost, topics={UNSEEN})


def test_majority_lost_and_a_broker_holds_what_was_never_committed(lost: LostCluster, tmp_path: Path) -> None:
    survivor, other = (node for node in (1, 2, 3) if node != lost.forked)
    with lost.copy(lost.divergent, tmp_path / "cluster") as cluster:
        destroy(cluster, lost.forked, other)
        player = Player(cluster, hosts={1: survivor, 2: lost.forked, 3: other})
        player.play("majority-lost", changes={"--missing 2,3": f"--missing {lost.forked},{other}"})
        assert f"topics {lost.never}; never committed" in player.output
        check_it_goes_on(cluster, lost, topics={UNSEEN, LATE})


def test_the_only_survivor_diverged_and_a_brokers_copy_is_taken(lost: LostCluster, tmp_path: Path) -> None:
    first, second = (node for node in (1, 2, 3) if node != lost.forked)
    with lost.copy(lost.divergent, tmp_path / "cluster") as cluster:
        destroy(cluster, first, second)
        survivor = cluster.nodes[lost.forked].log_dir
        survivor.rename(survivor.with_name("data.diverged"))
        player = Player(cluster, hosts={1: lost.forked, 2: first, 3: second})
        missing = f"--copy /var/lib/kafka/data.diverged --missing {first},{second}"
        player.play(
            "all-controllers-lost", changes={"--missing 1,2,3": missing, "--node-id 1": f"--node-id {lost.forked}"}
        )
        assert f"topics {lost.never}; never committed" in player.output
        check_it_goes_on(cluster, lost, topics={UNSEEN, LATE})


def test_cloned_volume(lost: LostCluster, tmp_path: Path) -> None:
    moved = dict(zip((1, 11, 12), free_ports(3), strict=True))
    with lost.copy(lost.behind, tmp_path / "cluster") as cluster:
        first = 1 if lost.survivor != 1 else 2
        destroy(cluster, *({1, 2, 3} - {first}))
        moved[first] = moved.pop(1)
        player = Player(cluster, hosts={1: first}, moved=moved)
        missing = ",".join(str(node) for node in (1, 2, 3) if node != first)
        player.play(
            "cloned-volume", changes={"NEW_CLUSTER_ID": NEW_CLUSTER_ID, "--missing 2,3": f"--missing {missing}"}
        )
        assert read_contents(cluster, lost.contents) == lost.before
        cluster.end()
        for node in (cluster.nodes[first], *cluster.brokers):
            assert f"cluster.id={NEW_CLUSTER_ID}" in (node.log_dir / "meta.properties").read_text()


def test_corrupt_log(lost: LostCluster, tmp_path: Path) -> None:
    with lost.copy(lost.behind, tmp_path / "cluster") as cluster:
        torn, broken, _ = cluster.controllers
        end = tear_the_end(torn)
        flip(max(broken.metadata_dir.glob("*.checkpoint")))
        begin = damage_the_beginning(broken)
        (cluster.nodes[3].metadata_dir / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
        identity = (broken.log_dir / "meta.properties").read_text()
        directory_id = next(line for line in identity.splitlines() if line.startswith("directory.id=")).split("=")[1]
        blocks = blocks_of("corrupt-log")
        starting = next(index for index, block in enumerate(blocks) if block.commands == ("systemctl start kafka",))
        mending, starts, replacing = blocks[:starting], blocks[starting : starting + 3], blocks[starting + 3]
        player = Player(cluster)
        for block in mending:
            player.run(block, changes={"OFFSET": str(end), "BEGIN": str(begin)})
        assert "torn_tail" in player.output
        assert f"holds everything before offset {begin}" in player.output
        assert min(path.name for path in broken.metadata_dir.glob("*.log")) == segment_file(begin)
        check_undo(player, mending[-1])
        for block in starts:
            player.run(block)
        broken.kill()
        flip(max(broken.metadata_dir.glob("*.log")))
        player.run(replacing, changes={"DIRECTORY_ID": directory_id})
        cluster.end()
        check_they_are_equal(cluster.controllers)


def damage_the_beginning(node: KafkaNode) -> int:
    """Break the first batch of a log that two whole checkpoints hold; where the older of them ends."""
    older = sorted(node.metadata_dir.glob("*.checkpoint"))[-2]
    log = min(node.metadata_dir.glob("*.log"))
    data = bytearray(log.read_bytes())
    data[70] ^= 1
    log.write_bytes(data)
    return int(older.name[:20])


def check_undo(player: Player, block: Block) -> None:
    """Take the last repair back as the README of the runbooks says, and do it again."""
    [undo] = blocks_of("README")
    player.run(Block(host=block.host, commands=undo.commands))
    assert "Done: kraft recover undo" in player.said[-1][1]
    player.run(block)


def test_damage_in_the_middle_and_no_other_copy(lost: LostCluster, tmp_path: Path) -> None:
    first = next(node for node in (1, 2, 3) if node != lost.survivor)
    others = [node for node in (1, 2, 3) if node != first]
    with lost.copy(lost.behind, tmp_path / "cluster") as cluster:
        destroy(cluster, *others)
        for broker in cluster.brokers:
            shutil.rmtree(broker.metadata_dir)
        end = damage_before(cluster.nodes[first], UNSEEN)
        blocks = blocks_of("corrupt-log")
        last = next(index for index, block in enumerate(blocks) if "kraft log dump" in " ".join(block.commands))
        player = Player(cluster, hosts=dict(zip((1, 2, 3), (first, *others), strict=True)))
        for block in blocks[last:]:
            player.run(block, changes={"OFFSET": str(end)})
        assert "it was damaged at" in player.output
        assert read_contents(cluster, lost.contents) == lost.before
        assert UNSEEN not in cluster.topics()
        cluster.end()
        check_only_strays_tell_of_it([cluster.nodes[first], *cluster.brokers], UNSEEN)


def check_only_strays_tell_of_it(nodes: Sequence[KafkaNode], topic: str) -> None:
    """Check that the logs are equal, and that `kraft check` notes the strays of the discarded topic on the brokers.

    A stray without partition.metadata, because its broker was killed before it wrote the file, proves nothing.
    """
    log_dirs = [node.log_dir for node in nodes]
    check_logs_are_equal(log_dirs)
    report = check_paths(log_dirs)
    assert report.is_sound, report.findings
    found = [one for one in report.findings if one.kind == "partition_beyond_logs"]
    strays = [path for directory in log_dirs for path in directory.glob(f"{topic}-0.*-stray/partition.metadata")]
    assert len(found) == len(strays), (found, strays)
    assert all(f"{topic}-0." in one.meaning and "-stray" in one.meaning for one in found), found


def damage_before(node: KafkaNode, topic: str) -> int:
    """Break the batch that creates a topic, and the checkpoints that hold it; where the valid prefix ends then."""
    for path in node.metadata_dir.glob("*.checkpoint"):
        if topic.encode() in path.read_bytes():
            path.unlink()
    log = next(path for path in node.metadata_dir.glob("*.log") if topic.encode() in path.read_bytes())
    data = bytearray(log.read_bytes())
    data[data.index(topic.encode())] ^= 1
    log.write_bytes(data)
    files = OsFiles()
    copy = read_copy(files, find_place(files, str(node.log_dir)))
    assert copy.stop is not None
    assert not copy.stop.is_torn
    return int(copy.end.offset)


def tear_the_end(node: KafkaNode) -> int:
    """Leave a part of the last batch, as a write that a crash interrupts; return the offset at which the log ends then.

    An index gets its entry after the batch. By chance, the last batch is one of the few with an entry.
    """
    log = max(node.metadata_dir.glob("*.log"))
    os.truncate(log, log.stat().st_size - 7)
    files = OsFiles()
    end = int(read_copy(files, find_place(files, str(node.log_dir))).end.offset)
    _drop_entries(log.with_suffix(".index"), struct.Struct(">ii"), 0, end - int(log.stem))
    _drop_entries(log.with_suffix(".timeindex"), struct.Struct(">qi"), 1, end - int(log.stem))
    return end


def _drop_entries(index: Path, entry: struct.Struct, field: int, end: int) -> None:
    """Cut an index before its first entry of the relative offset `end` or later. `field`: that of the offset."""
    entries = list(entry.iter_unpack(index.read_bytes()))
    kept = next((number for number, one in enumerate(entries) if one[field] >= end), len(entries))
    os.truncate(index, kept * entry.size)
