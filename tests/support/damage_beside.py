"""Damage to indexes, producer state, epoch files and identities that a check easily misses."""

from __future__ import annotations

import struct
from collections.abc import Callable

from metadata_log.directory import META_PROPERTIES_FILE, PARTITION_METADATA_FILE, QUORUM_STATE_FILE
from metadata_log.format.batch import iter_batches
from tests.support.damage import Cluster, Damage, Planted, with_bytes
from tests.support.damage_files import epoch_file_changed


def index_too_high(cluster: Cluster) -> Planted:
    """An .index entry with an offset in the batch that the next entry points to."""
    path = cluster.segment(1).with_suffix(".index")
    data = path.read_bytes()
    bases = {position: header.base_offset for position, header in iter_batches(cluster.segment(1).read_bytes())}
    entries = list(struct.iter_unpack(">ii", data))
    number = next(n for n, (offset, position) in enumerate(entries) if n and bases[position] < offset) - 1
    wrong, at = entries[number + 1][0] - 1, 8 * number
    path.write_bytes(with_bytes(data, at, struct.pack(">ii", wrong, entries[number][1])))
    return Planted("index_wrong", 1, path, wrong, at)


def last_index_too_high(cluster: Cluster) -> Planted:
    """A last .index entry with an offset past the end of the log."""
    path = cluster.segment(1).with_suffix(".index")
    data = path.read_bytes()
    _, position = struct.unpack_from(">ii", data, len(data) - 8)
    path.write_bytes(with_bytes(data, len(data) - 8, struct.pack(">ii", 5000, position)))
    return Planted("index_wrong", 1, path, 5000, len(data) - 8)


def index_after_truncation(cluster: Cluster) -> Planted:
    """An open .timeindex with an entry of a truncated tail, as Kafka leaves it: this is no damage."""
    path = cluster.segment(1).with_suffix(".timeindex")
    data = path.read_bytes()
    time, offset = struct.unpack_from(">qi", data, len(data) - 12)
    old = struct.pack(">qi", time - 1, offset - 1)
    path.write_bytes(data[:-12] + old + bytes(1200))
    return Planted("index_remnant", 1, path, offset - 1, len(data) - 12, counts=False)


def _producers(content: bytes) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        path = cluster.metadata(2) / "00000000000000000096.snapshot"
        path.write_bytes(content)
        return Planted("producer_file_wrong", 2, path, 96)

    return plant


def _without_directory_id(node_id: int) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        path = cluster.disk(node_id) / META_PROPERTIES_FILE
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.startswith("directory.id")))
        return Planted("missing_directory_id", node_id, path)

    return plant


def broker_disk_without_properties(cluster: Cluster) -> Planted:
    """A broker's second disk, with partitions and no metadata log, without its meta.properties."""
    disk = cluster.node(11) / "data1"
    (disk / META_PROPERTIES_FILE).unlink()
    return Planted("not_formatted", 11, disk)


def broker_disk_with_another_id(cluster: Cluster) -> Planted:
    """The same disk with another directory.id than the registered one, and assigned partitions."""
    path = cluster.node(11) / "data1" / META_PROPERTIES_FILE
    path.write_text(path.read_text().replace("6y6OYCbUqyddgSW8tK_XgQ", "ZGlyZWN0b3J5LWlkLTk5OQ"))
    return Planted("directory_not_registered", 11, path)


def voted_in_another_cluster(cluster: Cluster) -> Planted:
    """A quorum-state of version 0 with the id of another cluster, which Kafka leaves empty there."""
    path = cluster.metadata(3) / QUORUM_STATE_FILE
    path.write_text(path.read_text().replace('"clusterId":""', '"clusterId":"YW5vdGhlci1jbHVzdGVy"'))
    return Planted("foreign_cluster", 3, path)


def metadata_partition_file_missing(cluster: Cluster) -> Planted:
    """A metadata log without the partition.metadata that Kafka writes before the first batch."""
    path = cluster.metadata(3) / PARTITION_METADATA_FILE
    path.unlink()
    return Planted("missing_file", 3, path)


BESIDE_DAMAGE = [
    Damage("broker_disk_without_properties", "every-record", broker_disk_without_properties),
    Damage("broker_disk_with_another_id", "every-record", broker_disk_with_another_id),
    Damage("voted_in_another_cluster", "static-3.9", voted_in_another_cluster),
    Damage("metadata_partition_file_missing", "every-record", metadata_partition_file_missing),
    Damage("voter_without_directory_id", "basic", _without_directory_id(2)),
    Damage("broker_without_directory_id", "basic", _without_directory_id(11)),
    Damage("producers_flipped", "basic", _producers(bytes.fromhex("0001 48674bc6 00000000"))),
    Damage("producers_cut", "basic", _producers(bytes.fromhex("0001 48674bc7"))),
    Damage("producers_of_other_version", "basic", _producers(bytes.fromhex("0002 48674bc7 00000000"))),
    Damage("producers_in_metadata", "basic", _producers(bytes.fromhex("0001 ba0cc8c4 00000001"))),
    Damage("index_too_high", "every-record", index_too_high),
    Damage("last_index_too_high", "basic", last_index_too_high),
    Damage("index_after_truncation", "basic", index_after_truncation),
    Damage(
        "epoch_file_vertical_tab",
        "failovers",
        epoch_file_changed(lambda t: t.replace("\n", "\v\n", 3), "corrupt_file", None),
    ),
    Damage(
        "epoch_file_spaces", "failovers", epoch_file_changed(lambda t: t.replace(" ", "  ", 1), "corrupt_file", None)
    ),
    Damage(
        "epoch_file_underscore",
        "failovers",
        epoch_file_changed(lambda t: t.replace("9 309", "9 3_09"), "corrupt_file", None),
    ),
]
