"""Changes of the image that wait to be reconciled: changed topics, and topics that were removed.

Must not know directories. If a record removed a topic, that proves that the topic was of this metadata log. A topic
that a received snapshot lacks was not removed: the snapshot may show this quorum at an earlier time. Removals count
only while the metadata topic's own id is known and stays the same.
"""

from __future__ import annotations

import msgspec

from metadata_log.ids import TopicId
from quorum.node.core.ports import ImagePublished


class TopicChanges(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Ids of changed topics. `removed` is a subset of `changed`."""

    changed: frozenset[TopicId] = frozenset()
    removed: frozenset[TopicId] = frozenset()


NO_TOPIC_CHANGES = TopicChanges()


def joined(earlier: TopicChanges, move: ImagePublished) -> TopicChanges:
    """Return `earlier` plus the topics that one published image changed or removed."""
    before, after = move.before, move.after
    changed = frozenset[TopicId]().union(*(each.topics for each in move.changes))
    own = after.topics.own_id
    if move.is_from_snapshot or own is None or own != before.topics.own_id:
        return TopicChanges(changed=earlier.changed | changed)
    removed = frozenset(each for each in changed if after.topics.topic(each) is None)
    return TopicChanges(changed=earlier.changed | changed, removed=earlier.removed | removed)
