"""Damage to the small files on a node's disks that programs read without reporting it."""

from __future__ import annotations

import os
from collections.abc import Callable

from metadata_log.directory import (
    META_PROPERTIES_FILE,
    METADATA_DIRECTORY,
    PARTITION_METADATA_FILE,
    QUORUM_STATE_FILE,
)
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.storage.checkpoint import BOOTSTRAP_CHECKPOINT
from metadata_log.tools.partitions.clean_shutdown import CLEAN_SHUTDOWN_FILE
from metadata_log.tools.partitions.quarantine import JOURNAL_FILE
from tests.support.damage import Cluster, Damage, Planted, with_bytes

_OFFSETS = "replication-offset-checkpoint"
_OFFSET_FILES = (
    _OFFSETS,
    "recovery-point-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "log-start-offset-checkpoint",
)


def _offsets(content: str, name: str = _OFFSETS) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        path = cluster.disk(11) / name
        path.write_bytes(content.encode("latin-1"))
        return Planted("corrupt_file", 11, path)

    return plant


def _clean_shutdown(content: str) -> Callable[[Cluster], Planted]:
    def plant(cluster: Cluster) -> Planted:
        path = cluster.disk(11) / CLEAN_SHUTDOWN_FILE
        path.write_text(content)
        return Planted("corrupt_file", 11, path)

    return plant


