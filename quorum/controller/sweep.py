"""Positions in lists of topics, with which long work continues over several turns.

A turn that changes a hundred thousand partitions at once would delay all requests for seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.ids import DirectoryId, TopicId
from metadata_log.image import MetadataImage, TopicImage


class Sweep:
    """A position in a list of topics. The list may grow at its end meanwhile; the sweep includes new entries."""

    __slots__ = ("_position", "topic_ids")

    def __init__(self, topic_ids: Sequence[TopicId]) -> None:
        self.topic_ids = topic_ids
        self._position = 0

    def remaining(self, image: MetadataImage, most_partitions: int) -> Iterator[TopicImage]:
        """Yield existing topics from the position on, up to so many partitions, and move the position.

        A topic that is listed twice is yielded once: the image does not change within a turn.
        """
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
        """True if no topic is left."""
        return self._position >= len(self.topic_ids)


class Loss(msgspec.Struct, kw_only=True, gc=False):
    """The removal of a live broker's replicas in lost directories from ISRs and leadership (KIP-858)."""

    sweep: Sweep
    broker_epoch: int
    """The broker epoch of the process that lost them."""
    directories: frozenset[DirectoryId]


class CleanUp(msgspec.Struct, kw_only=True, gc=False):
    """The removal of a dead process from ISRs, topic by topic."""

    sweep: Sweep
    is_unclean: bool
    """The process may have lost acknowledged records, so it leaves every ELR, too (KIP-966)."""


class Unregistration(msgspec.Struct, kw_only=True, gc=False):
    """The removal of a broker from the cluster, topic by topic; its registration is removed last."""

    sweep: Sweep
    broker_epoch: int
    """The broker epoch of the registration to remove."""
