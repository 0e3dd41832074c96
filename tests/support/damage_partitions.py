"""Damage that brokers' partition directories show: what is missing there, and what they prove about the log."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from metadata_log.directory import LOCK_FILE, format_partition_metadata
from metadata_log.format.batch import batch_values, iter_batches
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.records import TopicRecord, decode_record
from tests.support.damage import Cluster, Damage, Planted
from tests.support.damage_reach import bare, cut_at
from tests.support.damage_records import NEW_ID

OFFSETS_FILE = "replication-offset-checkpoint"


def _last_topic(path: Path) -> int:
    """Return the offset of the batch that created the last topic."""
    data, last = path.read_bytes(), -1
    for position, header in iter_batches(data):
        if not header.is_control and any(
            isinstance(decode_record(value), TopicRecord) for value in batch_values(data, header, position)
        ):
            last = int(header.base_offset)
    return last


def _cut_back(controllers: Sequence[int]) -> Callable[[Cluster], Planted]:
    """End controllers' logs before the last topic: no file beside them shows it, and no broker has a log."""

    def plant(cluster: Cluster) -> Planted:
        offset = _last_topic(cluster.segment(3))
        for broker in (11, 12):
            shutil.rmtree(cluster.metadata(broker))
        for controller in controllers:
            end, _ = cut_at(cluster, controller, offset)
            bare(cluster, controller, ".index", ".timeindex", ".snapshot")
        return Planted("committed_lost", controllers[0], cluster.segment(controllers[0]), end)

    return plant


def list_offsets(disk: Path) -> None:
    """Write the file in which a broker keeps the high watermarks of a disk's partitions, as Kafka 4.3 does.

    It holds a version, a count, and a line for each partition.
    """
    names = sorted(path.parent.name for path in disk.glob("[a-z]*-[0-9]/partition.metadata"))
    lines = [" ".join((*name.rsplit("-", 1), "0")) for name in names]
    (disk / OFFSETS_FILE).write_text("".join(f"{line}\n" for line in ("0", str(len(lines)), *lines)))


def _listed_and_gone(node_id: int) -> Callable[[Cluster], Planted]:
    """Remove a partition's directory soon after its creation, and keep the file of its disk that lists it."""

    def plant(cluster: Cluster) -> Planted:
        list_offsets(cluster.disk(node_id))
        return _gone(node_id, "data")(cluster)

    return plant


def _gone(node_id: int, disk: str) -> Callable[[Cluster], Planted]:
    """Remove the directory of one of a broker's partitions."""

    def plant(cluster: Cluster) -> Planted:
        found = sorted((cluster.node(node_id) / disk).glob("[a-z]*-0/partition.metadata"))
        path = found[0].parent
        shutil.rmtree(path)
        return Planted("partition_missing", node_id, path)

    return plant


def set_aside(cluster: Cluster) -> Planted:
    """Rename a partition's directory, as a broker does with a stray."""
    path = next(path.parent for path in sorted(cluster.disk(12).glob("[a-z]*-0/partition.metadata")))
    path.rename(path.with_name(f"{path.name}.{'0' * 32}-stray"))
    return Planted("partition_missing", 12, path)


def _lock_as_directory(node_id: int) -> Callable[[Cluster], Planted]:
    """Put a directory in place of a node's lock file, so that every start of Kafka fails."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.disk(node_id) / LOCK_FILE
        path.unlink(missing_ok=True)
        path.mkdir()
        return Planted("strange_directory", node_id, path)

    return plant


def _beside(name: str, disk: str = "data") -> Callable[[Cluster], Planted]:
    """Put a directory on a broker's disk that is no partition's."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.node(11) / disk / name
        path.mkdir()
        return Planted("strange_directory", 11, path)

    return plant


def unheard_of(cluster: Cluster) -> Planted:
    """Add a directory of a topic that no log knows, on a running broker's disk, where all logs begin with a
    checkpoint."""
    path = cluster.disk(11) / "later-0" / "partition.metadata"
    path.parent.mkdir()
    path.write_bytes(format_partition_metadata(NEW_ID))
    return Planted("partition_beyond_logs", 11, path)


