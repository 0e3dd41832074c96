"""The verdict on one partition directory of a broker, by the metadata image. Pure.

Decides: whether a directory belongs where it is, from its name, its topic id and the image. Must not know: files, or
the consequence. An agent stages STALE directories for deletion and quarantines unknown ones (BEYOND, too); an audit
only reports.

The caller must pass an image that is new enough: a directory made after the image's end would look stale. The rule is
KIP-516's: a deleted topic id never returns, so a directory with it is stale. Kafka's brokers rename each directory that
is not KEEP to `-stray`, and delete none.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

import msgspec

from metadata_log.ids import (
    METADATA_TOPIC_NAME,
    DirectoryId,
    NodeId,
    TopicId,
    id_text,
    is_reserved_directory_id,
    is_reserved_topic_id,
)
from metadata_log.image.image import MetadataImage
from metadata_log.image.topics import PartitionImage, TopicImage

_PARTITION_NAME: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>0|[1-9][0-9]{0,9})")
REMOTE_INDEX_CACHE: Final = "remote-log-index-cache"
"""The only directory of a broker in its log directories that is not a partition's: tiered storage's cache (KIP-405)."""
_MARKED_NAME: Final = re.compile(r"(?P<name>.+)\.[0-9a-f]{32}-(?P<mark>future|delete|stray)")


class Kind(Enum):
    """The kinds of directories.

    KEEP: a replica of this broker. STALE: of a topic that no longer exists. BEYOND: of a partition number that its
    topic does not have. Topics never lose partitions: the image lacks a record, or someone copied the directory here.
    WRONG_ID: name and topic id belong to two topics, so one is wrong. MISSING_METADATA: without a topic id, it could be
    stale or not. NOT_A_REPLICA: the partition is on other brokers. UNKNOWN: not a partition's directory, or quarantined
    already.
    """

    KEEP = "keep"
    STALE = "stale"
    BEYOND = "beyond its topic"
    WRONG_ID = "wrong id"
    MISSING_METADATA = "missing metadata"
    NOT_A_REPLICA = "not a replica"
    UNKNOWN = "unknown"


class DirectoryFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry of a log directory.

    Attributes:
        name: the entry's name on disk.
        topic_name, partition: parsed from the name; both None if it is not a partition's.
        topic_id: from its `partition.metadata`, or None.
        is_future: it is the growing copy of a replica that moves between two disks (`-future`).
        is_deleted: a broker has marked it for deletion (`-delete`).
        is_stray: a broker or an agent has quarantined it (`-stray`).
    """

    name: str
    topic_name: str | None
    partition: int | None
    topic_id: TopicId | None
    is_future: bool = False
    is_deleted: bool = False
    is_stray: bool = False


