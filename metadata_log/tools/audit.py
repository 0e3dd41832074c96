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
from metadata_log.errors import CorruptFileError
from metadata_log.ids import DirectoryId, NodeId, TopicId, id_text
from metadata_log.os_files import OsFiles
from metadata_log.reconcile import DirectoryFacts, Kind, Verdict, facts_of, is_by_image, judge
from metadata_log.staging import DELETING, REMOVE_AT, UNFINISHED, parse_staged
from metadata_log.tools.audit_image import AuditError, Judges, NoBrokerError, epoch_of, find_judges
from metadata_log.tools.sources import find_sources, require_one_cluster
from metadata_log.tools.times import time_text

__all__ = ["Audit", "AuditError", "Audited", "NoBrokerError", "WhenKafkaStarts", "audit"]


class WhenKafkaStarts(enum.StrEnum):
    """What a broker of Kafka 4 does with an entry when it starts."""

    KEEPS = "keeps it"
    SETS_ASIDE = "renames it to -stray"
    LEAVES = "leaves it aside"
    DELETES = "deletes it after a minute"
    REFUSES = "refuses to start"
    UNCERTAIN = "not known: the image does not say"


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """One directory in a log directory, or in its `deleting/`. `facts.topic_id` is by its `partition.metadata`.

    `is_agents`: an agent of ours put it there and takes it away. Kafka refuses to start beside it until then.
    `is_judged`: the image is enough to say what it is; what is not judged is never moved.
    """

    log_dir: Path
    facts: DirectoryFacts
    verdict: Verdict
    is_agents: bool = False
    is_judged: bool = True

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
        if not self.is_judged:
            return WhenKafkaStarts.UNCERTAIN
        return WhenKafkaStarts.KEEPS if self.is_kept else WhenKafkaStarts.SETS_ASIDE

    @property
    def is_wrong(self) -> bool:
        """Whether somebody has to know: what a broker set aside, or is deleting, it knows by itself."""
        return not self.is_agents and self.when_kafka_starts in (WhenKafkaStarts.SETS_ASIDE, WhenKafkaStarts.REFUSES)


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """All entries of a broker's log directories, in order.

    `image_end` and `image_epoch` say up to where the metadata was read that they are judged by; records from
    `certain_end` on may not be committed. `doubts`: why nothing may be moved by it; `notes`: what to know besides.
    """

    broker_id: int
    image_from: Path
    image_end: int
    image_epoch: int
    certain_end: int
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    directories: tuple[Audited, ...]


def audit(log_dirs: Sequence[Path], image_from: Sequence[Path] = ()) -> Audit:
    """Judge every directory in the log directories of one broker.

    Args:
        image_from: nodes whose metadata is read besides the broker's own copy, the most advanced of them counting.

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
        shown = ", ".join(sorted("nobody's" if node_id is None else f"node {node_id}'s" for node_id in ids))
        raise NoBrokerError(
            f"an audit is of one broker's log directories, told by their meta.properties; these are {shown or 'none'}"
        )
    broker_id = NodeId(nodes[0].node_id or 0)
    named = find_sources(image_from).nodes
    require_one_cluster([*nodes, *named], "what is to be audited and judged by")
    if image_from and not any(node.metadata is not None for node in named):
        raise NoBrokerError("no metadata log is at the paths of --image")
    judges = find_judges(nodes, named)
    found = [
        audited
        for node in nodes
        for disk in node.log_directories
        for audited in _of_disk(
            disk.path, judges, broker_id, None if disk.identity is None else disk.identity.directory_id
        )
    ]
    return Audit(
        broker_id=broker_id,
        image_from=judges.holder.source.metadata or judges.holder.source.path,
        image_end=judges.holder.reach,
        image_epoch=epoch_of(judges.holder),
        certain_end=judges.certain_end,
        doubts=judges.doubts,
        notes=judges.notes,
        directories=tuple(found),
    )


def _of_disk(log_dir: Path, judges: Judges, broker_id: NodeId, directory_id: DirectoryId | None) -> Iterator[Audited]:
    for entry in sorted(child for child in log_dir.iterdir() if child.is_dir()):
        if entry.name == DELETING:
            yield from _staged(log_dir, entry)
        else:
            yield _audited(log_dir, entry, judges, broker_id, directory_id)


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
    log_dir: Path, entry: Path, judges: Judges, broker_id: NodeId, directory_id: DirectoryId | None
) -> Audited:
    facts = facts_of(entry.name, None)
    if facts.topic_name is not None:
        try:
            facts = facts_of(entry.name, _topic_id(entry))
        except CorruptFileError as error:
            verdict = Verdict(kind=Kind.MISSING_METADATA, why=f"its partition.metadata cannot be right: {error.what}")
            return Audited(log_dir=log_dir, facts=facts, verdict=verdict)
    verdict, is_judged = _judged(facts, judges, broker_id, directory_id)
    return Audited(log_dir=log_dir, facts=facts, verdict=verdict, is_judged=is_judged)


def _judged(
    facts: DirectoryFacts, judges: Judges, broker_id: NodeId, directory_id: DirectoryId | None
) -> tuple[Verdict, bool]:
    """The verdict of the image, and whether it stands: what an image that is not enough says against one does not."""
    verdict = judge(facts, judges.image, broker_id, directory_id)
    topic_id, end = facts.topic_id, judges.holder.reach
    if verdict.kind is Kind.KEEP or not is_by_image(facts) or topic_id is None:
        return verdict, True
    is_gone = judges.image.topics.topic(topic_id) is None
    is_unseen = is_gone and not judges.was_ever(topic_id)
    unseen = f"no record up to offset {end} gave a topic its id {id_text(topic_id)}"
    own = judges.own
    if judges.doubts:
        why = unseen if is_unseen else f"by the image at offset {end}, {verdict.why}"
        return Verdict(kind=Kind.UNKNOWN, why=f"{why}; but that log cannot be trusted, or is too old"), False
    if own is not None and own.report.image is not None:
        by_own = judge(facts, own.report.image, broker_id, directory_id)
        if by_own.kind is Kind.KEEP or is_unseen:
            why = unseen if is_unseen else f"by the image at offset {end}, {verdict.why}"
            more = f"the broker's own copy goes on to offset {own.reach}, and by it {by_own.why}"
            return Verdict(kind=Kind.UNKNOWN, why=f"{why}; {more}"), False
        return verdict, True
    return _of_unseen(topic_id, judges, unseen) if is_unseen else (verdict, True)


def _of_unseen(topic_id: TopicId, judges: Judges, unseen: str) -> tuple[Verdict, bool]:
    """Of a topic id that no record gave: deleted it is not called."""
    if not judges.covers_broker:
        more = "nothing says how far the broker's own copy went: name a newer --image, and all of log.dirs"
        return Verdict(kind=Kind.UNKNOWN, why=f"{unseen}, and {more}"), False
    if judges.holder.report.rules.is_complete:
        return Verdict(kind=Kind.UNKNOWN, why=f"{unseen}, and the log here goes back to its first record"), True
    begin = judges.holder.report.start_offset
    why = f"no topic has its id {id_text(topic_id)}, and the log here, from offset {begin} on, never had one that has"
    return Verdict(kind=Kind.STALE, why=why), True


def _topic_id(directory: Path) -> TopicId | None:
    try:
        return read_partition_metadata(OsFiles(), str(directory))
    except FileNotFoundError:
        return None
