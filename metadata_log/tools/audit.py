"""What each directory in a broker's log directories is, by an image, and what Kafka makes of it when it starts.

Decides: which image speaks, and what is said of an entry. Must not know: how anything is moved (`quarantine` does).
Reads only and takes no lock. The verdicts are `reconcile`'s.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from metadata_log.directory import read_partition_metadata
from metadata_log.errors import CorruptFileError, MetadataLogError, WrongUseError
from metadata_log.ids import DirectoryId, NodeId, TopicId
from metadata_log.image import MetadataImage
from metadata_log.os_files import OsFiles
from metadata_log.reconcile import DirectoryFacts, Kind, Verdict, facts_of, judge
from metadata_log.staging import DELETING, REMOVE_AT, UNFINISHED, parse_staged
from metadata_log.tools.check_partitions import newest_image
from metadata_log.tools.diff import diff_and_odd
from metadata_log.tools.quorum_view import Replica, view_quorum
from metadata_log.tools.sources import NodeSource, find_sources, require_one_cluster
from metadata_log.tools.times import time_text
from metadata_log.tools.verify import verify_log


class AuditError(MetadataLogError):
    """An audit has nothing to look at, or nothing to judge it by."""


class NoBrokerError(AuditError, WrongUseError):
    """The directories that were named are not one broker's, or none of them says what a broker should hold."""


class WhenKafkaStarts(enum.StrEnum):
    """What a broker of Kafka 4 does with an entry when it starts."""

    KEEPS = "keeps it"
    SETS_ASIDE = "renames it to -stray"
    LEAVES = "leaves it aside"
    DELETES = "deletes it after a minute"
    REFUSES = "refuses to start"


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """One directory in a log directory, or in its `deleting/`. `facts.topic_id` is by its `partition.metadata`.

    `is_agents`: an agent of ours put it there and takes it away. Kafka refuses to start beside it until then.
    """

    log_dir: Path
    facts: DirectoryFacts
    verdict: Verdict
    is_agents: bool = False

    @property
    def path(self) -> Path:
        return self.log_dir / self.facts.name

    @property
    def is_kept(self) -> bool:
        return self.verdict.kind is Kind.KEEP

    @property
    def when_kafka_starts(self) -> WhenKafkaStarts:
        if self.facts.is_stray:
            return WhenKafkaStarts.LEAVES
        if self.facts.is_deleted:
            return WhenKafkaStarts.DELETES
        if self.facts.topic_name is None:
            return WhenKafkaStarts.REFUSES
        return WhenKafkaStarts.KEEPS if self.is_kept else WhenKafkaStarts.SETS_ASIDE

    @property
    def is_wrong(self) -> bool:
        """Whether somebody has to know: what a broker set aside, or is deleting, it knows by itself."""
        return not self.is_agents and self.when_kafka_starts in (WhenKafkaStarts.SETS_ASIDE, WhenKafkaStarts.REFUSES)


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """All entries of a broker's log directories, in order.

    `image_end` and `image_epoch` say up to where the metadata was read that they are judged by; records from
    `certain_end` on may not be committed.
    """

    broker_id: int
    image_from: Path
    image_end: int
    image_epoch: int
    certain_end: int
    directories: tuple[Audited, ...]


def audit(log_dirs: Sequence[Path], image_from: Sequence[Path] = ()) -> Audit:
    """Judge every directory in the log directories of one broker.

    Args:
        image_from: nodes whose metadata is read, the most advanced of them counting; none: the broker's own copy.

    Raises:
        NoBrokerError: the directories are not those of one broker, or no node was named that has metadata.
        AuditError: there is no metadata that can be replayed, or the nodes that are to judge contradict each other.
        SourceError: a path leads to nothing of the kind, or the paths to several clusters.
        OSError: a directory cannot be read.
    """
    nodes = find_sources(log_dirs).nodes
    ids = {node.node_id for node in nodes}
    unread = [f"{disk.path}: {disk.complaint}" for node in nodes for disk in node.log_directories if disk.complaint]
    if unread:
        raise AuditError(f"{'; '.join(unread)}: without its meta.properties nobody knows whose log directory it is")
    if len(ids) != 1 or None in ids:
        shown = ", ".join(sorted(str(node_id) for node_id in ids)) or "none"
        raise NoBrokerError(
            f"an audit is of one broker's log directories, told by their meta.properties; these are of nodes: {shown}"
        )
    broker_id = NodeId(nodes[0].node_id or 0)
    judges = find_sources(image_from).nodes if image_from else nodes
    require_one_cluster([*nodes, *judges], "what is to be audited and judged by")
    image, holder, certain_end = _image(judges)
    found = [
        audited
        for node in nodes
        for disk in node.log_directories
        for audited in _of_disk(
            disk.path, image, broker_id, None if disk.identity is None else disk.identity.directory_id
        )
    ]
    return Audit(
        broker_id=broker_id,
        image_from=holder.source.metadata or holder.source.path,
        image_end=holder.reach,
        image_epoch=holder.report.last_epoch,
        certain_end=min(certain_end, holder.reach),
        directories=tuple(found),
    )


