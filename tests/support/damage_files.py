"""Damage to checkpoints, indexes, sidecar files, identities, and brokers' partition directories."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

from metadata_log.directory import (
    META_PROPERTIES_FILE,
    PARTITION_METADATA_FILE,
    QUORUM_STATE_FILE,
    format_partition_metadata,
)
from metadata_log.format.batch import batch_values, parse_header
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.ids import METADATA_TOPIC_ID, TopicId
from metadata_log.records import ConfigRecord, decode_record, encode_record
from tests.support.damage import Cluster, Damage, Planted, split, with_base, with_bytes, with_epoch, with_values, write

_CHECKPOINT = "00000000000000000255-0000000003.checkpoint"
"""One of three checkpoints of broker 11 in `failovers`."""


def _checkpoint(cluster: Cluster) -> Path:
    return cluster.metadata(11) / _CHECKPOINT


def no_footer(cluster: Cluster) -> Planted:
    """A checkpoint cut off before its last batch."""
    path = _checkpoint(cluster)
    write(path, split(path)[:-1])
    return Planted("checkpoint_incomplete", 11, path)


def torn_checkpoint(cluster: Cluster) -> Planted:
    """A checkpoint cut off within a batch."""
    path = _checkpoint(cluster)
    path.write_bytes(path.read_bytes()[:-20])
    return Planted("checkpoint_incomplete", 11, path)


def no_header(cluster: Cluster) -> Planted:
    """A checkpoint without its first batch."""
    path = _checkpoint(cluster)
    write(path, split(path)[1:])
    return Planted("checkpoint_malformed", 11, path, 0, 0, frozenset({"offset_gap"}))


def foreign_epoch(cluster: Cluster) -> Planted:
    """A checkpoint with a batch of another epoch than in its name."""
    path = _checkpoint(cluster)
    batches = split(path)
    batches[1] = with_epoch(batches[1], 2)
    write(path, batches)
    return Planted("checkpoint_malformed", 11, path, int(parse_header(batches[1]).base_offset), len(batches[0]))


def flipped_checkpoint(cluster: Cluster) -> Planted:
    """A checkpoint with one flipped bit in a record."""
    path = _checkpoint(cluster)
    batches = split(path)
    at = len(batches[0]) + 100
    data = path.read_bytes()
    path.write_bytes(with_bytes(data, at, bytes((data[at] ^ 1,))))
    return Planted("corrupt_batch", 11, path, int(parse_header(batches[1]).base_offset), len(batches[0]))


def other_checkpoint(cluster: Cluster) -> Planted:
    """A valid checkpoint that differs from the log."""
    path = _checkpoint(cluster)
    batches = split(path)
    values = batch_values(batches[1], parse_header(batches[1]))
    number = next(n for n, value in enumerate(values) if isinstance(decode_record(value), ConfigRecord))
    changed = ConfigRecord(resource_type=32, resource_name="nothing", name="a", value="b")
    values[number] = encode_record(changed, 0)
    batches[1] = with_values(batches[1], values)
    write(path, batches)
    return Planted("checkpoint_disagrees", 11, path, 255)


def other_first_checkpoint(cluster: Cluster) -> Planted:
    """A valid checkpoint that differs, where its own log does not go back far enough to show it."""
    path = next(iter(cluster.metadata(2).glob("*0244-*.checkpoint")))
    batches = split(path)
    values = batch_values(batches[1], parse_header(batches[1]))
    number = next(n for n, value in enumerate(values) if isinstance(decode_record(value), ConfigRecord))
    values[number] = encode_record(ConfigRecord(resource_type=32, resource_name="nothing", name="a", value="b"), 0)
    batches[1] = with_values(batches[1], values)
    write(path, batches)
    return Planted("checkpoint_disagrees", 2, path, 244)


def renamed_checkpoint(cluster: Cluster) -> Planted:
    """A checkpoint whose name has another epoch than the log has there; its batches have the same wrong epoch."""
    path = _checkpoint(cluster)
    renamed = path.with_name("00000000000000000255-0000000002.checkpoint")
    write(renamed, [with_epoch(batch, 2) for batch in split(path)])
    path.unlink()
    return Planted("checkpoint_disagrees", 11, renamed, 255)


def wrong_index(cluster: Cluster) -> Planted:
    """An .index entry that points into a batch."""
    path = cluster.segment(1).with_suffix(".index")
    data = path.read_bytes()
    offset, position = struct.unpack_from(">ii", data)
    path.write_bytes(with_bytes(data, 0, struct.pack(">ii", offset, position + 7)))
    return Planted("index_wrong", 1, path, offset, 0)


def shifted_index(cluster: Cluster) -> Planted:
    """An .index entry with a wrong offset."""
    path = cluster.segment(1).with_suffix(".index")
    data = path.read_bytes()
    offset, position = struct.unpack_from(">ii", data)
    path.write_bytes(with_bytes(data, 0, struct.pack(">ii", offset - 5, position)))
    return Planted("index_wrong", 1, path, offset - 5, 0)


def wrong_time_index(cluster: Cluster) -> Planted:
    """A .timeindex entry with a wrong time."""
    path = cluster.segment(1).with_suffix(".timeindex")
    data = path.read_bytes()
    time, offset = struct.unpack_from(">qi", data)
    path.write_bytes(with_bytes(data, 0, struct.pack(">qi", time - 1, offset)))
    return Planted("index_wrong", 1, path, offset, 0)


def epoch_file_changed(change: Callable[[str], str], kind: str, offset: int | None) -> Callable[[Cluster], Planted]:
    """The epoch file of one controller with other content."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.metadata(1) / EPOCH_FILE
        path.write_text(change(path.read_text()))
        return Planted(kind, 1, path, offset)

    return plant


