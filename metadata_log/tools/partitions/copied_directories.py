"""Signs that a partition directory, which no log here explains, was copied or renamed by hand.

Decides: how it differs from a directory that a broker created. Must not know: the consequences for the logs
(`committed_proof`).

A controller numbers a topic's partitions in order, and a broker has a directory for each replica that the log assigns
to it. So three kinds of directories were more likely made by hand than by records that all logs lost:
- a partition after a gap in the numbers;
- a partition on a broker that lacks the directory of another one of the topic;
- a partition that other brokers have as its replicas.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from metadata_log.ids import NodeId, TopicId, is_reserved_directory_id
from metadata_log.image import MetadataImage, PartitionImage, TopicImage
from metadata_log.tools.partitions.directories import HeldPartitions, PartitionDirectory
from metadata_log.tools.read.sources import NodeSource


class CopiedReason(msgspec.Struct, frozen=True, kw_only=True):
    """The reason, as the end of a sentence. `is_gone`: the broker also lacks the directory of one of its replicas."""

    why: str
    is_gone: bool


class _Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """The partitions of one topic that have a directory here.

    `first_lacking`: the first number after the log's without a directory. `run_begins`: by number, the first one of its
    unbroken run.
    """

    first_lacking: int
    run_begins: dict[int, int]


class CopiedDirectories:
    """The partition directories of all nodes here, by topic.

    Results are cached by topic: a broker that once ran with other controllers may have thousands of such directories.
    """

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

    def why(self, directory: PartitionDirectory, node: NodeSource) -> CopiedReason | None:
        """Return why an unexplained directory looks made by hand, or None if it does not or its topic is unknown."""
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
            return CopiedReason(why="; ".join(filter(None, (why, beside))), is_gone=bool(gone))
        numbers = self._numbers_of(topic)
        is_behind_gap = numbers.first_lacking < number
        if not is_behind_gap and not gone:
            return None
        why = ""
        if is_behind_gap:
            last = numbers.run_begins[number] - 1
            to = f" to {last}" if last > numbers.first_lacking else ""
            why = f"no broker here has partition {numbers.first_lacking}{to} of it, and partitions are added in order"
        return CopiedReason(
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
        """Return the replicas of a partition if another node's disk here has its directory; otherwise none."""
        own = {disk.path for disk in node.log_directories}
        is_held = any(
            path not in own and one.facts.partition == number and one.is_in_use
            for path, one in self._of(topic.topic_id)
        )
        return list(known.replicas) if is_held else []

    def _gone_of(self, topic: TopicImage, node: NodeSource) -> tuple[int, ...]:
        """Return the topic's partitions that the log has on one of the node's disks here, and that have no directory
        there."""
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