class Verdict(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The kind of a directory and the reason, a sentence for logs and reports."""

    kind: Kind
    why: str


def facts_of(name: str, topic_id: TopicId | None) -> DirectoryFacts:
    """Parse a name: `topic-partition`, optionally followed by `.<32 hex digits>-future`, `-delete` or `-stray`."""
    marked = _MARKED_NAME.fullmatch(name)
    parsed = _PARTITION_NAME.fullmatch(marked["name"] if marked else name)
    mark = marked["mark"] if marked else None
    return DirectoryFacts(
        name=name,
        topic_name=parsed["topic"] if parsed else None,
        partition=int(parsed["partition"]) if parsed else None,
        topic_id=topic_id,
        is_future=mark == "future",
        is_deleted=mark == "delete",
        is_stray=mark == "stray",
    )


def judge(
    directory: DirectoryFacts, image: MetadataImage, broker_id: NodeId, directory_id: DirectoryId | None = None
) -> Verdict:
    """Return the verdict on one directory of broker `broker_id`; `directory_id` is the id of its log directory.

    A replica that is assigned to another log directory of this broker is KEEP, with that reason. The broker will report
    its actual directory (AssignReplicasToDirs, KIP-858).
    """
    topic_id, topic_name, partition_id = directory.topic_id, directory.topic_name, directory.partition
    if topic_name is None or partition_id is None or topic_id is None or not is_by_image(directory):
        return _without_image(directory)
    if is_reserved_topic_id(topic_id):
        return Verdict(kind=Kind.WRONG_ID, why=f"its partition.metadata holds the reserved id {id_text(topic_id)}")
    topic = image.topics.topic(topic_id)
    if topic is None:
        return _of_unknown_id(topic_name, topic_id, image)
    if topic.name != topic_name:
        return Verdict(kind=Kind.WRONG_ID, why=f"its id {id_text(topic_id)} is that of topic {topic.name!r}")
    partition = topic.partition(partition_id)
    if partition is None:
        return _beyond(topic)
    return _of_replica(directory, topic, partition, broker_id, directory_id)


def is_by_image(directory: DirectoryFacts) -> bool:
    """Return True if the verdict depends on the image, and not only on the name or a missing topic id."""
    is_known_by_name = directory.is_stray or directory.is_deleted or directory.topic_name == METADATA_TOPIC_NAME
    return directory.topic_name is not None and directory.topic_id is not None and not is_known_by_name


def _without_image(directory: DirectoryFacts) -> Verdict:
    if directory.is_stray:
        return Verdict(kind=Kind.UNKNOWN, why="a broker set it aside as stray before")
    if directory.is_deleted:
        return Verdict(kind=Kind.STALE, why="a broker marked it for deletion before")
    if directory.name == REMOTE_INDEX_CACHE:
        return Verdict(kind=Kind.UNKNOWN, why="it is a broker's cache of the indexes of what is in remote storage")
    if directory.topic_name is None:
        return Verdict(kind=Kind.UNKNOWN, why="its name is not that of a topic and a partition")
    if directory.topic_name == METADATA_TOPIC_NAME:
        return Verdict(kind=Kind.KEEP, why="it is the metadata log itself")
    return Verdict(kind=Kind.MISSING_METADATA, why="it has no partition.metadata, so that its topic id is unknown")


def _of_unknown_id(topic_name: str, topic_id: TopicId, image: MetadataImage) -> Verdict:
    successor = image.topics.by_name.get(topic_name)
    if successor is None:
        why = f"no topic has its id {id_text(topic_id)}: {topic_name!r} is deleted, or was never of this cluster"
        return Verdict(kind=Kind.STALE, why=why)
    return Verdict(
        kind=Kind.STALE,
        why=f"its id is {id_text(topic_id)}, of a deleted topic; {topic_name!r} is now {id_text(successor)}",
    )


def _beyond(topic: TopicImage) -> Verdict:
    count = len(topic.partitions)
    has = f"topic {topic.name!r} has {count} partition{'' if count == 1 else 's'}, and not this one"
    why = f"{has}: partitions never become fewer, so no deletion left it; it may be all that is left of a lost record"
    return Verdict(kind=Kind.BEYOND, why=why)


def _of_replica(
    directory: DirectoryFacts,
    topic: TopicImage,
    partition: PartitionImage,
    broker_id: NodeId,
    directory_id: DirectoryId | None,
) -> Verdict:
    assigned = partition.directory_of(broker_id)
    if assigned is None:
        replicas = ", ".join(map(str, partition.replicas))
        return Verdict(
            kind=Kind.NOT_A_REPLICA,
            why=f"{topic.name}-{partition.partition_id} is on brokers {replicas}, not on {broker_id}",
        )
    if directory.is_future:
        return Verdict(kind=Kind.KEEP, why="it is the copy of a replica that moves here from another log directory")
    if directory_id is None or assigned == directory_id or is_reserved_directory_id(assigned):
        return Verdict(kind=Kind.KEEP, why="it is a replica of this broker's")
    return Verdict(
        kind=Kind.KEEP,
        why=f"it is a replica of this broker's, but assigned to its log directory {id_text(assigned)}: to be reported",
    )
