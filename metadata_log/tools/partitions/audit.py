"""The verdict on each directory in a broker's log directories, by an image, and what Kafka does with it at its start.

Decides: which image judges, and how each entry is reported. Must not know: how a directory is moved (`quarantine`
does). It only reads, and takes no lock. The verdicts are those of `reconcile`.

A running broker creates and deletes directories as its log grows. So the directories are listed before the logs are
read. While something seems wrong and anything has changed meanwhile, the audit is repeated. A broker may never rest.
Then an entry that was not wrong in two audits is left out: it was just created, or is about to be deleted.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, PARTITION_METADATA_FILE, read_partition_metadata
from metadata_log.directory.staging import DELETING, REMOVE_AFTER, REMOVE_AT, UNFINISHED, parse_staged
from metadata_log.errors import CorruptFileError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import read_small_file
from metadata_log.ids import NodeId, TopicId, id_text
from metadata_log.image import MetadataImage
from metadata_log.reconcile import REMOTE_INDEX_CACHE, DirectoryFacts, Kind, Verdict, facts_of, is_by_image, judge
from metadata_log.tools.partitions.audit_image import AuditError, Judges, NoBrokerError, find_judges
from metadata_log.tools.partitions.committed_proof import proven_end
from metadata_log.tools.partitions.directories import PartitionDirectory, list_partitions
from metadata_log.tools.partitions.id_mismatch import with_wrong_id
from metadata_log.tools.partitions.node_roles import is_only_controller
from metadata_log.tools.read.consistent_read import directory_signature
from metadata_log.tools.read.manifest import is_export
from metadata_log.tools.read.readable import why_unread
from metadata_log.tools.read.sources import LogDirectory, NodeSource, find_sources, require_one_cluster
from metadata_log.tools.times import time_text

__all__ = ["Audit", "AuditError", "Audited", "NoBrokerError", "WhenKafkaStarts", "audit"]


_TRIES: Final = 5


class WhenKafkaStarts(enum.StrEnum):
    """The action of a Kafka 4 broker on an entry when it starts."""

    KEEPS = "keeps it"
    SETS_ASIDE = "renames it to -stray"
    LEAVES = "leaves it aside"
    DELETES = "deletes it after a minute"
    REFUSES = "refuses to start"
    UNCERTAIN = "not known: the image does not say"


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """One directory in a log directory, or in its `deleting/`. `facts.topic_id` is from its `partition.metadata`.

    `is_agents`: our broker agent put it there and will remove it. Until then, Kafka refuses to start beside it.
    `is_judged`: the image suffices for a verdict; otherwise the directory is never moved. `is_unreadable`: its
    `partition.metadata` is invalid. Kafka's start fails at that file before it looks at the directory's name.
    """

    log_dir: Path
    facts: DirectoryFacts
    verdict: Verdict
    is_agents: bool = False
    is_judged: bool = True
    is_unreadable: bool = False

    @property
    def path(self) -> Path:
        return self.log_dir / self.facts.name

    @property
    def is_kept(self) -> bool:
        return self.verdict.kind is Kind.KEEP

    @property
    def when_kafka_starts(self) -> WhenKafkaStarts:
        if self.is_unreadable:
            return WhenKafkaStarts.REFUSES
        if self.facts.is_stray or self.facts.name == REMOTE_INDEX_CACHE:
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
        """Return True if the operator must act. A stray or a deletion is the broker's own work and needs no action."""
        return not self.is_agents and self.when_kafka_starts in (WhenKafkaStarts.SETS_ASIDE, WhenKafkaStarts.REFUSES)


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """All entries of a broker's log directories, in order.

    `image_end` and `image_epoch`: the end of the metadata that judges them; records from `certain_end` on may not be
    committed. `doubts`: why no directory may be moved on this verdict; `notes`: further remarks. `newer`: a sentence on
    records of a later release in that log, which also forbid any move, or None. `is_controller`: the node is a
    controller and no broker, and no directory is judged.
    """

    broker_id: int
    image_from: Path
    image_end: int
    image_epoch: int
    certain_end: int
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    newer: str | None = None
    is_controller: bool = False
    directories: tuple[Audited, ...]


def audit(log_dirs: Sequence[Path], image_from: Sequence[Path] = ()) -> Audit:
    """Judge every directory in the log directories of one broker.

    Args:
        image_from: nodes whose metadata is read besides the broker's own replica; the most advanced of all counts.

    Raises:
        NoBrokerError: the directories are not those of one broker, or no named node has metadata.
        AuditError: no metadata can be replayed, or the logs contradict each other.
        SourceError: a path holds no source, or the paths lead to several clusters.
        OSError: a directory cannot be read.
    """
    nodes = find_sources(log_dirs).nodes
    ids = {node.node_id for node in nodes}
    _require_identities(nodes)
    exports = [str(disk.path) for node in nodes for disk in node.log_directories if is_export(disk.path)]
    if exports:
        raise NoBrokerError(
            f"{', '.join(exports)}: an export holds a metadata log and no partitions; name the broker's own directories"
        )
    if len(ids) != 1 or None in ids:
        shown = ", ".join(sorted("no known node's" if node_id is None else f"node {node_id}'s" for node_id in ids))
        raise NoBrokerError(
            f"an audit takes one broker's log directories, by their meta.properties; these are {shown or 'none'}"
        )
    named = find_sources(image_from).nodes
    require_one_cluster([*nodes, *named], "what is to be audited and judged by")
    if image_from and not any(node.metadata is not None for node in named):
        raise NoBrokerError("no metadata log is at the paths of --image")
    return settled(partial(_look, nodes, named))


