"""The committed log, replayed once: every replica's image and every response is compared with it.

Must not know: which replica committed it.
"""

from __future__ import annotations

from bisect import bisect_right

from metadata_log.format.batch import BatchHeader, batch_records, batch_values
from metadata_log.ids import TopicId, Uuid
from metadata_log.image import MetadataImage
from metadata_log.image.replayer import Replayer, decode_values
from metadata_log.records import RegisterBrokerRecord, RemoveTopicRecord, TopicRecord, VotersRecord, decode_control
from metadata_log.voters import VoterHistory, VoterSet
from tests.simulation.checkers.partitions import check_partitions
from tests.simulation.checkers.topic_ids import TopicIds


class Reference:
    """The replay of one scenario.

    Attributes:
        created, deleted: offset of the record that did it, by topic id.
    """

    def __init__(self, topic_ids: TopicIds) -> None:
        self._topic_ids = topic_ids
        self._replayer = Replayer.start(MetadataImage.empty())
        self._images: dict[int, MetadataImage] = {0: MetadataImage.empty()}
        self._names: dict[TopicId, str] = {}
        self._history: dict[str, tuple[list[int], list[TopicId | None]]] = {}
        self._voters = VoterHistory()
        self.created: dict[TopicId, int] = {}
        self.deleted: dict[TopicId, int] = {}
        self._registered: dict[Uuid, int] = {}

    @property
    def end(self) -> int:
        """Return the end of the replayed log."""
        return self._replayer.end.offset

    @property
    def image(self) -> MetadataImage:
        """Return the image at the end."""
        return self._replayer.image

    def on_batch(self, header: BatchHeader, data: bytes) -> None:
        """Replay the next committed batch."""
        if header.is_control:
            self._note_voters(header, data)
        records = [] if header.is_control else decode_values(batch_values(data, header), header.base_offset)
        before = self._replayer.image
        self._replayer = self._replayer.on_records(
            records,
            base_offset=header.base_offset,
            next_offset=header.next_offset,
            epoch=header.partition_leader_epoch,
            timestamp_ms=header.max_timestamp,
        )
        self._images[header.next_offset] = self._replayer.image
        check_partitions(before, self._replayer.image, records)
        for at, record in enumerate(records):
            offset = header.base_offset + at
            if type(record) is TopicRecord:
                self._topic_ids.on_topic(record.topic_id, record.name, offset)
                self._names[record.topic_id] = record.name
                self.created[record.topic_id] = offset
                self._note(record.name, offset, record.topic_id)
            elif type(record) is RemoveTopicRecord:
                self.deleted[record.topic_id] = offset
                self._note(self._names[record.topic_id], offset, None)
            elif type(record) is RegisterBrokerRecord:
                self._registered.setdefault(record.incarnation_id, offset)

    def _note_voters(self, header: BatchHeader, data: bytes) -> None:
        for record in batch_records(data, header):
            control = decode_control(record.key or b"", record.value or b"")
            if isinstance(control, VotersRecord):
                self._voters = self._voters.append(record.offset, VoterSet.from_record(control))

    def voters_at(self, offset: int) -> VoterSet | None:
        """Return the voter set of the last committed VotersRecord before `offset`."""
        return self._voters.carried_at(offset)  # type: ignore[arg-type]

    def had_registered(self, incarnation_id: Uuid, offset: int) -> bool:
        """Return True if a record before `offset` registered this process of a broker, even if it was unregistered
        since."""
        return self._registered.get(incarnation_id, offset) < offset

    def _note(self, name: str, offset: int, topic_id: TopicId | None) -> None:
        offsets, ids = self._history.setdefault(name, ([], []))
        offsets.append(offset)
        ids.append(topic_id)

    def image_at(self, offset: int) -> MetadataImage | None:
        """Return the image of the log before `offset`, if a batch ends there."""
        return self._images.get(offset)

    def topic_at(self, name: str, offset: int) -> TopicId | None:
        """Return the topic of that name after all records before `offset`."""
        offsets, ids = self._history.get(name, ([], []))
        at = bisect_right(offsets, offset - 1) - 1
        return ids[at] if at >= 0 else None
