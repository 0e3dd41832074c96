"""Topics that are still to be looked at, so that a long piece of work can be done over several turns.

Decides nothing about topics: it only remembers the place. A turn that changed a hundred thousand partitions at once
would keep everybody else waiting for seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metadata_log.ids import TopicId
from metadata_log.image import MetadataImage, TopicImage


class Sweep:
    """A list of topics with a place in it."""

    __slots__ = ("_position", "_topic_ids", "is_first_turn")

    def __init__(self, topic_ids: Sequence[TopicId]) -> None:
        self._topic_ids = topic_ids
        self._position = 0
        self.is_first_turn = True
        """Whether the list is as fresh as the image: topics made since it was drawn up are not on it."""

    def remaining(self, image: MetadataImage) -> Iterator[TopicImage]:
        """The topics from the place on that still exist; taking one moves the place past it."""
        by_id = image.topics.by_id
        while self._position < len(self._topic_ids):
            topic = by_id.get(self._topic_ids[self._position])
            self._position += 1
            if topic is not None:
                yield topic

    @property
    def is_done(self) -> bool:
        """Whether no topic is left."""
        return self._position >= len(self._topic_ids)