def _with_a_flip(data: bytes) -> bytes:
    return with_bytes(data, len(data) // 2, bytes((data[len(data) // 2] ^ 1,)))


def _bootstrap(change: Callable[[bytes], bytes], kind: str) -> Callable[[Cluster], Planted]:
    """The bootstrap.checkpoint of a broker's second disk, which has no metadata log."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.node(11) / "data1" / BOOTSTRAP_CHECKPOINT
        path.write_bytes(change(path.read_bytes()))
        return Planted(kind, 11, path)

    return plant


def unreadable_second_bootstrap(cluster: Cluster) -> Planted:
    """A directory in place of that bootstrap.checkpoint."""
    path = cluster.node(11) / "data1" / BOOTSTRAP_CHECKPOINT
    path.unlink()
    path.mkdir()
    return Planted("unreadable_file", 11, path, also=frozenset({"strange_directory"}))


def _link_to_nothing(name: str) -> Callable[[Cluster], Planted]:
    """A dangling link in place of a file on a broker's disk, or in a partition's directory there."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.disk(11) / name
        if name == EPOCH_FILE:
            path = next(iter(sorted(cluster.disk(11).glob("[a-z]*-0/partition.metadata")))).with_name(name)
        path.unlink(missing_ok=True)
        path.symlink_to("gone")
        return Planted("unreadable_file", 11, path)

    return plant


def grown_index(cluster: Cluster) -> Planted:
    """An index of 100 MiB, with zeros after its entries."""
    path = cluster.segment(2).with_suffix(".index")
    os.truncate(path, 100 << 20)
    return Planted("index_wrong", 2, path, 0, 0)


def _ends_of_lines(kind: str, end: str, key: str) -> Callable[[Cluster], Planted]:
    """A meta.properties with something other than a line's end before one of its keys."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.disk(2) / META_PROPERTIES_FILE
        data = path.read_bytes()
        assert b"\n" + key.encode() in data
        path.write_bytes(data.replace(b"\n" + key.encode(), (end + key).encode("latin-1")))
        return Planted(kind, 2, path)

    return plant


def _pipe(name: str) -> Callable[[Cluster], Planted]:
    """A pipe, without a writer, in place of a broker's file."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.disk(11) / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        return Planted("unreadable_file", 11, path)

    return plant


def _grown(name: str, node_id: int, also: frozenset[str] = frozenset()) -> Callable[[Cluster], Planted]:
    """A file that is 100 MiB of zeros."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.disk(node_id) / name
        path.write_bytes(b"")
        os.truncate(path, 100 << 20)
        return Planted("corrupt_file", node_id, path, also=also)

    return plant


_RUBBISH = {
    "rubbish": "\0" * 40,
    "of_version_1": "1\n0\n",
    "without_version": "orders 0 3\n",
    "without_count": "0\n",
    "count_no_number": "0\none\norders 0 3\n",
    "count_negative": "0\n-1\n",
    "count_too_high": "0\n2\norders 0 3\n",
    "count_too_low": "0\n1\norders 0 3\norders 1 3\n",
    "cut": "0\n1\norders 0 3",
    "line_of_two": "0\n1\norders 3\n",
    "line_of_four": "0\n1\norders 0 3 4\n",
    "line_of_no_topic": "0\n1\nor/ders 0 3\n",
    "partition_negative": "0\n1\norders -1 3\n",
    "partition_too_high": "0\n1\norders 2147483648 3\n",
    "offset_no_number": "0\n1\norders 0 three\n",
    "offset_too_high": "0\n1\norders 0 9223372036854775808\n",
    "offset_negative": "0\n1\norders 0 -3\n",
    "twice": "0\n2\norders 0 3\norders 0 4\n",
    "vertical_tab": "0\n1\norders 0\v3\n",
}

_NO_EPOCHS = {
    "cut": '{"version":0,"brokerEp',
    "of_no_epoch": '{"version":0}',
    "of_a_newer_version": '{"version":1,"brokerEpoch":5}',
    "below_any_epoch": '{"version":0,"brokerEpoch":-2}',
    "behind_the_end": '{"version":0,"brokerEpoch":99999}',
}
_READ_ON_DISKS = (*_OFFSET_FILES, CLEAN_SHUTDOWN_FILE, JOURNAL_FILE)
_IN_THE_LOG = (QUORUM_STATE_FILE, PARTITION_METADATA_FILE, EPOCH_FILE)
SMALL_FILE_DAMAGE = [
    *(Damage(f"pipe_as_{name}", "failovers", _pipe(name)) for name in _READ_ON_DISKS),
    *(Damage(f"grown_{name}", "failovers", _grown(name, 11)) for name in _READ_ON_DISKS),
    *(Damage(f"grown_{name}", "basic", _grown(f"{METADATA_DIRECTORY}/{name}", 2)) for name in _IN_THE_LOG),
    Damage(f"grown_{META_PROPERTIES_FILE}", "basic", _grown(META_PROPERTIES_FILE, 2)),
    *(Damage(f"offsets_{name}", "basic", _offsets(content)) for name, content in _RUBBISH.items()),
    *(Damage(f"rubbish_in_{name}", "basic", _offsets("0\n7\n", name)) for name in _OFFSET_FILES),
    *(Damage(f"clean_shutdown_{name}", "basic", _clean_shutdown(said)) for name, said in _NO_EPOCHS.items()),
    Damage("grown_index", "basic", grown_index),
    *(Damage(f"link_to_nothing_{name}", "basic", _link_to_nothing(name)) for name in (*_OFFSET_FILES, EPOCH_FILE)),
    Damage("second_bootstrap_flipped", "every-record", _bootstrap(_with_a_flip, "corrupt_batch")),
    Damage("second_bootstrap_cut", "every-record", _bootstrap(lambda data: data[:-9], "checkpoint_incomplete")),
    Damage("second_bootstrap_empty", "every-record", _bootstrap(lambda data: b"", "checkpoint_incomplete")),
    Damage("second_bootstrap_unreadable", "every-record", unreadable_second_bootstrap),
    Damage("properties_vertical_tab", "basic", _ends_of_lines("corrupt_file", "\v", "cluster.id")),
    Damage("properties_file_separator", "basic", _ends_of_lines("corrupt_file", "\x1c", "cluster.id")),
    Damage("properties_next_line", "basic", _ends_of_lines("corrupt_file", "\x85", "cluster.id")),
    Damage("properties_next_line_before_id", "basic", _ends_of_lines("corrupt_file", "\x85", "directory.id")),
    Damage("properties_separator_behind_end", "basic", _ends_of_lines("corrupt_file", "\n\x1c", "cluster.id")),
]
