"""A replica's own files, read with the codecs alone: every batch, leader, topic and epoch, and the image."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from metadata_log.directory.quorum_state import QuorumState, parse_quorum_state
from metadata_log.format.batch import BatchHeader, batch_records, batch_values, check_batch
from metadata_log.ids import TopicId
from metadata_log.image import MetadataImage, Replayer
from metadata_log.records import (
    LeaderChangeMessage,
    RemoveTopicRecord,
    TopicRecord,
    decode_control,
    decode_record,
)


@dataclass
class History:
    """A log from offset 0 on.

    Attributes:
        data: all segments' bytes, one after another.
        ends: the byte position after each batch, by the offset after it.
        leaders: (epoch, leader id) of each LeaderChange, in order.
        epochs: (epoch, start offset) of each epoch, from the batches' headers.
        created: (id, name) of each TopicRecord, in order.
        created_at: offset of each TopicRecord, by id.
        removed: ids of the RemoveTopicRecords; removed_at: the offset of each, by id.
        shown: the image after the last batch that is not a control batch, which Kafka's shell shows as the end.
    """

    directory: Path
    data: bytes = b""
    ends: dict[int, int] = field(default_factory=dict)
    leaders: list[tuple[int, int]] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    created: list[tuple[TopicId, str]] = field(default_factory=list)
    created_at: dict[TopicId, int] = field(default_factory=dict)
    removed: list[TopicId] = field(default_factory=list)
    removed_at: dict[TopicId, int] = field(default_factory=dict)
    replayer: Replayer = field(default_factory=lambda: Replayer.start(MetadataImage.empty()))

    shown: MetadataImage = field(default_factory=MetadataImage.empty)

    @property
    def image(self) -> MetadataImage:
        """Return the image at the log's end, committed or not."""
        return self.replayer.image

    @property
    def log_end_offset(self) -> int:
        return max(self.ends, default=0)

    def prefix(self, offset: int) -> bytes:
        """Return the bytes below `offset`, which must be a batch boundary."""
        return self.data[: self.ends[offset]] if offset else b""

    @property
    def quorum_state(self) -> QuorumState:
        path = self.directory / "quorum-state"
        return parse_quorum_state(path.read_bytes(), str(path))


def read_history(directory: Path) -> History:
    """Read and check every batch: checksums, offsets without a gap, epochs that never go back.

    Raises:
        MetadataLogError: something cannot be read or replayed.
        AssertionError: a batch is not where it must be.
    """
    data = b"".join(segment.read_bytes() for segment in sorted(directory.glob("*.log")))
    history = History(directory=directory, data=data)
    position, epoch = 0, -1
    while position < len(data):
        header = check_batch(data, position)
        assert header.base_offset == history.replayer.end.offset, (directory, position, header)
        assert header.partition_leader_epoch >= epoch, (directory, position, header)
        if header.partition_leader_epoch > epoch:
            epoch = header.partition_leader_epoch
            history.epochs.append((epoch, header.base_offset))
        _take(history, header, position)
        position += header.size_in_bytes
        history.ends[header.next_offset] = position
    return history


def _take(history: History, header: BatchHeader, position: int) -> None:
    values: list[bytes] = []
    if header.is_control:
        for record in batch_records(history.data, header, position):
            control = decode_control(record.key or b"", record.value or b"")
            if isinstance(control, LeaderChangeMessage):
                history.leaders.append((header.partition_leader_epoch, control.leader_id))
    else:
        values = batch_values(history.data, header, position)
    for offset, decoded in enumerate(map(decode_record, values), header.base_offset):
        if isinstance(decoded, TopicRecord):
            history.created.append((decoded.topic_id, decoded.name))
            history.created_at[decoded.topic_id] = offset
        elif isinstance(decoded, RemoveTopicRecord):
            history.removed.append(decoded.topic_id)
            history.removed_at[decoded.topic_id] = offset
    history.replayer = history.replayer.on_batch(header, values)
    if not header.is_control:
        history.shown = history.image
