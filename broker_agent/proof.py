"""The proof for moving and removing directories: the journal, and the image that the agent reconciles with.

Decides: which entries the journal gets, when they are void, and which staged replica may be removed. Must not know the
paths of directories. Its calls block on the journal's disk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import structlog

from broker_agent.journal import Journal, Replica
from broker_agent.reconciler import assigned
from broker_agent.storage import PartitionDirectory
from metadata_log.ids import NodeId, TopicId, id_text
from metadata_log.image import MetadataImage
from metadata_log.offsets import Offset

_QUARANTINED: Final = "directories that this log does not assign are quarantined, not deleted"

log = structlog.get_logger("broker_agent")


class Proof:
    """The evidence of one agent that a replica was assigned to it."""

    def __init__(self, journal: Journal, broker_id: NodeId) -> None:
        self.journal: Final = journal
        self._broker_id = broker_id
        self._image: MetadataImage | None = None
        """The image of the last `take`."""
        self._is_bound = False
        """True if that image knows the metadata topic's own id, to which the journal is then bound."""

    def open(self) -> None:
        """Log damage of the journal, and entries that are void because the metadata log is gone."""
        if self.journal.fault is not None:
            log.warning(
                "the agent's journal is damaged",
                why=self.journal.fault,
                what="stale directories of lost entries are quarantined, not deleted",
            )
        _say_gone(self.journal.void)

    def take(
        self,
        image: MetadataImage,
        topic_ids: Iterable[TopicId],
        present: Iterable[PartitionDirectory],
        removed: frozenset[TopicId],
        received_end: Offset | None,
    ) -> set[Replica]:
        """Enter assigned and removed replicas into the journal; return the assigned ones that are new to it.

        The caller makes or moves directories only afterwards: a crash between would leave a move without proof.

        Args:
            image: the metadata.
            topic_ids: topics that are reconciled.
            present: directories that are judged.
            removed: topics that a record of this log removed.
            received_end: end offset of the received snapshot that the image's log begins with, or None.
        """
        self._image = image
        _say_gone(self.journal.on_received(received_end))
        own = image.topics.own_id
        self._is_bound = own is not None
        wanted = {*assigned(image, self._broker_id, topic_ids)}
        if own is None:
            return wanted
        former, void = self.journal.metadata_topic_id, self.journal.bind(own)
        if void:
            log.warning(
                "the metadata topic has another id: what was assigned under the former proves nothing any more",
                former="none" if former is None else id_text(former),
                now=id_text(own),
                replicas=void,
                what=_QUARANTINED,
            )
        new = {each for each in wanted if not self.journal.proves(*each)}
        gone = ((each.topic_id, each.partition) for each in present if each.topic_id in removed)
        proven = [*wanted, *((each, index) for each, index in gone if each is not None)]
        self.journal.add(proven, image.offset_and_epoch.offset)
        return new

    def proves(self, topic_id: TopicId, partition: int) -> bool:
        """Return True if this replica was this broker's in the log that the agent follows."""
        return self._is_bound and self.journal.proves(topic_id, partition)

    def may_go(self, topic_id: TopicId, partition: int) -> bool:
        """Return True if a staged replica was this broker's, and the image does not assign it to this broker now."""
        return self.proves(topic_id, partition) and not self.is_assigned(topic_id, partition)

    def is_assigned(self, topic_id: TopicId, partition: int) -> bool:
        """Return True if the last image assigns this replica to this broker, or if there was no image yet."""
        if self._image is None:
            return True
        return (topic_id, partition) in assigned(self._image, self._broker_id, (topic_id,))

    def keep_only(self, needed: Collection[Replica]) -> None:
        """Drop entries that are neither needed nor assigned, if the journal has grown."""
        self.journal.keep_only(lambda each: each in needed or self.is_assigned(*each))


def _say_gone(replicas: int) -> None:
    if replicas:
        log.warning(
            "the former metadata log is gone: what was assigned by it proves nothing any more",
            replicas=replicas,
            what=_QUARANTINED,
        )
