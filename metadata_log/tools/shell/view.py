"""The shell's view: the image at one offset. A large checkpoint's topics are decoded on access.

Decides: which topics the log after the checkpoint changes. These are decoded at once and replayed upon; the others stay
bytes. Must not know: commands and paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import msgspec

from metadata_log.errors import UnknownRecordError
from metadata_log.format.batch import batch_values
from metadata_log.ids import TopicId
from metadata_log.image import ImageBuilder, Map, MetadataImage, Replayer, ReplayError, TopicImage, TopicsImage
from metadata_log.image.hash import image_hash
from metadata_log.image.newer_release import newer_features
from metadata_log.records import ClearElrRecord, MetadataRecord, decode_record
from metadata_log.records.newer import NewerParts
from metadata_log.storage.checkpoint import read_checkpoint
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.history import LogHistory, State
from metadata_log.tools.read.quorum import Quorum, quorum_of
from metadata_log.tools.shell.lazy_checkpoint import LazyCheckpoint


class View:
    """The metadata at one offset. `image` lacks the topics that are still bytes; `whole` has all."""

    def __init__(self, state: State, lazy: LazyCheckpoint | None = None, decoded: frozenset[TopicId] | None = None):
        self._state = state
        self._lazy = lazy
        self._decoded = decoded or frozenset()

    @property
    def image(self) -> MetadataImage:
        return self._state.image

    @property
    def quorum(self) -> Quorum:
        return self._state.quorum

    @property
    def newer(self) -> NewerParts:
        """Return all parts of a later release, which are not shown."""
        return self._state.newer

    @property
    def end(self) -> int:
        return self._state.end

    def named(self, name: str) -> TopicImage | None:
        """Return the topic of this name, or None."""
        topic = self.image.topics.named(name)
        if topic is not None or self._lazy is None:
            return topic
        topic = self._lazy.named(name)
        return None if topic is None or topic.topic_id in self._decoded else topic

    def topic(self, topic_id: TopicId) -> TopicImage | None:
        """Return the topic with this id, or None."""
        topic = self.image.topics.topic(topic_id)
        if topic is not None or self._lazy is None or topic_id in self._decoded:
            return topic
        return self._lazy.topic(topic_id)

    @cached_property
    def topics(self) -> dict[str, TopicId]:
        """Return all topics' ids by name."""
        lazy = {} if self._lazy is None else self._lazy.names
        names = {name: topic_id for name, topic_id in lazy.items() if topic_id not in self._decoded}
        return names | dict(self.image.topics.by_name.items())

    @cached_property
    def whole(self) -> MetadataImage:
        """Return the image with every topic."""
        if self._lazy is None:
            return self.image
        by_id = {topic_id: topic for topic_id in self.topics.values() if (topic := self.topic(topic_id)) is not None}
        topics = TopicsImage(by_id=Map(by_id), by_name=Map(self.topics))
        return msgspec.structs.replace(self.image, topics=topics)

    @property
    def hash(self) -> str:
        """Return the image hash, in hexadecimal."""
        return image_hash(self.whole, self.quorum.kraft_version, self.quorum.voters).hex


def view_at(history: LogHistory, end: int | None = None) -> View:
    """Return the last view that ends at or before `end`; by default that of the whole log.

    Raises:
        HistoryError: the files begin later, or are damaged.
        CorruptFileError, ReplayError, RecordError: a checkpoint or a batch is damaged.
    """
    origin = history.origin(end)
    if origin is None:
        return View(history.state_at(end))
    checkpoint = read_checkpoint(history.files, str(origin[1]))
    lazy = LazyCheckpoint(checkpoint)
    tail = list(_tail(history, int(origin[0].offset), end))
    touched = _touched(lazy, tail)
    if touched is None:
        return View(history.state_at(end))
    builder = ImageBuilder(MetadataImage.empty())
    try:
        for record in lazy.others():
            builder.apply(record, 0)
    except (UnknownRecordError, ReplayError):
        return View(history.state_at(end))
    image = builder.build(origin[0].offset, origin[0].epoch, checkpoint.header.last_contained_log_timestamp)
    if newer_features(image.features):
        return View(history.state_at(end))
    state = State(
        replayer=Replayer.start(_with_topics(image, [lazy.topic(topic_id) for topic_id in touched])),
        quorum=quorum_of(checkpoint),
    )
    for batch in tail:
        state = state.after(batch)
    return View(state, lazy, frozenset(touched))


def _tail(history: LogHistory, start: int, end: int | None) -> Iterator[LocatedBatch]:
    for batch in history.batches(start):
        if end is not None and batch.header.next_offset > end:
            return
        yield batch
        if batch.header.next_offset == end:  # read no further: the rest may be damaged
            return


def _touched(lazy: LazyCheckpoint, tail: Iterable[LocatedBatch]) -> set[TopicId] | None:
    """Return the ids of the topics that these batches change, or None if any topic may be changed."""
    found: set[TopicId] = set()
    for batch in tail:
        if batch.header.is_control:
            continue
        for value in batch_values(batch.buffer, batch.header, batch.at):
            try:
                record = decode_record(value)
            except UnknownRecordError:
                return None
            if isinstance(record, ClearElrRecord):
                topic = lazy.named(record.topic_name) if record.topic_name else None
                if not record.topic_name:
                    return None
                found |= set() if topic is None else {topic.topic_id}
            else:
                found |= _topic_of(record)
    return found


def _topic_of(record: MetadataRecord) -> set[TopicId]:
    topic_id = getattr(record, "topic_id", None)
    return set() if topic_id is None else {topic_id}


def _with_topics(image: MetadataImage, topics: Iterable[TopicImage | None]) -> MetadataImage:
    known = [topic for topic in topics if topic is not None]
    return msgspec.structs.replace(
        image,
        topics=TopicsImage(
            by_id=Map({topic.topic_id: topic for topic in known}),
            by_name=Map({topic.name: topic.topic_id for topic in known}),
        ),
    )
