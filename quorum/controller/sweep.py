"""Topics that are still to be looked at, so that a long piece of work can be done over several turns.

Decides nothing about topics: it only remembers the place. A turn that changed a hundred thousand partitions at once
would keep everybody else waiting for seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.ids import DirectoryId, TopicId
from metadata_log.image import MetadataImage, TopicImage


class Sweep:
    """A list of topics with a place in it. The list may grow at its end meanwhile: what comes is looked at too."""

    __slots__ = ("_position", "topic_ids")

    def __init__(self, topic_ids: Sequence[TopicId]) -> None:
        self.topic_ids = topic_ids
        self._position = 0

    def remaining(self, image: MetadataImage, most_partitions: int) -> Iterator[TopicImage]:
        """The topics from the place on that still exist, until so many partitions have been seen in them; taking one
        moves the place past it. One that is listed twice is given once: all of it is looked at in one image."""
        by_id = image.topics.by_id
        given: set[TopicId] = set()
        seen = 0
        while self._position < len(self.topic_ids) and seen < most_partitions:
            topic_id = self.topic_ids[self._position]
            topic = by_id.get(topic_id)
            self._position += 1
            seen += 1
            if topic is not None and topic_id not in given:
                given.add(topic_id)
                seen += len(topic.partitions)
                yield topic

    @property
    def is_done(self) -> bool:
        """Whether no topic is left."""
        return self._position >= len(self.topic_ids)


class Loss(msgspec.Struct, kw_only=True, gc=False):
    """A live broker's replicas in directories that it has lost leave ISRs and leadership, topic by topic (KIP-858)."""

    sweep: Sweep
    broker_epoch: int
    """Of the process that lost them."""
    directories: frozenset[DirectoryId]


class CleanUp(msgspec.Struct, kw_only=True, gc=False):
    """What a process that has died leaves behind is done away with, topic by topic."""

    sweep: Sweep
    is_unclean: bool
    """It may have lost what it had acknowledged, so that it leaves every ELR too (KIP-966)."""


class Unregistration(msgspec.Struct, kw_only=True, gc=False):
    """A broker leaves the cluster, topic by topic; its registration goes last."""

    sweep: Sweep
    broker_epoch: int
    """Of the registration that shall go."""
