"""A large checkpoint that is not decoded as a whole: a topic is found among a million records by the bytes of its name.

Decides: where in the file a topic's records are. Must not know: commands, and the log after the checkpoint.

This relies on the order of a checkpoint, Kafka's and ours: features and nodes, then each topic followed by its
partitions, then everything else. If the first records of the batches show another order, all batches are decoded
instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final

from metadata_log.format.batch import HEADER_SIZE, batch_values
from metadata_log.ids import TopicId
from metadata_log.image import ImageBuilder, MetadataImage, TopicImage
from metadata_log.records import MetadataRecord, PartitionRecord, TopicRecord, decode_record
from metadata_log.storage.checkpoint import Checkpoint

_TOPIC: Final = TopicRecord.API_KEY
_OF_TOPICS: Final = frozenset({TopicRecord.API_KEY, PartitionRecord.API_KEY})


class LazyCheckpoint:
    """The topics of a checkpoint by name and id, decoded one by one, and its other records, decoded together."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._batches = [batch for batch in checkpoint.batches if not batch.header.is_control]
        self._topics: dict[TopicId, TopicImage] = {}

    def _values(self, index: int) -> list[bytes]:
        batch = self._batches[index]
        return batch_values(batch.buffer, batch.header, batch.at)

    @cached_property
    def _section(self) -> tuple[int, int]:
        """Return the first and the last batch with records of topics; `(0, -1)`, all batches, if the order is another
        one."""
        count = len(self._batches)
        first = next((at for at in range(count) if self._speaks_of_topics(at)), count)
        last = next((at for at in range(count - 1, first, -1) if self._speaks_of_topics(at)), first)
        inner = range(first + 1, last)
        in_order = all(self._first_key(at) in _OF_TOPICS for at in inner)
        return (first, last) if in_order else (0, -1)

    def _speaks_of_topics(self, index: int) -> bool:
        return any(value[1] in _OF_TOPICS for value in self._values(index))

    def _first_key(self, index: int) -> int:
        """Return the api key of a batch's first record, without decoding the batch."""
        batch = self._batches[index]
        position = batch.at + HEADER_SIZE
        while batch.buffer[position] & 0x80:  # the record's length
            position += 1
        position += 1 + 3 + 1  # past attributes, timestamp and offset delta (0 in the first record), null key
        while batch.buffer[position] & 0x80:  # the value's length
            position += 1
        return batch.buffer[position + 2]

    def others(self) -> Iterator[MetadataRecord]:
        """Yield every record except those of topics and partitions."""
        first, last = self._section
        for index in range(len(self._batches)):
            if first < index < last:
                continue
            for value in self._values(index):
                if value[1] not in _OF_TOPICS:
                    yield decode_record(value)

    def named(self, name: str) -> TopicImage | None:
        """Return the topic of this name, or None."""
        encoded = name.encode()
        return self._find(_uvarint(len(encoded) + 1) + encoded, lambda topic: topic.name == name)

    def topic(self, topic_id: TopicId) -> TopicImage | None:
        """Return the topic with this id, or None."""
        return self._topics.get(topic_id) or self._find(topic_id, lambda topic: topic.topic_id == topic_id)

    def _find(self, needle: bytes, is_it: Callable[[TopicRecord], bool]) -> TopicImage | None:
        for index, batch in enumerate(self._batches):
            if batch.buffer.find(needle, batch.at, batch.at + batch.header.size_in_bytes) < 0:
                continue
            for place, value in enumerate(self._values(index)):
                if value[1] == _TOPIC and needle in value:
                    record = decode_record(value)
                    if isinstance(record, TopicRecord) and is_it(record):
                        return self._decode(record, index, place)
        return None

    def _decode(self, topic: TopicRecord, index: int, place: int) -> TopicImage:
        builder = ImageBuilder(MetadataImage.empty())
        builder.apply(topic, 0)
        for value in self._after(index, place):
            record = decode_record(value)
            if not isinstance(record, PartitionRecord) or record.topic_id != topic.topic_id:
                break
            builder.apply(record, 0)
        image = builder.build(0, 0, -1).topics.by_id[topic.topic_id]
        self._topics[topic.topic_id] = image
        return image

    def _after(self, index: int, place: int) -> Iterator[bytes]:
        yield from self._values(index)[place + 1 :]
        for later in range(index + 1, len(self._batches)):
            yield from self._values(later)

    @cached_property
    def names(self) -> dict[str, TopicId]:
        """Return the ids of all topics by name, in the checkpoint's order. This takes about a second for a million
        records."""
        found: dict[str, TopicId] = {}
        for index in range(len(self._batches)):
            for value in self._values(index):
                if value[1] == _TOPIC:
                    record = decode_record(value)
                    if isinstance(record, TopicRecord):
                        found[record.name] = record.topic_id
        return found


def _uvarint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(written) + bytes((number,))