def _first(cluster: Cluster, node_id: int) -> Path:
    return next(path.parent for path in sorted(cluster.disk(node_id).glob("[a-z]*-0/partition.metadata")))


def _marked_with_rubbish(mark: str, content: bytes) -> Callable[[Cluster], Planted]:
    """Add a stray or a deleted directory of a removed topic, with an unreadable partition.metadata.

    Real brokers do not start with it.
    """

    def plant(cluster: Cluster) -> Planted:
        path = cluster.disk(11) / f"gone-0.{'0' * 32}-{mark}"
        path.mkdir()
        (path / "partition.metadata").write_bytes(content)
        return Planted("corrupt_file", 11, path / "partition.metadata")

    return plant


def _file_in(name: str, content: bytes, kind: str, mark: str = "") -> Callable[[Cluster], Planted]:
    """Put a file in a partition's directory, or in a stray's, so that a real broker's start fails."""

    def plant(cluster: Cluster) -> Planted:
        directory = _first(cluster, 11)
        if mark:
            directory = cluster.disk(11) / f"gone-0.{'0' * 32}-{mark}"
            directory.mkdir()
        (directory / name).write_bytes(content)
        return Planted(kind, 11, directory / name)

    return plant


def unreadable_epochs(cluster: Cluster) -> Planted:
    """Put a pipe in place of a partition's leader-epoch-checkpoint."""
    path = _first(cluster, 11) / EPOCH_FILE
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return Planted("unreadable_file", 11, path)


_EPOCHS = {
    "rubbish": b"rubbish\n",
    "too_many": b"0\n1\n0 0\nxx\n",
    "negative": b"0\n1\n-1 0\n",
    "falling": b"0\n2\n3 9\n0 0\n",
    "cut": b"0\n1\n0 0",
}
_NAMES = (
    "abc.log",
    "abc.index",
    "abc.timeindex",
    "abc.snapshot",
    "abc.cleaned",
    "abc.log.swap",
    "copy of 0.log",
    f"{2**63:020}.log",
)
PARTITION_DAMAGE = [
    Damage("lock_of_controller_as_directory", "basic", _lock_as_directory(1)),
    Damage("lock_of_broker_as_directory", "basic", _lock_as_directory(11)),
    Damage("rubbish_id_in_stray", "basic", _marked_with_rubbish("stray", b"rubbish\n")),
    Damage("rubbish_id_in_delete", "basic", _marked_with_rubbish("delete", b"")),
    *(Damage(f"epochs_{name}", "basic", _file_in(EPOCH_FILE, said, "corrupt_file")) for name, said in _EPOCHS.items()),
    Damage("epochs_of_stray", "basic", _file_in(EPOCH_FILE, b"rubbish\n", "corrupt_file", "stray")),
    Damage("epochs_of_partition_unreadable", "basic", unreadable_epochs),
    *(Damage(f"partition_file_{name}", "basic", _file_in(name, b"x", "strange_file")) for name in _NAMES),
    Damage("partition_file_of_stray", "basic", _file_in("abc.log", b"x", "strange_file", "stray")),
    Damage("partition_of_unknown_topic_after_a_cut", "failovers", unheard_of),
    Damage("all_controllers_cut_back", "basic", _cut_back((1, 2, 3))),
    Damage("most_controllers_cut_back", "basic", _cut_back((1, 2))),
    Damage("partition_gone", "failovers", _gone(11, "data")),
    Damage("partition_gone_of_second_disk", "every-record", _gone(11, "data1")),
    Damage("partition_gone_soon", "basic", _listed_and_gone(11)),
    Damage("partition_gone_soon_of_other", "basic", _listed_and_gone(12)),
    Damage("partition_gone_at_3_9", "static-3.9", _listed_and_gone(11)),
    Damage("partition_gone_of_voters_that_change", "dynamic-voters", _listed_and_gone(11)),
    Damage("partition_gone_of_broker_behind", "every-record", _listed_and_gone(13)),
    Damage("lost_and_found_on_a_broker", "basic", _beside("lost+found")),
    Damage("folder_on_a_brokers_second_disk", "every-record", _beside("backup-of-mail", "data1")),
    Damage("partition_set_aside", "failovers", set_aside),
]
