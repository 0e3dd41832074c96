"""The plan for an agent's partition directories: a pure comparison of the image with the disks.

Decides: which directories are made, staged for deletion or quarantined, and why. Must not know: files, or the time.

The caller plans only with an image that has the registration of this start of the agent. If the agent lost its log, an
older image would make every directory look stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from broker_agent.storage import PartitionDirectory, name_problem
from metadata_log.ids import DirectoryId, NodeId, TopicId, is_reserved_directory_id
from metadata_log.image import MetadataImage, PartitionImage, TopicImage
from metadata_log.reconcile import Kind, facts_of, judge


class Make(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Make the directory of a replica that has none."""

    log_dir: str
    topic: str
    partition: int
    topic_id: TopicId


class Stage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Stage a stale directory for deletion."""

    directory: PartitionDirectory
    why: str


class SetAside(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Quarantine a directory that is foreign, faulty or a duplicate."""

    directory: PartitionDirectory
    why: str


class NotUnderstood(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A replica whose directory is not made: its name could lead out of the log directories."""

    topic_id: TopicId
    topic: str
    partition: int
    why: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The moves, in this order: a directory is moved away before another one is made under its name."""

    stage: tuple[Stage, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    make: tuple[Make, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.stage or self.set_aside or self.make)


_STALE = (Kind.STALE, Kind.NOT_A_REPLICA)
_NO_PROOF = "nothing proves that this metadata log ever assigned it to this broker"


def plan(
    image: MetadataImage,
    broker_id: NodeId,
    log_dirs: Mapping[DirectoryId, str],
    present: Iterable[PartitionDirectory],
    topic_ids: Iterable[TopicId],
    proves: Callable[[TopicId, int], bool],
) -> Plan:
    """Return the plan for the directories `present` and for this broker's replicas of `topic_ids`.

    Args:
        log_dirs: the agent's working log directories, by their ids.
        present: partition directories to judge: at the start all of them, later those of changed topics.
        topic_ids: topics whose replicas should exist: at the start all of the image's, later the changed ones.
        proves: returns True if this metadata log once assigned the replica to this broker. A directory that is not
            assigned now and has no such proof is foreign: it is quarantined, never staged.
    """
    stage: list[Stage] = []
    aside: list[SetAside] = []
    kept: dict[tuple[TopicId, int], PartitionDirectory] = {}
    ids_by_path = {path: directory_id for directory_id, path in log_dirs.items()}
    for directory in present:
        facts = facts_of(directory.name, directory.topic_id)
        verdict = judge(facts, image, broker_id, ids_by_path.get(directory.log_dir))
        if verdict.kind in _STALE and directory.topic_id is not None:
            if proves(directory.topic_id, directory.partition):
                stage.append(Stage(directory=directory, why=verdict.why))
            else:
                aside.append(SetAside(directory=directory, why=f"{verdict.why}; {_NO_PROOF}"))
        elif verdict.kind is not Kind.KEEP or directory.topic_id is None:
            aside.append(SetAside(directory=directory, why=directory.fault or verdict.why))
        elif (held := kept.get((directory.topic_id, directory.partition))) is not None:
            aside.append(SetAside(directory=directory, why=f"the same replica lies in {held.log_dir} already"))
        else:
            kept[(directory.topic_id, directory.partition)] = directory
    make, strange = _missing(image, broker_id, log_dirs, kept, topic_ids)
    return Plan(stage=tuple(stage), set_aside=tuple(aside), make=tuple(make), not_understood=tuple(strange))


def _missing(
    image: MetadataImage,
    broker_id: NodeId,
    log_dirs: Mapping[DirectoryId, str],
    kept: Mapping[tuple[TopicId, int], PartitionDirectory],
    topic_ids: Iterable[TopicId],
) -> tuple[list[Make], list[NotUnderstood]]:
    load = dict.fromkeys(log_dirs.values(), 0)
    for directory in kept.values():
        load[directory.log_dir] += 1
    made: list[Make] = []
    strange: list[NotUnderstood] = []
    for topic in _in_order(image, topic_ids):
        for partition in topic.partitions:
            wanted = partition.directory_of(broker_id)
            if wanted is None or (topic.topic_id, partition.partition_id) in kept:
                continue
            index = partition.partition_id
            why = name_problem(topic.name, index)
            if why is not None:
                strange.append(NotUnderstood(topic_id=topic.topic_id, topic=topic.name, partition=index, why=why))
                continue
            path = _place(wanted, log_dirs, load)
            if path is not None:
                load[path] += 1
                made.append(Make(log_dir=path, topic=topic.name, partition=index, topic_id=topic.topic_id))
    return made, strange


def _in_order(image: MetadataImage, topic_ids: Iterable[TopicId]) -> Sequence[TopicImage]:
    found = (image.topics.topic(topic_id) for topic_id in topic_ids)
    return sorted((topic for topic in found if topic is not None), key=lambda topic: topic.name)


def _place(wanted: DirectoryId, log_dirs: Mapping[DirectoryId, str], load: Mapping[str, int]) -> str | None:
    """Return the assigned log directory, the emptiest if none is assigned, or None if the assigned one has failed."""
    if wanted in log_dirs:
        return log_dirs[wanted]
    if not is_reserved_directory_id(wanted) or not load:
        return None
    return min(load, key=lambda path: (load[path], path))


def assigned(image: MetadataImage, broker_id: NodeId, topic_ids: Iterable[TopicId]) -> Iterator[tuple[TopicId, int]]:
    """Yield the replicas that the image assigns to this broker, of these topics."""
    for topic_id in topic_ids:
        topic = image.topics.topic(topic_id)
        for partition in () if topic is None else topic.partitions:
            if partition.directory_of(broker_id) is not None:
                yield topic_id, partition.partition_id


def followed(image: MetadataImage, broker_id: NodeId) -> dict[NodeId, list[tuple[TopicImage, PartitionImage]]]:
    """Return the partitions that this broker follows, by their leader."""
    found: dict[NodeId, list[tuple[TopicImage, PartitionImage]]] = {}
    for topic in image.topics.by_id.values():
        for partition in topic.partitions:
            if partition.leader not in (-1, broker_id) and broker_id in partition.replicas:
                found.setdefault(partition.leader, []).append((topic, partition))
    return found
