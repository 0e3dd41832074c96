"""The content of a stopped replica's files, or of an export, read from the disk without any node's help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import batch_values
from metadata_log.ids import NodeId, TopicId
from metadata_log.image import MetadataImage, Replayer
from metadata_log.records import TopicRecord, decode_record
from metadata_log.storage.segment import LocatedBatch, segment_bases, segment_file
from metadata_log.tools.read.contents import control_facts
from metadata_log.tools.read.scan import Fault, scan
from quorum.cli.demo.story import CheckFailedError


class FoundTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A TopicRecord in a log: its offset, and the base offset and end (exclusive) of the batch that holds it."""

    name: str
    topic_id: TopicId
    offset: int
    batch_start: int
    batch_end: int


class ReplicaFiles:
    """The metadata log in one directory. An unfinished write at its end is ignored.

    Raises:
        CheckFailedError: the log has any other damage.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.batches = tuple(_batches(directory))
        """All batches in order, with their bytes."""

    @property
    def end_offset(self) -> int:
        """The offset after the last record."""
        return self.batches[-1].header.next_offset if self.batches else 0

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, or -1."""
        return self.batches[-1].header.partition_leader_epoch if self.batches else -1

    def image(self) -> MetadataImage:
        """Return the image after a replay of the whole log."""
        replayer = Replayer.start(MetadataImage.empty())
        for batch in self.batches:
            header = batch.header
            values = [] if header.is_control else batch_values(batch.buffer, header, batch.at)
            replayer = replayer.on_batch(header, values)
        return replayer.image

    def topics(self) -> Iterator[FoundTopic]:
        """Yield every TopicRecord, also of topics that were deleted later."""
        for batch in self.batches:
            header = batch.header
            if header.is_control:
                continue
            for number, value in enumerate(batch_values(batch.buffer, header, batch.at)):
                record = decode_record(value)
                if isinstance(record, TopicRecord):
                    yield FoundTopic(
                        name=record.name,
                        topic_id=record.topic_id,
                        offset=header.base_offset + number,
                        batch_start=header.base_offset,
                        batch_end=header.next_offset,
                    )

    def leaders(self) -> dict[int, set[NodeId]]:
        """Return the leaders of each epoch in the LeaderChange records."""
        found: dict[int, set[NodeId]] = {}
        for batch in self.batches:
            if batch.header.is_control:
                leader_id = control_facts(batch).leader_id
                if leader_id is not None:
                    found.setdefault(batch.header.partition_leader_epoch, set()).add(NodeId(leader_id))
        return found

    def first_difference(self, other: ReplicaFiles) -> int | None:
        """Return the first offset whose batch the other log does not have, or None if it has all batches."""
        theirs = {batch.header.base_offset: _content(batch) for batch in other.batches}
        for batch in self.batches:
            if theirs.get(batch.header.base_offset) != _content(batch):
                return int(batch.header.base_offset)
        return None


def _content(batch: LocatedBatch) -> bytes:
    return bytes(batch.buffer[batch.at : batch.at + batch.header.size_in_bytes])


def _batches(directory: Path) -> Iterator[LocatedBatch]:
    files = OsFiles()
    for base in segment_bases(files.listdir(str(directory))):
        path = str(directory / segment_file(base))
        with closing(files.open(path, read_only=True)) as handle:
            for found in scan(handle):
                if isinstance(found, LocatedBatch):
                    yield found
                elif found.fault is Fault.TORN:
                    return
                else:
                    raise CheckFailedError(f"{path} is damaged at byte {found.position}: {found.what}")
