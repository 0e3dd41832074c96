"""Rules for topic ids and names: which are taken, and which were removed.

Decides: whether a topic may get an id and a name, and whether a record may refer to a topic. Must not know: partitions,
and how records are replayed.

Source: KIP-516 (an id is assigned once, forever), and TopicsDelta of Kafka's controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from metadata_log.ids import METADATA_TOPIC_ID, ZERO_TOPIC_ID, TopicId, id_text
from metadata_log.image import MetadataImage
from metadata_log.records import PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from metadata_log.tools.findings.facts import InvalidTopicName, NullTopicId, SentinelTopicId
from metadata_log.tools.rules.place import Place
from metadata_log.tools.rules.topics import AddFinding
from metadata_log.topic_names import may_collide, name_fault, unified


class KnownTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A topic by its TopicRecord. `where`: words for its place; `offset`: in the log (-1: in a checkpoint).

    `removed`: words for the place of its removal, if known.
    """

    name: str
    where: str
    offset: int = -1
    removed: str = ""


class TopicIds:
    """Checks the topic ids in one log's or one checkpoint's records, in order."""

    def __init__(self, add: AddFinding) -> None:
        self._add = add
        self._collisions = NameCollisions()
        self._live: dict[TopicId, KnownTopic] = {}
        self._removed: dict[TopicId, KnownTopic] = {}
        self._refused: dict[TopicId, KnownTopic] = {}
        """Topics whose name was taken: the log assigned the id, and replay leaves the topic out."""
        self._names: dict[str, TopicId] = {}
        self._before: tuple[dict[TopicId, KnownTopic], dict[TopicId, KnownTopic]] | None = None

    @property
    def names(self) -> Mapping[str, TopicId]:
        """Return the ids of the present topics, by name."""
        return self._names

    def known(self, topic_id: TopicId) -> KnownTopic | None:
        """Return the topic that was assigned this id, or None: present, removed, or left out because its name was
        taken."""
        return self._live.get(topic_id) or self._removed.get(topic_id) or self._refused.get(topic_id)

    def is_refused(self, topic_id: TopicId) -> bool:
        """Return True if a record assigned this id, and replay leaves the topic out."""
        return topic_id in self._refused and topic_id not in self._live

    def removed(self) -> Iterable[KnownTopic]:
        """Return all removed topics."""
        return self._removed.values()

    def start(self, image: MetadataImage, where: str, *, is_gap: bool) -> None:
        """Continue from `image`; `where`: words for its place.

        `is_gap`: records before it are missing, and one of them removed each known topic that the image lacks.
        """
        topics = image.topics.by_id
        if is_gap:
            self._removed.update((topic_id, topic) for topic_id, topic in self._live.items() if topic_id not in topics)
        self._live = {topic_id: KnownTopic(name=topic.name, where=where) for topic_id, topic in topics.items()}
        self._names = {topic.name: topic_id for topic_id, topic in topics.items()}
        self._collisions.forget()

    def begin(self) -> None:
        """Begin a metadata transaction."""
        self._before = (dict(self._live), dict(self._removed))

    def abort(self) -> None:
        """Discard all changes since `begin`."""
        if self._before is not None:
            self._live, self._removed = self._before
        self._collisions.forget()
        self._names = {topic.name: topic_id for topic_id, topic in self._live.items()}

    def on_topic(self, record: TopicRecord, offset: int, place: Place, *, is_migrated: bool) -> bool:
        """Take a new topic, and return True if it may be created. `is_migrated`: it may come from ZooKeeper."""
        topic_id, name = record.topic_id, record.name
        earlier = self.known(topic_id)
        named = self._names.get(name)
        where = place.file if place.offsets_are_own else f"offset {offset}"
        if topic_id == ZERO_TOPIC_ID:
            self._add(*NullTopicId(topic=name).worded(), offset, place, topic_id)
        elif topic_id == METADATA_TOPIC_ID:
            self._add(*SentinelTopicId(topic=name).worded(), offset, place, topic_id)
        elif earlier is not None:
            meaning = f"topic {name!r} is given an id that {earlier.name!r} was given at {earlier.where}"
            self._add("topic_id_reused", meaning, offset, place, topic_id)
        elif named is not None:
            meaning = f"topic {name!r} is created again, though its id {id_text(named)} was not removed"
            self._add("topic_name_reused", meaning, offset, place, topic_id)
            at = -1 if place.offsets_are_own else offset
            self._refused[topic_id] = KnownTopic(name=name, where=where, offset=at)
        else:
            why = name_fault(name)
            if why is not None:
                self._add(*InvalidTopicName(fault=why).worded(), offset, place, topic_id)
            if not (place.offsets_are_own or is_migrated):  # a checkpoint's topics may be older than the rule
                self._check_collision(name, topic_id, offset, place)
            at = -1 if place.offsets_are_own else offset
            self._live[topic_id] = KnownTopic(name=name, where=where, offset=at)
            self._names[name] = topic_id
            return True
        return False

    def _check_collision(self, name: str, topic_id: TopicId, offset: int, place: Place) -> None:
        other = self._collisions.other(name, self._names)
        if other is not None:
            meaning = f"topic {name!r} is created beside {other!r}, and metrics count both as one"
            self._add("topic_name_collides", meaning, offset, place, topic_id)

    def on_use(
        self, record: PartitionRecord | PartitionChangeRecord | RemoveTopicRecord, offset: int, place: Place
    ) -> KnownTopic | None:
        """Return the topic to which a record refers, or None after reporting its absence. A RemoveTopicRecord removes
        it."""
        topic_id, what = record.topic_id, type(record).__name__
        topic = self._live.get(topic_id)
        if topic is None:
            removed = self._removed.get(topic_id)
            if removed is None:
                meaning = f"{what} names a topic id that no topic was given"
                self._add("unknown_topic", meaning, offset, place, topic_id)
            else:
                meaning = f"{what} names topic {removed.name!r}, which was removed{removed.removed}"
                self._add("change_after_removal", meaning, offset, place, topic_id)
        elif isinstance(record, RemoveTopicRecord):
            del self._live[topic_id]
            self._names.pop(topic.name, None)
            self._removed[topic_id] = msgspec.structs.replace(topic, removed=f" at offset {offset}")
        return topic


class NameCollisions:
    """The topic names seen so far, by their form in metrics. The caller knows which of them are still present."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] | None = None

    def forget(self) -> None:
        """Forget all names, because others are present now."""
        self._seen = None

    def other(self, name: str, names: Mapping[str, object]) -> str | None:
        """Return the first of the present `names` with which a new topic's name collides, or None."""
        if not may_collide(name):
            return None
        if self._seen is None:
            self._seen = {}
            for known in filter(may_collide, names):
                self._seen.setdefault(unified(known), set()).add(known)
        alike = self._seen.setdefault(unified(name), set())
        other = min((known for known in alike if known in names and known != name), default=None)
        alike.add(name)
        return other
