"""One controller of a real cluster is left, and its disk is not whole: its own log or a broker's copy is taken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.storage.checkpoint import checkpoint_name
from metadata_log.storage.segment import LocatedBatch, segment_bases, segment_file
from metadata_log.tools.read.scan import scan
from quorum.cli.main import run
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.journal.log_directories import find_place
from tests.support.damage import flip
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.goes_on import check_it_goes_on, destroy
from tests.support.kafka.lost import LATE, UNSEEN, LostCluster
from tests.support.kafka.runbook import Player

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]


def test_a_torn_tail_and_a_corrupt_newest_checkpoint(lost: LostCluster, tmp_path: Path) -> None:
    """An older checkpoint and the log have the same content. The torn records were never acknowledged."""
    with lost.copy(lost.divergent, tmp_path / "cluster") as cluster:
        # The one that led: a broker may have a record of its that the other had not fetched yet.
        sound = [node for node in cluster.controllers if node.node_id != lost.forked]
        other, survivor = (node.node_id for node in sorted(sound, key=end_of))
        destroy(cluster, lost.forked, other)
        node = cluster.nodes[survivor]
        *_, older, newest = checkpoints(node)
        flip(node.metadata_dir / newest)
        tear(node)
        player = Player(cluster, hosts={1: survivor, 2: lost.forked, 3: other})
        player.play("majority-lost", changes={"--missing 2,3": f"--missing {lost.forked},{other}"})
        inspected = next(printed for command, printed in player.said if command.startswith("kraft recover inspect"))
        assert "its newest checkpoint is damaged" in inspected
        assert f"kraft recover standalone --dir {node.log_dir}" in inspected
        assert "a torn write is cut" in player.output
        assert f"remove __cluster_metadata-0/{newest}" in player.output
        assert older in checkpoints(node)
        check_it_goes_on(cluster, lost, topics={UNSEEN, LATE})


def test_no_whole_checkpoint_and_a_log_without_its_beginning(
    lost: LostCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing can be made of it: a broker's copy is taken."""
    survivor, other = (node for node in (1, 2, 3) if node != lost.forked)
    with lost.copy(lost.divergent, tmp_path / "cluster") as cluster:
        destroy(cluster, lost.forked, other)
        node = cluster.nodes[survivor]
        leave_only_what_followed(node, cluster.brokers)
        for name in checkpoints(node):
            flip(node.metadata_dir / name)
        check_a_brokers_copy_is_recommended(cluster, node, capsys)
        node.log_dir.rename(node.log_dir.with_name("data.damaged"))
        player = Player(cluster, hosts={1: survivor, 2: lost.forked, 3: other})
        missing = f"--copy /var/lib/kafka/data.damaged --missing {lost.forked},{other}"
        player.play(
            "all-controllers-lost", changes={"--missing 1,2,3": missing, "--node-id 1": f"--node-id {survivor}"}
        )
        check_it_goes_on(cluster, lost, topics={UNSEEN, LATE})


def check_a_brokers_copy_is_recommended(
    cluster: KafkaCluster, node: KafkaNode, capsys: pytest.CaptureFixture[str]
) -> None:
    brokers = [str(broker.log_dir) for broker in cluster.brokers]
    capsys.readouterr()
    assert run(["recover", "inspect", str(node.log_dir), *brokers, "-o", "json"]) == 1
    seen = json.loads(capsys.readouterr().out)
    said = [command for step in seen["steps"] for command in step["commands"]]
    assert any(word.startswith(f"kraft recover from-broker --broker-dir {brokers[1]}") for word in said), said
    assert (seen["kraft_version"], len(seen["voters"])) == (1, 3)
    assert run(["recover", "standalone", "--dir", str(node.log_dir), "--missing", "rest"]) == 1
    assert "no whole checkpoint holds what was before" in capsys.readouterr().err


def checkpoints(node: KafkaNode) -> list[str]:
    """The names, the newest last."""
    return sorted(path.name for path in node.metadata_dir.glob("*.checkpoint"))


def safe_end(node: KafkaNode) -> OffsetAndEpoch:
    """Return the end of the log's valid prefix."""
    files = OsFiles()
    return read_copy(files, find_place(files, str(node.log_dir))).end


def end_of(node: KafkaNode) -> int:
    """The offset of that."""
    return int(safe_end(node).offset)


def tear(node: KafkaNode) -> None:
    """Append the beginning of a batch that was due, as a crash in a write leaves it."""
    end = safe_end(node)
    with max(node.metadata_dir.glob("*.log")).open("r+b") as log:
        header = log.read(61)
        log.seek(0, 2)
        log.write(end.offset.to_bytes(8, "big") + header[8:12] + end.epoch.to_bytes(4, "big") + header[16:])


def leave_only_what_followed(node: KafkaNode, brokers: Sequence[KafkaNode]) -> None:
    """Leave a checkpoint and the log from its end on, as in a controller that began with a fetched snapshot.

    The log begins behind every checkpoint of a broker, so that none can be lent to it. It ends where the last broker's
    copy does. That copy's log is whole or begins with a checkpoint, so it is the only possible source. Of the brokers'
    checkpoints only those stay with which their logs begin: the ends of the others depend on chance.
    """
    *_, last = brokers
    starts = {
        broker: int(segment_bases([path.name for path in broker.metadata_dir.iterdir()])[0]) for broker in brokers
    }
    for broker, start in starts.items():
        for name in checkpoints(broker):
            if int(name[:20]) > start:
                (broker.metadata_dir / name).unlink()
    lent = max(starts.values())
    first = node.metadata_dir / segment_file(0)
    handle = OsFiles().open(str(first), read_only=True)
    batches = [found for found in scan(handle) if isinstance(found, LocatedBatch)]
    handle.close()
    kept = [batch for batch in batches if batch.header.base_offset > lent and batch.header.next_offset <= end_of(last)]
    assert kept, f"a broker's log begins at {lent}, and that of {last.node_id} holds nothing behind"
    begin, before = kept[0], batches[batches.index(kept[0]) - 1].header
    data = first.read_bytes()[begin.position : kept[-1].position + kept[-1].header.size_in_bytes]
    *older, newest = [node.metadata_dir / name for name in checkpoints(node)]
    for path in (*older, *node.metadata_dir.glob(f"{0:020d}.[!c]*")):
        path.unlink()
    base = Offset(begin.header.base_offset)
    newest.rename(newest.with_name(checkpoint_name(OffsetAndEpoch(offset=base, epoch=before.partition_leader_epoch))))
    (node.metadata_dir / segment_file(base)).write_bytes(data)
