"""Changes of the image that wait to be reconciled: changed topics, and topics that were removed.

Must not know directories. A removal is proof that a topic was of this metadata log. It counts only while the metadata
topic's own id is known and stays the same: the checkpoint of another log removes topics, too.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from metadata_log.ids import TopicId
from metadata_log.image import ImageChanges, MetadataImage


class TopicChanges(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Topics by their ids. `removed` are in `changed`, too."""

    changed: frozenset[TopicId] = frozenset()
    removed: frozenset[TopicId] = frozenset()


NO_TOPIC_CHANGES = TopicChanges()


def joined(
    earlier: TopicChanges, before: MetadataImage, after: MetadataImage, changes: Iterable[ImageChanges]
) -> TopicChanges:
    """Return `earlier` and what one move of the image adds to it."""
    changed = frozenset[TopicId]().union(*(each.topics for each in changes))
    own = after.topics.own_id
    if own is None or own != before.topics.own_id:
        return TopicChanges(changed=earlier.changed | changed)
    removed = frozenset(each for each in changed if after.topics.topic(each) is None)
    return TopicChanges(changed=earlier.changed | changed, removed=earlier.removed | removed)
