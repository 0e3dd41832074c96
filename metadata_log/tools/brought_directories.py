"""Which of the partition directories that no log accounts for look as if a hand had made them: a copy, or a new name.

Decides: what tells them from a broker's own. Must not know: what follows for the logs (`check_proof`).

A controller numbers a topic's partitions in order, and a broker has a directory of each replica that the log gives it.
So a partition behind a gap that nobody has, one beside the lack of another of the same topic, and one that other
brokers have as its replicas, were more likely renamed or copied than given by records that all logs lost.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from metadata_log.ids import NodeId, TopicId, is_reserved_directory_id
from metadata_log.image import MetadataImage, PartitionImage, TopicImage
from metadata_log.tools.partition_directories import HeldPartitions, PartitionDirectory
from metadata_log.tools.sources import NodeSource


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """Why, as the end of a sentence. `is_gone`: a replica of the broker's lacks its directory meanwhile."""

    why: str
    is_gone: bool


def brought(
    directory: PartitionDirectory, node: NodeSource, held: HeldPartitions, image: MetadataImage | None
) -> Brought | None:
    """Why a directory that no log accounts for looks so; None where it does not, or nothing is known of its topic."""
    topic_id, number = directory.facts.topic_id, directory.facts.partition
    topic = None if image is None or topic_id is None else image.topics.topic(topic_id)
    if image is None or topic is None or number is None:
        return None
    gone = [f"{topic.name}-{partition}" for partition in _gone(topic, node, held, image)]
    beside = f"{', '.join(gone)}, which the log has on {node.label}, has no directory there" if gone else ""
    known = topic.partition(number)
    if known is not None:
        others = _holders(topic, number, known, held, node)
        if not others:
            return None
        why = f"{topic.name}-{number} is broker {' and '.join(map(str, others))}'s, of which it may be a copy"
        return Brought(why="; ".join(filter(None, (why, beside))), is_gone=bool(gone))
    numbers = {one.facts.partition for one in _of_topic(topic.topic_id, held)}
    lacking = [other for other in range(_count(topic), number) if other not in numbers]
    if not lacking and not gone:
        return None
    why = ""
    if lacking:
        to = f" to {lacking[-1]}" if len(lacking) > 1 else ""
        why = f"no broker here has partition {lacking[0]}{to} of it, and partitions are added in order"
    return Brought(
        why="; ".join(filter(None, (why, beside and f"{beside}: this may be it, renamed"))), is_gone=bool(gone)
    )


def _count(topic: TopicImage) -> int:
    return max((partition.partition_id for partition in topic.partitions), default=-1) + 1


def _of_topic(topic_id: TopicId, held: HeldPartitions) -> Iterator[PartitionDirectory]:
    for directories in held.values():
        yield from (one for one in directories if one.facts.topic_id == topic_id)


def _holders(
    topic: TopicImage, number: int, known: PartitionImage, held: HeldPartitions, node: NodeSource
) -> list[NodeId]:
    """The replicas of a partition, if a directory of it is on another node's disk here."""
    own = {disk.path for disk in node.log_directories}
    elsewhere = {path: directories for path, directories in held.items() if path not in own}
    is_held = any(one.facts.partition == number and one.is_in_use for one in _of_topic(topic.topic_id, elsewhere))
    return list(known.replicas) if is_held else []


def _gone(topic: TopicImage, node: NodeSource, held: HeldPartitions, image: MetadataImage) -> Iterator[int]:
    """The topic's partitions that the log has on a disk of the node's that is here, and that are not there."""
    broker_id = NodeId(-1 if node.node_id is None else node.node_id)
    broker = image.cluster.brokers.get(broker_id)
    ids = {disk.identity.directory_id for disk in node.log_directories if disk.identity is not None}
    are_all_here = broker is not None and ids.issuperset(broker.directories)
    own = {disk.path: held.get(disk.path, ()) for disk in node.log_directories}
    there = {one.facts.partition for one in _of_topic(topic.topic_id, own) if one.is_in_use}
    for partition in topic.partitions:
        assigned = partition.directory_of(broker_id)
        if assigned is None or partition.partition_id in there:
            continue
        if assigned in ids or (are_all_here and is_reserved_directory_id(assigned)):
            yield partition.partition_id
