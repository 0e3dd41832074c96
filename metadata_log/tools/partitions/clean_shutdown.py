"""The partitions that a broker had when it last shut down cleanly.

Decides: whether it did, and which replicas the broker got only after it had asked to shut down. Must not know: the
content of its disks.

At a clean shutdown a broker first asks its controller, then writes `replication-offset-checkpoint` a last time. Then it
writes `.kafka_cleanshutdown` with its epoch, which it removes at its next start (Kafka: `LogManager.shutdown`). So a
line of the offset file is of the topic that had the name when the broker asked. By then, the broker had renamed the
directories of any earlier topic of that name.
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
"""Second byte of the values of the three record types that are decoded."""


def was_stopped_cleanly(disks: Iterable[Path], broker_epoch: int) -> bool:
    """Return True if all of these disks state that the broker shut down cleanly in this registration."""
    return all(read_clean_shutdown(OsFiles(), str(disk)) == broker_epoch for disk in disks)


def given_since_shutdown(
    segments: Sequence[str], broker_id: NodeId, broker_epoch: int
) -> frozenset[tuple[TopicId, int]] | None:
    """Return the partitions whose replicas were assigned after the broker asked to shut down, or None if it never did.

    None, too, if such a record has a version of a later release.

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