def epoch_file_missing(cluster: Cluster) -> Planted:
    """A missing leader-epoch-checkpoint."""
    path = cluster.metadata(1) / EPOCH_FILE
    path.unlink()
    return Planted("missing_file", 1, path)


def _quorum_state(
    kind: str, scenario_node: int, *, also: frozenset[str] = frozenset(), **fields: object
) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        path = cluster.metadata(scenario_node) / QUORUM_STATE_FILE
        path.write_text(json.dumps(json.loads(path.read_text()) | fields, separators=(",", ":")))
        return Planted(kind, scenario_node, path, also=also)

    return plant


def quorum_state_missing(cluster: Cluster) -> Planted:
    """A missing quorum-state."""
    path = cluster.metadata(2) / QUORUM_STATE_FILE
    path.unlink()
    return Planted("missing_file", 2, path)


def quorum_state_broken(cluster: Cluster) -> Planted:
    """A quorum-state that ends too early."""
    path = cluster.metadata(2) / QUORUM_STATE_FILE
    path.write_bytes(path.read_bytes()[:-5])
    return Planted("corrupt_file", 2, path)


def foreign_cluster(cluster: Cluster) -> Planted:
    """A meta.properties of another cluster."""
    path = cluster.disk(2) / META_PROPERTIES_FILE
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join("cluster.id=YW5vdGhlci1jbHVzdGVy\n" if line.startswith("cluster.id") else line for line in lines)
    )
    return Planted("foreign_cluster", 2, path)


def foreign_node(cluster: Cluster) -> Planted:
    """A meta.properties with another node's id."""
    path = cluster.disk(12) / META_PROPERTIES_FILE
    path.write_text(path.read_text().replace("node.id=12", "node.id=14"))
    return Planted("foreign_node", 14, path, also=frozenset({"partition_elsewhere"}))


def copied_properties(cluster: Cluster) -> Planted:
    """One directory id on two nodes: a copied meta.properties with the node id corrected."""
    path = cluster.disk(2) / META_PROPERTIES_FILE
    text = (cluster.disk(3) / META_PROPERTIES_FILE).read_text()
    path.write_text(text.replace("node.id=3", "node.id=2"))
    return Planted("duplicate_directory_id", 2, path, also=frozenset({"foreign_node", "not_the_voter"}))


