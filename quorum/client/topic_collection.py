"""A collection of topic ids or of topic names, never of both (KIP-516). Duplicates count once, as in Kafka's Admin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metadata_log.ids import ID_BYTES, InvalidIdError, TopicId


class TopicCollection:
    """Topics by id or by name, made by `of_topic_ids` or `of_topic_names`."""

    @staticmethod
    def of_topic_ids(topic_ids: Iterable[TopicId]) -> TopicIdCollection:
        """Return a collection of topics by id, 16 bytes each. `parse_topic_id` parses an id's text.

        Raises:
            InvalidIdError: an id is not 16 bytes long.
        """
        ids = tuple(dict.fromkeys(topic_ids))
        for topic_id in ids:
            if not isinstance(topic_id, bytes) or len(topic_id) != ID_BYTES:
                raise InvalidIdError(
                    f"{topic_id!r} is not a topic id of {ID_BYTES} bytes: parse a text with parse_topic_id"
                )
        return TopicIdCollection(ids)

    @staticmethod
    def of_topic_names(names: Iterable[str]) -> TopicNameCollection:
        """Return a collection of topics by name.

        Raises:
            TypeError: `names` is a bare string, or an item is not a string.
        """
        if isinstance(names, str):
            raise TypeError(f"{names!r} is no collection of names: write [{names!r}]")
        found = tuple(dict.fromkeys(names))
        for name in found:
            if not isinstance(name, str):
                raise TypeError(f"{name!r} is not a topic's name: ids go to of_topic_ids")
        return TopicNameCollection(found)


@dataclass(frozen=True)
class TopicIdCollection(TopicCollection):
    """Topics by id, each once, in order."""

    topic_ids: tuple[TopicId, ...]


@dataclass(frozen=True)
class TopicNameCollection(TopicCollection):
    """Topics by name, each once, in order."""

    topic_names: tuple[str, ...]