def _image(nodes: Sequence[NodeSource]) -> tuple[MetadataImage, Replica, int]:
    """The image of the most advanced of these nodes, that replica, and up to where all is surely committed."""
    with_log = [node for node in nodes if node.metadata is not None]
    if not with_log:
        raise NoBrokerError("no metadata log is there to judge by: name a node that has one with --image")
    view = view_quorum([(node, verify_log(node)) for node in with_log])
    diff, odd = diff_and_odd(view)
    parted = next((found for found in diff.findings if found.counts), None)
    if parted is not None:
        who = "" if parted.node_id is None else f"on node {parted.node_id}, "
        raise AuditError(
            f"the logs to judge by contradict each other: {who}{parted.meaning} (kraft log diff says more): find out "
            "which are right, and name only those with --image"
        )
    image = newest_image(view, odd)
    if image is None:
        names = ", ".join(str(node.metadata) for node in with_log)
        raise AuditError(f"{names}: no image at its end (kraft log verify says why): name another node with --image")
    return image, next(replica for replica in view.replicas if replica.report.image is image), view.bounds.lower


def _of_disk(
    log_dir: Path, image: MetadataImage, broker_id: NodeId, directory_id: DirectoryId | None
) -> Iterator[Audited]:
    for entry in sorted(child for child in log_dir.iterdir() if child.is_dir()):
        if entry.name == DELETING:
            yield from _staged(log_dir, entry)
        else:
            yield _audited(log_dir, entry, image, broker_id, directory_id)


def _staged(log_dir: Path, deleting: Path) -> Iterator[Audited]:
    """What an agent of ours is about to delete, one by one; the place itself where it holds nothing."""
    children = sorted(deleting.iterdir())
    if not children:
        yield _agents(log_dir, DELETING, Kind.UNKNOWN, "an agent's place for what it deletes; it holds nothing")
    for child in children:
        name = f"{DELETING}/{child.name}"
        parsed = parse_staged(child.name)
        if parsed is not None and child.is_dir():
            yield _agents(log_dir, name, Kind.STALE, f"an agent staged it for deletion: {_goes(child)}", parsed)
        elif child.name.startswith(UNFINISHED):
            why = "an agent was making it when it ended: it is cleared away at the agent's next start"
            yield _agents(log_dir, name, Kind.UNKNOWN, why)
        else:
            facts = DirectoryFacts(name=name, topic_name=None, partition=None, topic_id=None)
            verdict = Verdict(kind=Kind.UNKNOWN, why="no agent of ours puts such a thing there")
            yield Audited(log_dir=log_dir, facts=facts, verdict=verdict)


def _agents(log_dir: Path, name: str, kind: Kind, why: str, parsed: tuple[TopicId, int] | None = None) -> Audited:
    topic_id, partition = parsed if parsed is not None else (None, None)
    facts = DirectoryFacts(name=name, topic_name=None, partition=partition, topic_id=topic_id)
    return Audited(log_dir=log_dir, facts=facts, verdict=Verdict(kind=kind, why=why), is_agents=True)


def _goes(staged: Path) -> str:
    size = sum(file.stat().st_size for file in staged.iterdir() if file.is_file() and file.name != REMOVE_AT)
    try:
        at = time_text(int((staged / REMOVE_AT).read_bytes()))
    except (FileNotFoundError, ValueError):
        return f"{size} bytes, which go after delete.topic.delay.ms from the agent's next start on"
    return f"{size} bytes, which go at {at}, or at the agent's next start after that"


def _audited(
    log_dir: Path, entry: Path, image: MetadataImage, broker_id: NodeId, directory_id: DirectoryId | None
) -> Audited:
    facts = facts_of(entry.name, None)
    if facts.topic_name is not None:
        try:
            facts = facts_of(entry.name, _topic_id(entry))
        except CorruptFileError as error:
            verdict = Verdict(kind=Kind.MISSING_METADATA, why=f"its partition.metadata cannot be right: {error.what}")
            return Audited(log_dir=log_dir, facts=facts, verdict=verdict)
    return Audited(log_dir=log_dir, facts=facts, verdict=judge(facts, image, broker_id, directory_id))


def _topic_id(directory: Path) -> TopicId | None:
    try:
        return read_partition_metadata(OsFiles(), str(directory))
    except FileNotFoundError:
        return None