def properties_missing(cluster: Cluster) -> Planted:
    """A missing meta.properties."""
    (cluster.disk(2) / META_PROPERTIES_FILE).unlink()
    return Planted("not_formatted", 2, cluster.disk(2))


def properties_broken(cluster: Cluster) -> Planted:
    """A meta.properties without a node id."""
    path = cluster.disk(2) / META_PROPERTIES_FILE
    path.write_text(path.read_text().replace("node.id", "node"))
    return Planted("corrupt_file", 2, path)


def foreign_metadata_topic(cluster: Cluster) -> Planted:
    """The metadata log's partition.metadata with an id that no cluster has."""
    path = cluster.metadata(2) / PARTITION_METADATA_FILE
    path.write_bytes(format_partition_metadata(TopicId(b"an id of our own")))
    return Planted("foreign_metadata_topic", 2, path)


def _partitions(cluster: Cluster) -> list[Path]:
    """Return partition directories of broker 11, one of each topic."""
    found: dict[str, Path] = {}
    for path in sorted(cluster.disk(11).glob(f"*-[0-9]/{PARTITION_METADATA_FILE}")):
        topic = path.parent.name.rsplit("-", 1)[0]
        if topic != "__cluster_metadata":
            found.setdefault(topic, path)
    return list(found.values())


def _partition_id(content: Callable[[Cluster], bytes], kind: str) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        path = _partitions(cluster)[0]
        path.write_bytes(content(cluster))
        return Planted(kind, 11, path)

    return plant


def partition_metadata_missing(cluster: Cluster) -> Planted:
    """A partition directory without partition.metadata."""
    path = _partitions(cluster)[0]
    path.unlink()
    return Planted("partition_without_id", 11, path)


def partition_twice(cluster: Cluster) -> Planted:
    """One partition on two disks."""
    path = cluster.node(11) / "data1" / "on-a-broken-disk-0"
    other = cluster.disk(11) / path.name
    shutil.copytree(path, other)
    return Planted("partition_twice", 11, path)


def flipped_bootstrap(cluster: Cluster) -> Planted:
    """One flipped bit in bootstrap.checkpoint."""
    path = cluster.disk(1) / "bootstrap.checkpoint"
    data = path.read_bytes()
    batches = split(path)
    at = len(batches[0]) + 70
    path.write_bytes(with_bytes(data, at, bytes((data[at] ^ 1,))))
    return Planted("corrupt_batch", 1, path, int(parse_header(batches[1]).base_offset), len(batches[0]))


def foreign_bootstrap_epoch(cluster: Cluster) -> Planted:
    """A batch of bootstrap.checkpoint with another epoch, which no checksum covers."""
    path = cluster.disk(1) / "bootstrap.checkpoint"
    batches = split(path)
    batches[1] = with_epoch(batches[1], 4)
    write(path, batches)
    offset = int(parse_header(batches[1]).base_offset)
    return Planted("checkpoint_malformed", 1, path, offset, len(batches[0]))


def logs_checkpoint_as_bootstrap(cluster: Cluster) -> Planted:
    """The log's first checkpoint, which holds voters, in place of bootstrap.checkpoint."""
    path = cluster.disk(1) / "bootstrap.checkpoint"
    shutil.copy(cluster.metadata(1) / "00000000000000000000-0000000000.checkpoint", path)
    return Planted("checkpoint_malformed", 1, path, 0, 0)


def empty_bootstrap(cluster: Cluster) -> Planted:
    """A bootstrap.checkpoint without a record."""
    path = cluster.disk(1) / "bootstrap.checkpoint"
    batches = split(path)
    write(path, [batches[0], with_base(batches[-1], 1)])
    return Planted("checkpoint_malformed", 1, path, 0, 0)


