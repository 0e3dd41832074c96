"""Which topics are meant: a collection of ids or one of names, never of both (KIP-516).

Decides: what may stand in one. An id or a name that is there twice is meant once, as in Kafka's Admin.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metadata_log.ids import ID_BYTES, InvalidIdError, TopicId


class TopicCollection:
    """Topics by id or by name: make one by `of_topic_ids` or `of_topic_names`."""

    @staticmethod
    def of_topic_ids(topic_ids: Iterable[TopicId]) -> TopicIdCollection:
        """Those of these ids (16 bytes each; `parse_topic_id` reads an id's text).

        Raises:
            InvalidIdError: one is not 16 bytes.
        """
        ids = tuple(dict.fromkeys(topic_ids))
        for topic_id in ids:
            if not isinstance(topic_id, bytes) or len(topic_id) != ID_BYTES:
                raise InvalidIdError(
                    f"{topic_id!r} is not a topic id of {ID_BYTES} bytes: read a text by parse_topic_id"
                )
        return TopicIdCollection(ids)

    @staticmethod
    def of_topic_names(names: Iterable[str]) -> TopicNameCollection:
        """Those of these names.

        Raises:
            TypeError: one name is given where several are meant, or something that is no name.
        """
        if isinstance(names, str):
            raise TypeError(f"one name is no collection of names: write [{names!r}]")
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
