"""A broker's files of offsets and epochs against its replicas' data and the metadata.

Decides: when a replica cannot have an offset or an epoch. Must not know: which directories fit the metadata
(`placement` does). Of the data only the headers of the last batches are read.

- `recovery-point-offset-checkpoint`: all before the offset is durable. `replication-offset-checkpoint`: all before it
  is on every in-sync replica. A broker writes both when its log reaches further, and again when it truncates the log.
  So a log that ends before the offset has lost its end, or is older than the file.
- `leader-epoch-checkpoint`: a line is added with the first record of its epoch, or at the log's end by a new leader.
  The leader has the epoch from the metadata. So the metadata log once assigned that epoch, if the directory is of this
  cluster, and the log once reached the line's offset. A start removes lines from the log's end on (Kafka's LogLoader).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from metadata_log.errors import CorruptFileError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import FileHandle, read_small_file
from metadata_log.format.batch import MAGIC
from metadata_log.format.epoch_file import EPOCH_FILE, parse_epochs
from metadata_log.format.epochs import EpochStart
from metadata_log.ids import NodeId, id_text
from metadata_log.storage.segment import segment_bases, segment_file
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.partitions.broker_files import parse_offsets
from metadata_log.tools.partitions.directories import HeldPartitions
from metadata_log.tools.read.manifest import is_export
from metadata_log.tools.read.sources import LogDirectory, NodeSource
from metadata_log.tools.replicas.replica import Replica

_PROOFS: Final = {
    "recovery-point-offset-checkpoint": "all before it was made durable",
    "replication-offset-checkpoint": "all before it was on every replica in sync",
}
_HEAD: Final = struct.Struct(">qiib6xi")
"""A batch's base offset, length, leader epoch, magic and last offset delta; checksum and attributes are skipped."""
_LENGTH_FROM: Final = 12
_ENTRY: Final = struct.Struct(">ii")
"""An entry of an offset index: offset relative to the segment's base, position."""


def check_replica_logs(
    brokers: Sequence[NodeSource], held: HeldPartitions, newest: Replica | None
) -> Iterator[Finding]:
    """Yield a finding for each disk or partition whose files go beyond its replicas' logs, or beyond the metadata.

    The metadata is that of `newest`, at its end.
    """
    for node in brokers:
        sink = FindingSink(node.node_id)
        for disk in node.log_directories:
            if not is_export(disk.path):
                _check_offsets(disk, held, sink)
                _check_epoch_starts(disk, held, sink)
                _check_epochs(node, disk, held, newest, sink)
        yield from sink.findings


def _check_offsets(disk: LogDirectory, held: HeldPartitions, sink: FindingSink) -> None:
    directories = {
        (one.facts.topic_name, one.facts.partition): one.path
        for one in held.get(disk.path, ())
        if one.is_in_use and not one.facts.is_future
    }
    for name, proof in _PROOFS.items():
        file = disk.path / name
        try:
            offsets = parse_offsets(read_small_file(OsFiles(), str(file)), str(file))
        except (CorruptFileError, OSError):
            continue  # `broker_files` reports it
        for key, offset in sorted(offsets.items()):
            path = directories.get(key)
            end = None if path is None else log_end(path)
            if end is not None and offset > end:
                what = (
                    f"it has offset {offset} for {key[0]}-{key[1]}, by which {proof}, and the replica's log in "
                    f"{path} ends at {end}"
                )
                sink.add("offset_past_log", what, group=str(file), file=str(file), offset=offset)


def _check_epoch_starts(disk: LogDirectory, held: HeldPartitions, sink: FindingSink) -> None:
    """Compare the last line of each `leader-epoch-checkpoint` with the end of the replica's log."""
    for one in held.get(disk.path, ()):
        last = _last_line(one.path) if one.is_in_use else None
        end = None if last is None else log_end(one.path)
        if last is not None and end is not None and last.start_offset > end:
            what = (
                f"it says that leader epoch {last.epoch} began at offset {last.start_offset}, which the replica's log "
                f"once reached, and the log in {one.path} ends at {end}; a start removes that line"
            )
            sink.add("offset_past_log", what, file=str(one.path / EPOCH_FILE), offset=int(last.start_offset))


def _check_epochs(
    node: NodeSource, disk: LogDirectory, held: HeldPartitions, newest: Replica | None, sink: FindingSink
) -> None:
    image = None if newest is None else newest.facts.image
    for one in held.get(disk.path, ()):
        facts = one.facts
        if newest is None or image is None or node.node_id is None or facts.topic_id is None or facts.partition is None:
            continue
        partition = image.topics.partition(facts.topic_id, facts.partition)
        if partition is None or not one.is_in_use or NodeId(node.node_id) not in partition.replicas:
            continue
        last = _last_line(one.path)
        epoch = None if last is None else int(last.epoch)
        if epoch is not None and epoch > partition.leader_epoch:
            what = (
                f"{facts.name} has records of leader epoch {epoch}, and the metadata up to offset "
                f"{newest.reach} knows none after {partition.leader_epoch}"
            )
            file, topic_id = str(one.path / EPOCH_FILE), id_text(facts.topic_id)
            sink.add("replica_epoch_ahead", what, file=file, epoch=epoch, topic_id=topic_id)


def _last_line(directory: Path) -> EpochStart | None:
    path = str(directory / EPOCH_FILE)
    try:
        data = read_small_file(OsFiles(), path)
        entries = parse_epochs(data, path).entries if data else ()
    except (CorruptFileError, OSError):
        return None  # `start_obstacles` reports it
    return entries[-1] if entries else None


def log_end(directory: Path) -> int | None:
    """Return one past the last record of a partition's log, or None without a log or with batches from before Kafka
    0.11.

    A torn tail does not count.
    """
    try:
        bases = segment_bases(os.listdir(directory))
        if not bases:
            return None
        base = int(bases[-1])
        handle = OsFiles().open(str(directory / segment_file(base)), read_only=True)
    except OSError:
        return None  # removed meanwhile, or unreadable: its end is unknown
    try:
        return _end_of(handle, base, _last_entry(directory, base, handle))
    except OSError:
        return None
    finally:
        handle.close()


def _end_of(handle: FileHandle, base: int, position: int) -> int | None:
    end, size = base, handle.size()
    while position + _HEAD.size <= size:
        first, length, _, magic, delta = _HEAD.unpack(handle.pread(_HEAD.size, position))
        following = position + _LENGTH_FROM + length
        if length <= 0 or following > size:
            break
        if magic != MAGIC:
            return None
        end, position = first + delta + 1, following
    return end


def _last_entry(directory: Path, base: int, log: FileHandle) -> int:
    """Return the position of the batch in the index's last entry, or 0 if there is no such batch."""
    try:
        handle = OsFiles().open(str(directory / segment_file(base, ".index")), read_only=True)
    except OSError:
        return 0
    try:
        low, high = 0, handle.size() // _ENTRY.size
        while low < high:  # binary search: a running broker's index ends with preallocated zeros
            middle = (low + high) // 2
            if _ENTRY.unpack(handle.pread(_ENTRY.size, middle * _ENTRY.size))[1]:
                low = middle + 1
            else:
                high = middle
        if not low:
            return 0
        above, position = _ENTRY.unpack(handle.pread(_ENTRY.size, (low - 1) * _ENTRY.size))
    finally:
        handle.close()
    if not 0 < position <= log.size() - _HEAD.size:
        return 0
    first, _, _, magic, delta = _HEAD.unpack(log.pread(_HEAD.size, position))
    return position if magic == MAGIC and first <= base + above <= first + delta else 0
