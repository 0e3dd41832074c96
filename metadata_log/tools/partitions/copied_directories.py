"""Which of the partition directories that no log accounts for look as if a hand had made them: a copy, or a new name.

Decides: what tells them from a broker's own. Must not know: what follows for the logs (`committed_proof`).

A controller numbers a topic's partitions in order, and a broker has a directory of each replica that the log gives it.
So a partition behind a gap that nobody has, one beside the lack of another of the same topic, and one that other
brokers have as its replicas, were more likely renamed or copied than given by records that all logs lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from metadata_log.ids import NodeId, TopicId, is_reserved_directory_id
from metadata_log.image import MetadataImage, PartitionImage, TopicImage
from metadata_log.tools.partitions.directories import HeldPartitions, PartitionDirectory
from metadata_log.tools.read.sources import NodeSource


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """Why, as the end of a sentence. `is_gone`: a replica of the broker's lacks its directory meanwhile."""

    why: str
    is_gone: bool


class _Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """The partitions of one topic that somebody here has: the first beyond the log's that nobody has, and for each
    number the one with which the unbroken run begins that it is in."""

    first_lacking: int
    run_begins: dict[int, int]


class BroughtDirectories:
    """Of all nodes here. What is asked of a topic again and again is worked out once: a broker that was beside other
    controllers may have thousands."""

    def __init__(self, held: HeldPartitions, image: MetadataImage | None) -> None:
        self._held = held
        self._image = image
        self._by_topic: dict[TopicId, list[tuple[Path, PartitionDirectory]]] = {}
        for path, directories in held.items():
            for one in directories:
                if one.facts.topic_id is not None:
                    self._by_topic.setdefault(one.facts.topic_id, []).append((path, one))
        self._numbers: dict[TopicId, _Numbers] = {}
        self._gone: dict[tuple[TopicId, Path], tuple[int, ...]] = {}

    def why(self, directory: PartitionDirectory, node: NodeSource) -> Brought | None:
        """Why one that no log accounts for looks so; None where it does not, or nothing is known of its topic."""
        topic_id, number = directory.facts.topic_id, directory.facts.partition
        topic = None if self._image is None or topic_id is None else self._image.topics.topic(topic_id)
        if topic is None or number is None:
            return None
        gone = [f"{topic.name}-{partition}" for partition in self._gone_of(topic, node)]
        beside = f"{', '.join(gone)}, which the log has on {node.label}, has no directory there" if gone else ""
        known = topic.partition(number)
        if known is not None:
            others = self._holders(topic, number, known, node)
            if not others:
                return None
            why = f"{topic.name}-{number} is broker {' and '.join(map(str, others))}'s, of which it may be a copy"
            return Brought(why="; ".join(filter(None, (why, beside))), is_gone=bool(gone))
        numbers = self._numbers_of(topic)
        is_behind_gap = numbers.first_lacking < number
        if not is_behind_gap and not gone:
            return None
        why = ""
        if is_behind_gap:
            last = numbers.run_begins[number] - 1
            to = f" to {last}" if last > numbers.first_lacking else ""
            why = f"no broker here has partition {numbers.first_lacking}{to} of it, and partitions are added in order"
        return Brought(
            why="; ".join(filter(None, (why, beside and f"{beside}: this may be it, renamed"))), is_gone=bool(gone)
        )

    def _of(self, topic_id: TopicId) -> list[tuple[Path, PartitionDirectory]]:
        return self._by_topic.get(topic_id, [])

    def _numbers_of(self, topic: TopicImage) -> _Numbers:
        found = self._numbers.get(topic.topic_id)
        if found is None:
            held = {one.facts.partition for _, one in self._of(topic.topic_id) if one.facts.partition is not None}
            begins = dict[int, int]()
            for number in sorted(held):
                begins[number] = begins.get(number - 1, number)
            first = _count(topic)
            while first in held:
                first += 1
            found = self._numbers[topic.topic_id] = _Numbers(first_lacking=first, run_begins=begins)
        return found

    def _holders(self, topic: TopicImage, number: int, known: PartitionImage, node: NodeSource) -> list[NodeId]:
        """The replicas of a partition, if a directory of it is on another node's disk here."""
        own = {disk.path for disk in node.log_directories}
        is_held = any(
            path not in own and one.facts.partition == number and one.is_in_use
            for path, one in self._of(topic.topic_id)
        )
        return list(known.replicas) if is_held else []

    def _gone_of(self, topic: TopicImage, node: NodeSource) -> tuple[int, ...]:
        """The topic's partitions that the log has on a disk of the node's that is here, and that are not there."""
        key = (topic.topic_id, node.path)
        found = self._gone.get(key)
        if found is None:
            found = self._gone[key] = tuple(self._find_gone(topic, node))
        return found

    def _find_gone(self, topic: TopicImage, node: NodeSource) -> Iterator[int]:
        broker_id = NodeId(-1 if node.node_id is None else node.node_id)
        broker = None if self._image is None else self._image.cluster.brokers.get(broker_id)
        ids = {disk.identity.directory_id for disk in node.log_directories if disk.identity is not None}
        are_all_here = broker is not None and ids.issuperset(broker.directories)
        own = {disk.path for disk in node.log_directories}
        there = {one.facts.partition for path, one in self._of(topic.topic_id) if path in own and one.is_in_use}
        for partition in topic.partitions:
            assigned = partition.directory_of(broker_id)
            if assigned is None or partition.partition_id in there:
                continue
            if assigned in ids or (are_all_here and is_reserved_directory_id(assigned)):
                yield partition.partition_id


def _count(topic: TopicImage) -> int:
    return max((partition.partition_id for partition in topic.partitions), default=-1) + 1
