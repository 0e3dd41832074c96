"""Which ids and names topics were given, and which of them were removed.

Decides: whether a topic may be given an id and a name, and whether a record may name a topic. Must not know: what
topics consist of, and how records are replayed.

Source: KIP-516 (an id is given once, for ever), and TopicsDelta of Kafka's controller.
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
    """A topic as its TopicRecord made it; `where` says in words where, `offset` in the log (-1: in a checkpoint).

    `removed`: in words, where it was removed, if that is known.
    """

    name: str
    where: str
    offset: int = -1
    removed: str = ""


class TopicIds:
    """Takes the records of one log, or of one checkpoint, that are of topics, in order."""

    def __init__(self, add: AddFinding) -> None:
        self._add = add
        self._collisions = NameCollisions()
        self._live: dict[TopicId, KnownTopic] = {}
        self._removed: dict[TopicId, KnownTopic] = {}
        self._refused: dict[TopicId, KnownTopic] = {}
        """Those whose name another topic had: the log gave the id, and replay leaves it out."""
        self._names: dict[str, TopicId] = {}
        self._before: tuple[dict[TopicId, KnownTopic], dict[TopicId, KnownTopic]] | None = None

    @property
    def names(self) -> Mapping[str, TopicId]:
        """The ids of the topics that are there, by name."""
        return self._names

    def known(self, topic_id: TopicId) -> KnownTopic | None:
        """The topic that was given this id, there still or removed, or left out since its name was another's."""
        return self._live.get(topic_id) or self._removed.get(topic_id) or self._refused.get(topic_id)

    def is_refused(self, topic_id: TopicId) -> bool:
        """Return True if a record gave this id, and replay leaves the topic out."""
        return topic_id in self._refused and topic_id not in self._live

    def removed(self) -> Iterable[KnownTopic]:
        """All that were removed."""
        return self._removed.values()

    def start(self, image: MetadataImage, where: str, *, is_gap: bool) -> None:
        """Go on from `image`, which is found at `where`. `is_gap`: records before it are missing, so that what it lacks
        was removed by one of them."""
        topics = image.topics.by_id
        if is_gap:
            self._removed.update((topic_id, topic) for topic_id, topic in self._live.items() if topic_id not in topics)
        self._live = {topic_id: KnownTopic(name=topic.name, where=where) for topic_id, topic in topics.items()}
        self._names = {topic.name: topic_id for topic_id, topic in topics.items()}
        self._collisions.forget()

    def begin(self) -> None:
        """A metadata transaction begins."""
        self._before = (dict(self._live), dict(self._removed))

    def abort(self) -> None:
        """Nothing since `begin` has taken effect."""
        if self._before is not None:
            self._live, self._removed = self._before
        self._collisions.forget()
        self._names = {topic.name: topic_id for topic_id, topic in self._live.items()}

    def on_topic(self, record: TopicRecord, offset: int, place: Place, *, is_migrated: bool) -> bool:
        """Take a topic that is made; whether it may be. `is_migrated`: it may come from ZooKeeper."""
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
            if not (place.offsets_are_own or is_migrated):  # what a checkpoint has may be older than the rule
                self._check_collision(name, topic_id, offset, place)
            at = -1 if place.offsets_are_own else offset
            self._live[topic_id] = KnownTopic(name=name, where=where, offset=at)
            self._names[name] = topic_id
            return True
        return False

    def _check_collision(self, name: str, topic_id: TopicId, offset: int, place: Place) -> None:
        other = self._collisions.other(name, self._names)
        if other is not None:
            meaning = f"topic {name!r} is created beside {other!r}, which metrics take for the same"
            self._add("topic_name_collides", meaning, offset, place, topic_id)

    def on_use(
        self, record: PartitionRecord | PartitionChangeRecord | RemoveTopicRecord, offset: int, place: Place
    ) -> KnownTopic | None:
        """The topic that a record is of, and may remove; None where there is none, or none any more: that is found."""
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
    """The names seen so far, by what metrics make of them; which of them are there still, the caller says."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] | None = None

    def forget(self) -> None:
        """Other names are there now."""
        self._seen = None

    def other(self, name: str, names: Mapping[str, object]) -> str | None:
        """Which of `names`, all that are there, the name of a new topic collides with; the first of several."""
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