def settled(look: Callable[[], tuple[Audit, bool]]) -> Audit:
    """Return an audit during which nothing changed, or one whose faults were all in the audit before it, too.

    `look` returns an audit, and True if anything changed during it. After `_TRIES` audits, entries with new faults are
    left out.
    """
    known: frozenset[Path] = frozenset()
    new: frozenset[Path] = frozenset()
    for _ in range(_TRIES):
        found, is_at_work = look()
        doubtful = frozenset(one.path for one in found.directories if one.is_wrong or not one.is_judged)
        new = doubtful - known
        if not new or not is_at_work:
            return found
        known = doubtful
    return msgspec.structs.replace(found, directories=tuple(one for one in found.directories if one.path not in new))


def _look(nodes: Sequence[NodeSource], named: Sequence[NodeSource]) -> tuple[Audit, bool]:
    state = _state(nodes, named)
    # The list is made before the logs are read: so the logs hold every directory in it, unless they lost records.
    found = _audit_once(nodes, named, _list(nodes))
    return found, _state(nodes, named) != state


def _state(nodes: Sequence[NodeSource], named: Sequence[NodeSource]) -> list[object]:
    """Return a value that changes when the broker, or a node whose log judges it, works on its files."""
    logs = [directory_signature(node.metadata) for node in (*nodes, *named) if node.metadata is not None]
    return [*logs, *((one.disk.path, one.facts) for one in _list(nodes))]


def _audit_once(nodes: Sequence[NodeSource], named: Sequence[NodeSource], listed: Sequence[_Listed]) -> Audit:
    broker_id = NodeId(nodes[0].node_id or 0)
    judges = find_judges(nodes, named)
    voter_ids = {int(voter.node_id) for voter in judges.view.voters.keys}
    is_controller = all(is_only_controller(node, judges.image, voter_ids) for node in nodes)
    return Audit(
        broker_id=broker_id,
        image_from=judges.holder.source.metadata or judges.holder.source.path,
        image_end=judges.holder.reach,
        image_epoch=judges.holder.last_epoch,
        certain_end=min(proven_end(nodes, list_partitions(nodes), judges.view, judges.image), judges.holder.reach),
        doubts=judges.doubts,
        notes=judges.notes,
        newer=judges.newer,
        is_controller=is_controller,
        directories=() if is_controller else tuple(_audited(one, broker_id, judges) for one in listed),
    )


def _require_identities(nodes: Sequence[NodeSource]) -> None:
    unread = [
        f"{disk.path}: it has no {META_PROPERTIES_FILE}" if disk.error is None else why_unread(disk.error)
        for node in nodes
        for disk in node.log_directories
        if disk.identity is None
    ]
    if unread:
        raise AuditError(f"{'; '.join(unread)}: without its meta.properties the owner of a log directory is unknown")


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """A log directory that is audited, with its broker and the logs that judge it."""

    node: NodeSource
    disk: LogDirectory
    broker_id: NodeId
    judges: Judges

    def verdict(self, facts: DirectoryFacts, image: MetadataImage) -> Verdict:
        """Return the verdict of this image."""
        identity = self.disk.identity
        return judge(facts, image, self.broker_id, None if identity is None else identity.directory_id)

    def beyond(self, facts: DirectoryFacts) -> str | None:
        """Return why the directory proves records that all logs here lack, or None if it does not."""
        directory = PartitionDirectory(path=self.disk.path / facts.name, facts=facts)
        return self.judges.beyond(directory, self.disk, self.node)


class _Listed(msgspec.Struct, frozen=True, kw_only=True):
    """An entry at the time of listing. `audited`: its verdict, if that needs no image."""

    node: NodeSource
    disk: LogDirectory
    facts: DirectoryFacts
    audited: Audited | None = None


def _list(nodes: Sequence[NodeSource]) -> list[_Listed]:
    """Return all entries of the broker's log directories, in order."""
    found: list[_Listed] = []
    for node in nodes:
        for disk in node.log_directories:
            for entry in sorted(child for child in disk.path.iterdir() if child.is_dir()):
                if entry.name != DELETING:
                    found += _entry(node, disk, entry)
                    continue
                found += [
                    _Listed(node=node, disk=disk, facts=audited.facts, audited=audited)
                    for audited in _staged(disk.path, entry)
                ]
    return found


