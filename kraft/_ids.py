"""Topic ids whose text is Kafka's, and partitions named by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from metadata_log.ids import ID_BYTES, InvalidIdError, id_text, parse_id

if TYPE_CHECKING:
    from metadata_log.ids import TopicId
    from quorum.api.topics import DescribedTopic
else:

    class TopicId(bytes):
        """A topic's id: 16 bytes, whose `str` is Kafka's text. A type checker sees the type of all ids in results."""

        __slots__ = ()

        def __new__(cls, value: bytes) -> TopicId:
            """Return the id of these 16 bytes.

            Raises:
                InvalidIdError: `value` is a text, or not 16 bytes.
            """
            if not isinstance(value, bytes) or len(value) != ID_BYTES:
                raise InvalidIdError(
                    f"{value!r} is not a topic id of {ID_BYTES} bytes: parse a text with parse_topic_id"
                )
            return super().__new__(cls, value)

        def __str__(self) -> str:
            return id_text(self)

        def __repr__(self) -> str:
            return f"TopicId({id_text(self)!r})"


__all__ = ["TopicId", "TopicIdPartition", "parse_topic_id"]


def parse_topic_id(text: str) -> TopicId:
    """Return the id of a text of 22 characters, URL-safe base64.

    Raises:
        InvalidIdError: `text` is no id.
    """
    return TopicId(parse_id(text))


class TopicIdPartition(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A partition of a topic that is named by its id, too, as Kafka's TopicIdPartition.

    Another topic may take the name later; its id differs.
    """

    topic_id: TopicId
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{id_text(self.topic_id)}:{self.topic}-{self.partition}"

    @classmethod
    def of_topic(cls, topic: DescribedTopic) -> tuple[TopicIdPartition, ...]:
        """Return all partitions of a described topic, in their order.

        Raises:
            ValueError: the topic was not found, so that it has no name.
        """
        if topic.name is None:
            raise ValueError(f"topic id {id_text(topic.topic_id)}: {topic.error.name}, so it has no partitions")
        topic_id, name = TopicId(topic.topic_id), topic.name
        return tuple(
            cls(topic_id=topic_id, topic=name, partition=partition.partition_index) for partition in topic.partitions
        )
