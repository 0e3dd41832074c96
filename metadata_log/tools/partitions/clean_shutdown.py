"""What a broker had when it was last stopped in an orderly way.

Decides: whether it was, by the file that each of its disks has then, and which replicas it was given only after it
asked to be shut down. Must not know: what its disks hold.

A broker that is stopped so asks its controller first, writes `replication-offset-checkpoint` once more, and then
`.kafka_cleanshutdown` with its epoch, which it removes as it starts (Kafka: `LogManager.shutdown`). So a line of that
file is of the topic that had the name when the broker asked: by then it had set aside what an earlier one left.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from metadata_log.directory.clean_shutdown import CLEAN_SHUTDOWN_FILE, read_clean_shutdown
from metadata_log.errors import UnknownRecordError
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import batch_values
from metadata_log.ids import NodeId, TopicId
from metadata_log.records import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    decode_record,
)
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.log_reader import LogReader

__all__ = ["CLEAN_SHUTDOWN_FILE", "given_since_shutdown", "was_stopped_cleanly"]

_ASKED: Final = 1
_KEY_AT: Final = 1
_KEYS: Final = (3, 5, 17)
"""Of the three kinds of records that are looked at: a value's second byte."""


def was_stopped_cleanly(disks: Iterable[Path], broker_epoch: int) -> bool:
    """Whether all of these disks say that the broker was stopped so in this registration."""
    return all(read_clean_shutdown(OsFiles(), str(disk)) == broker_epoch for disk in disks)


def given_since_shutdown(
    segments: Sequence[str], broker_id: NodeId, broker_epoch: int
) -> frozenset[tuple[TopicId, int]] | None:
    """The partitions whose replicas were given anew after the broker asked to be shut down; None where it never did.

    None, too, where such a record is of a version that only a later release knows.

    Raises:
        OSError: a segment cannot be read.
    """
    with contextlib.suppress(UnknownRecordError):
        return _given_since_shutdown(segments, broker_id, broker_epoch)
    return None


def _given_since_shutdown(
    segments: Sequence[str], broker_id: NodeId, broker_epoch: int
) -> frozenset[tuple[TopicId, int]] | None:
    since: set[tuple[TopicId, int]] | None = None
    for record in _records(segments):
        if isinstance(record, BrokerRegistrationChangeRecord):
            if (record.broker_id, record.broker_epoch) == (broker_id, broker_epoch):
                since = set() if record.in_controlled_shutdown == _ASKED else since
        elif since is None:
            continue
        elif isinstance(record, PartitionRecord) or (
            isinstance(record, PartitionChangeRecord) and record.replicas is not None
        ):
            since.add((record.topic_id, record.partition_id))
    return None if since is None else frozenset(since)


def _records(segments: Sequence[str]) -> Iterator[MetadataRecord]:
    for found in LogReader(OsFiles(), segments).seen(runs=True):
        if isinstance(found, LocatedBatch) and not found.header.is_control:
            values = batch_values(found.buffer, found.header, found.at)
            yield from (decode_record(value) for value in values if value[_KEY_AT] in _KEYS)
