"""The cluster's topics as one answer told them: names and ids (KIP-516)."""

from __future__ import annotations

from collections.abc import Iterable

from metadata_log.ids import ZERO_TOPIC_ID, TopicId
from quorum.client.requests import DescribedTopic


class Cluster:
    """Immutable: what comes later is in the next one. `__cluster_metadata` is never among its topics."""

    def __init__(self, topics: Iterable[DescribedTopic]) -> None:
        self._by_name = {topic.name: topic for topic in topics if topic.name is not None}
        self._names = {topic.topic_id: name for name, topic in self._by_name.items()}

    def topics(self) -> frozenset[str]:
        """Every topic's name."""
        return frozenset(self._by_name)

    def topic_ids(self) -> frozenset[TopicId]:
        """Every topic's id."""
        return frozenset(self._names)

    def topic_id(self, name: str) -> TopicId:
        """The id of the topic of that name; the zero id where there is none."""
        topic = self._by_name.get(name)
        return ZERO_TOPIC_ID if topic is None else topic.topic_id

    def topic_name(self, topic_id: TopicId) -> str | None:
        """The name of the topic of that id; None where there is none."""
        return self._names.get(topic_id)

    def topic(self, name: str) -> DescribedTopic | None:
        """The description of the topic of that name; None where there is none."""
        return self._by_name.get(name)
