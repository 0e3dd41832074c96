"""Changes of the image that wait to be reconciled: changed topics, and topics that were removed.

Must not know directories. A removal is proof that a topic was of this metadata log, if a record of the log removed
it. A topic that a received snapshot lacks was not removed: the snapshot may be of this quorum as of an earlier time.
Removals count only while the metadata topic's own id is known and stays the same.
"""

from __future__ import annotations

import msgspec

from metadata_log.ids import TopicId
from quorum.node.core.ports import ImagePublished


class TopicChanges(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Topics by their ids. `removed` are in `changed`, too."""

    changed: frozenset[TopicId] = frozenset()
    removed: frozenset[TopicId] = frozenset()


NO_TOPIC_CHANGES = TopicChanges()


def joined(earlier: TopicChanges, move: ImagePublished) -> TopicChanges:
    """Return `earlier` and what one move of the image adds to it."""
    before, after = move.before, move.after
    changed = frozenset[TopicId]().union(*(each.topics for each in move.changes))
    own = after.topics.own_id
    if move.is_from_snapshot or own is None or own != before.topics.own_id:
        return TopicChanges(changed=earlier.changed | changed)
    removed = frozenset(each for each in changed if after.topics.topic(each) is None)
    return TopicChanges(changed=earlier.changed | changed, removed=earlier.removed | removed)