def _other_topic(cluster: Cluster) -> bytes:
    return _partitions(cluster)[1].read_bytes()


def _unreadable(kind: str, name: str) -> Callable[[Cluster], Planted]:
    """A directory in place of a file: a program can list it, but not read it."""

    def plant(cluster: Cluster) -> Planted:
        path = next(iter(sorted(cluster.node(1).glob(f"data/**/{name}"))))
        path.unlink()
        path.mkdir()
        return Planted(kind, 1, path)

    return plant


FILE_DAMAGE = [
    Damage("unreadable_segment", "failovers", _unreadable("unreadable_file", "*294.log")),
    Damage("unreadable_index", "failovers", _unreadable("unreadable_file", "*207.index")),
    Damage("unreadable_checkpoint", "failovers", _unreadable("unreadable_file", "*244-*.checkpoint")),
    Damage("unreadable_epochs", "failovers", _unreadable("unreadable_file", EPOCH_FILE)),
    Damage("unreadable_quorum_state", "failovers", _unreadable("unreadable_file", QUORUM_STATE_FILE)),
    Damage("unreadable_properties", "basic", _unreadable("unreadable_file", META_PROPERTIES_FILE)),
    *(
        Damage(plant.__name__, "failovers", plant)
        for plant in (
            no_footer,
            torn_checkpoint,
            no_header,
            foreign_epoch,
            flipped_checkpoint,
            other_checkpoint,
            other_first_checkpoint,
            renamed_checkpoint,
            epoch_file_missing,
        )
    ),
    *(
        Damage(plant.__name__, "basic", plant)
        for plant in (
            wrong_index,
            shifted_index,
            wrong_time_index,
            quorum_state_missing,
            quorum_state_broken,
            foreign_cluster,
            foreign_node,
            copied_properties,
            properties_missing,
            properties_broken,
            foreign_metadata_topic,
            partition_metadata_missing,
            flipped_bootstrap,
            foreign_bootstrap_epoch,
            logs_checkpoint_as_bootstrap,
            empty_bootstrap,
        )
    ),
    Damage("partition_twice", "every-record", partition_twice),
    Damage(
        "epoch_file_shifted",
        "failovers",
        epoch_file_changed(lambda text: text.replace("5 270", "5 271"), "epoch_file_wrong", 271),
    ),
    Damage(
        "epoch_file_lacks_one",
        "failovers",
        epoch_file_changed(
            lambda text: text.replace("5 270\n", "").replace("0\n8\n", "0\n7\n"), "epoch_file_wrong", 270
        ),
    ),
    Damage("epoch_file_rubbish", "failovers", epoch_file_changed(lambda text: text[:-9], "corrupt_file", None)),
    Damage("quorum_state_old", "failovers", _quorum_state("quorum_state_behind", 2, leaderEpoch=6, leaderId=2)),
    Damage("quorum_state_other_leader", "basic", _quorum_state("two_leaders", 1, leaderId=1)),
    Damage("two_votes", "basic", _quorum_state("two_votes", 2, votedId=1, votedDirectoryId="ZGlyZWN0b3J5LWlkLTAwMQ")),
    Damage(
        "two_votes_static",
        "static-3.9",
        _quorum_state("two_votes", 2, votedId=1),
    ),
    Damage("partition_of_other_topic", "basic", _partition_id(_other_topic, "partition_wrong_id")),
    Damage(
        "partition_of_no_topic",
        "basic",
        _partition_id(lambda c: format_partition_metadata(TopicId(b"an id of our own")), "partition_wrong_id"),
    ),
    Damage(
        "partition_of_sentinel",
        "basic",
        _partition_id(lambda c: format_partition_metadata(METADATA_TOPIC_ID), "partition_wrong_id"),
    ),
    Damage("partition_metadata_rubbish", "basic", _partition_id(lambda c: b"\0" * 40, "corrupt_file")),
]
