"""Whether two copies are of one log at all: what they share, and what shows that they are not.

Decides: what counts as shared, and what contradicts. Must not know: what follows. Two clusters may have one cluster id
(a clone that goes on, an id that was set by hand), so that the id alone shows nothing.
"""

from __future__ import annotations

from metadata_log.ids import id_text, is_reserved_directory_id
from metadata_log.image import MetadataImage
from quorum.recovery.copies.log_copy import Copy


def is_comparable(one: Copy, other: Copy) -> bool:
    """Whether something shows that they are of one log: a batch, a topic, or a broker's run or directory in both.

    An empty log holds nothing that could be lost or contradicted: it is of any.
    """
    if one is other or one.end.offset == 0 or other.end.offset == 0 or one.sums.shares_batch(other.sums):
        return True
    return one.image is not None and other.image is not None and _shares_ids(one.image, other.image)


def contradiction(one: Copy, other: Copy) -> str | None:
    """What their metadata says that cannot be of one log; None where nothing does, or their batches can be compared."""
    mine, theirs = one.image, other.image
    if mine is None or theirs is None or one.sums.shares_batch(other.sums):
        return None
    for topic_id, topic in mine.topics.by_id.items():
        renamed = theirs.topics.topic(topic_id)
        if renamed is not None and renamed.name != topic.name:
            return f"topic {id_text(topic_id)} is {topic.name} in one and {renamed.name} in the other"
    if one.newer.hides_metadata or other.newer.hides_metadata:
        return None  # a later registration may be among what is not known
    for node_id, broker in mine.cluster.brokers.items():
        again = theirs.cluster.brokers.get(node_id)
        if again is None or again.incarnation_id == broker.incarnation_id:
            continue
        # A registration's epoch is its record's offset: a copy that had committed the later one would know it.
        behind = one if broker.epoch < again.epoch else other
        if broker.epoch == again.epoch or max(broker.epoch, again.epoch) < behind.committed_before:
            return (
                f"broker {node_id} registered at offset {broker.epoch} as {id_text(broker.incarnation_id)} in one, and "
                f"at offset {again.epoch} as {id_text(again.incarnation_id)} in the other"
            )
    return None


def _shares_ids(one: MetadataImage, other: MetadataImage) -> bool:
    """Ids are random: nothing of another cluster has the same by chance."""
    fewer, more = sorted((one.topics, other.topics), key=len)
    if any(more.topic(topic_id) is not None for topic_id in fewer.by_id):
        return True
    runs = {broker.incarnation_id for broker in one.cluster.brokers.values()}
    disks = {directory for broker in one.cluster.brokers.values() for directory in broker.directories}
    own = {directory for directory in disks if not is_reserved_directory_id(directory)}
    return any(
        broker.incarnation_id in runs or not own.isdisjoint(broker.directories)
        for broker in other.cluster.brokers.values()
    )