def _entry(node: NodeSource, disk: LogDirectory, entry: Path) -> Iterator[_Listed]:
    """Yield the entry, unless the broker has deleted it meanwhile."""
    facts, audited = facts_of(entry.name, None), None
    if facts.topic_name is not None:
        try:
            facts = facts_of(entry.name, _topic_id(entry))
        except CorruptFileError as error:
            verdict = Verdict(kind=Kind.MISSING_METADATA, why=f"its partition.metadata cannot be right: {error.what}")
            audited = Audited(log_dir=disk.path, facts=facts, verdict=verdict, is_unreadable=True)
        if facts.topic_id is None and not entry.exists():
            return
    yield _Listed(node=node, disk=disk, facts=facts, audited=audited)


def _staged(log_dir: Path, deleting: Path) -> Iterator[Audited]:
    """Yield the directories that our broker agent will delete, or `deleting/` itself if it is empty."""
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
            verdict = Verdict(kind=Kind.UNKNOWN, why="no broker agent makes such an entry")
            yield Audited(log_dir=log_dir, facts=facts, verdict=verdict)


def _agents(log_dir: Path, name: str, kind: Kind, why: str, parsed: tuple[TopicId, int] | None = None) -> Audited:
    topic_id, partition = parsed if parsed is not None else (None, None)
    facts = DirectoryFacts(name=name, topic_name=None, partition=partition, topic_id=topic_id)
    return Audited(log_dir=log_dir, facts=facts, verdict=Verdict(kind=kind, why=why), is_agents=True)


def _goes(staged: Path) -> str:
    own = (REMOVE_AT, REMOVE_AFTER)
    size = sum(file.stat().st_size for file in staged.iterdir() if file.is_file() and file.name not in own)
    try:
        at = time_text(int(read_small_file(OsFiles(), str(staged / REMOVE_AT))))
    except (OSError, CorruptFileError, ValueError, OverflowError):
        return f"{size} bytes, which go after delete.topic.delay.ms from the agent's next start on"
    return f"{size} bytes, which go after {at}, once the agent has run for the delay, too"


def _audited(listed: _Listed, broker_id: NodeId, judges: Judges) -> Audited:
    if listed.audited is not None:
        return listed.audited
    place = _Place(node=listed.node, disk=listed.disk, broker_id=broker_id, judges=judges)
    verdict, is_judged = _judged(listed.facts, place)
    return Audited(log_dir=listed.disk.path, facts=listed.facts, verdict=verdict, is_judged=is_judged)


def _judged(facts: DirectoryFacts, place: _Place) -> tuple[Verdict, bool]:
    """Return the image's verdict, and True if it is final. It is not final if the image cannot know enough."""
    judges = place.judges
    verdict = place.verdict(facts, judges.image)
    verdict = with_wrong_id(verdict, facts, place.broker_id, judges.image, judges.rules, judges.own_log)
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
    if own is not None and own.facts.image is not None:
        by_own = place.verdict(facts, own.facts.image)
        if by_own.kind is Kind.KEEP or is_unseen:
            why = unseen if is_unseen else f"by the image at offset {end}, {verdict.why}"
            more = f"the broker's own copy goes on to offset {own.reach}, and by it {by_own.why}"
            return Verdict(kind=Kind.UNKNOWN, why=f"{why}; {more}"), False
    beyond = place.beyond(facts)
    if beyond is not None:
        return Verdict(kind=Kind.UNKNOWN, why=beyond), False
    if verdict.kind is Kind.BEYOND or (own is not None and own.facts.image is not None):
        return verdict, verdict.kind is not Kind.BEYOND
    return _of_unseen(topic_id, judges, unseen) if is_unseen else (verdict, True)


def _of_unseen(topic_id: TopicId, judges: Judges, unseen: str) -> tuple[Verdict, bool]:
    """Return the verdict on a topic id that no record here assigned. Such a topic is not called deleted."""
    if not judges.covers_broker:
        more = "nothing says how far the broker's own copy went: name a newer --image, and all of log.dirs"
        return Verdict(kind=Kind.UNKNOWN, why=f"{unseen}, and {more}"), False
    if judges.holder.facts.rules.is_complete:
        return Verdict(kind=Kind.UNKNOWN, why=f"{unseen}, and the log here goes back to its first record"), True
    begin = judges.holder.facts.start_offset
    why = f"no topic has its id {id_text(topic_id)}, and the log here, from offset {begin} on, never had one that has"
    return Verdict(kind=Kind.STALE, why=why), True


def _topic_id(directory: Path) -> TopicId | None:
    try:
        return read_partition_metadata(OsFiles(), str(directory))
    except IsADirectoryError as error:
        raise CorruptFileError(str(directory / PARTITION_METADATA_FILE), "it is a directory") from error
    except FileNotFoundError:
        return None
