"""Partition directories of brokers against the metadata: `partition.metadata` and the log must name the same topics.

Decides: how grave each verdict of `reconcile` is. Must not know: the remedy (an audit offers one).

A stopped broker may hold directories of topics that were removed since, and a running one may be about to delete them.
Such directories are notes. An id that no topic ever had is an error, but that is known only if the log goes back to its
first record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from metadata_log.directory import PARTITION_METADATA_FILE
from metadata_log.ids import (
    ZERO_TOPIC_ID,
    DirectoryId,
    NodeId,
    id_text,
    is_reserved_directory_id,
    is_reserved_topic_id,
)
from metadata_log.image import MetadataImage
from metadata_log.reconcile import DirectoryFacts, Kind, Verdict, judge
from metadata_log.records.newer import NOTHING_NEWER
from metadata_log.tools.findings.advice import NEWER
from metadata_log.tools.findings.finding import Finding, Severity, finding
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.partitions.committed_proof import is_beyond
from metadata_log.tools.partitions.directories import HeldPartitions, PartitionDirectory
from metadata_log.tools.partitions.id_mismatch import with_wrong_id
from metadata_log.tools.partitions.required_replicas import OwnLog, own_log
from metadata_log.tools.read.sources import LogDirectory, NodeSource
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.rules.records import RecordRules


def check_partitions(
    nodes: Sequence[NodeSource], held: HeldPartitions, view: ReplicaSet, odd: frozenset[int] = frozenset()
) -> Iterator[Finding]:
    """Yield the findings on the partition directories of these nodes, by the image of `newest_image`."""
    image = newest_image(view, odd)
    lacked = lacked_records(view, image)
    if lacked is not None:
        why = f"a part of the metadata was {lacked}. What those created is not seen"
        yield from _not_judged(nodes, held, why, NEWER)
        return
    if image is None:
        yield from _not_judged(nodes, held, "the logs part, and nothing says which of them is right") if odd else ()
        return
    if any(replica.facts.image is image and replica.facts.rules.in_transaction for replica in view.replicas):
        why = "a metadata transaction is open, and what was created since is not seen"
        yield from _not_judged(nodes, held, why)
        return
    reach, proved_end = _reach(view)
    if reach < proved_end:
        why = (
            f"the logs here end at offset {reach}, though one reached {proved_end}: what was created since is not seen"
        )
        yield from _not_judged(nodes, held, why)
        return
    knowing = [replica.facts.rules for replica in view.replicas if replica.facts.rules.is_complete]
    for node in nodes:
        if node.node_id is not None:
            yield from _twice(node, held)
            yield from _of_node(node, NodeId(node.node_id), held, view, image, knowing, odd)


def _reach(view: ReplicaSet) -> tuple[int, int]:
    """Return the end of the longest log here, and the furthest end that a sidecar file proves."""
    reach = max((replica.reach for replica in view.replicas), default=0)
    return reach, max((replica.facts.proved_end for replica in view.replicas), default=0)


def _of_node(
    node: NodeSource,
    broker_id: NodeId,
    held: HeldPartitions,
    view: ReplicaSet,
    image: MetadataImage,
    knowing: Sequence[RecordRules],
    odd: frozenset[int],
) -> Iterator[Finding]:
    moved = FindingSink(node.node_id)
    rules = [replica.facts.rules for replica in view.replicas]
    own = partial(_own, node, view, odd)
    for disk in node.log_directories:
        for directory in _in_use(held, disk):
            if directory.complaint is not None:
                continue  # `start_obstacles` reports it
            facts, topic_id = directory.facts, directory.facts.topic_id
            if is_beyond(directory, disk, node, view, image):
                continue  # `committed_proof` reports it: it proves records that the logs have lost
            is_known = topic_id is None or not knowing or any(rules.was_ever(topic_id) for rules in knowing)
            verdict = judge(facts, image, broker_id, _directory_id(disk))
            verdict = with_wrong_id(verdict, facts, broker_id, image, rules, own)
            found = _finding(node, directory.path, facts, verdict, is_known=is_known)
            if found is not None:
                yield found
            elif verdict.kind is Kind.KEEP:
                _check_disk(node, disk, directory, held, image, moved)
    yield from moved.findings


def _own(node: NodeSource, view: ReplicaSet, odd: frozenset[int]) -> OwnLog | None:
    """Return the broker's own log, if it is intact, or None. `partitions.missing` reports faults of the disks'
    files."""
    for index, replica in enumerate(view.replicas):
        if replica.source is node and index not in odd and replica.facts.is_sound:
            return own_log(replica, FindingSink(node.node_id))
    return None


def _in_use(held: HeldPartitions, disk: LogDirectory) -> list[PartitionDirectory]:
    return [directory for directory in held.get(disk.path, ()) if directory.is_in_use]


def _twice(node: NodeSource, held: HeldPartitions) -> Iterator[Finding]:
    """Yield a finding for each partition that is on two disks. A future replica, which is being moved, does not
    count."""
    first: dict[str, Path] = {}
    for disk in node.log_directories:
        for directory in _in_use(held, disk):
            facts, path = directory.facts, directory.path
            if facts.is_future:
                continue
            other = first.setdefault(facts.name, path)
            if other != path:
                topic_id = None if facts.topic_id is None else id_text(facts.topic_id)
                what = f"{facts.name} is in {other}, too"
                yield finding("partition_twice", what, node_id=node.node_id, file=str(path), topic_id=topic_id)


def _check_disk(
    node: NodeSource,
    disk: LogDirectory,
    directory: PartitionDirectory,
    held: HeldPartitions,
    image: MetadataImage,
    sink: FindingSink,
) -> None:
    """Report a replica that is assigned to another disk of the broker, if it is not being moved there.

    A broker copies the replica first, then has it assigned to the copy's disk, and renames the copy (KIP-858).
    """
    facts, own, broker_id = directory.facts, _directory_id(disk), NodeId(node.node_id or 0)
    if own is None or facts.topic_id is None or facts.partition is None or facts.is_future:
        return
    partition = image.topics.partition(facts.topic_id, facts.partition)
    assigned = None if partition is None else partition.directory_of(broker_id)
    if assigned is None or assigned == own or is_reserved_directory_id(assigned):
        return
    target = next((other for other in node.log_directories if _directory_id(other) == assigned), None)
    broker = image.cluster.brokers.get(broker_id)
    if target is None:
        if broker is not None and assigned in broker.directories:
            return  # the disk was not named: the replica may be moving there
        where = "which is no longer one of the broker's"
    else:
        there = (other.facts for other in held.get(target.path, ()) if other.is_in_use)
        if any((other.topic_name, other.partition) == (facts.topic_name, facts.partition) for other in there):
            return  # it is being moved, or `_twice` reports it
        where = f"which is {target.path}"
    what = f"{facts.name}: it lies in directory {id_text(own)}, but the log has this replica in"
    what = f"{what} {id_text(assigned)}, {where}"
    sink.add(
        "partition_on_other_disk",
        what,
        group=(own, assigned),
        file=str(directory.path),
        topic_id=id_text(facts.topic_id),
    )


def newest_replica(view: ReplicaSet, odd: frozenset[int] = frozenset()) -> Replica | None:
    """Return the most advanced replica that can be replayed to its end, among those that a majority of voters reaches,
    or None.

    `odd` replicas, whose records differ from others', do not count. There is no result if they leave only logs that end
    before the committed lower bound.
    """
    known = [
        replica for index, replica in enumerate(view.replicas) if replica.facts.image is not None and index not in odd
    ]
    whole = [replica for replica in known if replica.reach >= view.bounds.lower]
    if odd and not whole:
        return None
    upper = view.bounds.upper
    held = [replica for replica in whole if upper is None or replica.reach <= upper]
    return max(held or whole or known, key=lambda replica: (replica.facts.last_epoch, replica.reach), default=None)


def newest_image(view: ReplicaSet, odd: frozenset[int] = frozenset()) -> MetadataImage | None:
    """Return the image of `newest_replica`, or None without such a replica."""
    newest = newest_replica(view, odd)
    return None if newest is None else newest.facts.image


def lacked_records(view: ReplicaSet, image: MetadataImage | None) -> str | None:
    """Return a sentence on the records of a later release that `image` lacks, or None if it lacks none here.

    A log with such records has no image, and the image of a log that ends before them is too old. The replica states
    where that log ends: an image after replay keeps the offset at which its replay began.
    """
    reach = max((replica.reach for replica in view.replicas if replica.facts.image is image), default=0)
    for replica in view.replicas:
        report = replica.facts
        if report.newer.hides_metadata and report.image is None and (image is None or replica.reach > reach):
            hiding = [part for part in report.newer.parts if part.hides_metadata]
            return NOTHING_NEWER.plus(*hiding).text("passed over")
    return None


def _not_judged(
    nodes: Sequence[NodeSource], held: HeldPartitions, why: str, advice: str | None = None
) -> Iterator[Finding]:
    for node in nodes:
        count = sum(len(_in_use(held, disk)) for disk in node.log_directories)
        if count:
            what = f"its {count} partition directories: {why}"
            yield finding("partitions_not_judged", what, node_id=node.node_id, file=str(node.path), advice=advice)


def _directory_id(disk: LogDirectory) -> DirectoryId | None:
    return None if disk.identity is None else disk.identity.directory_id


def _finding(
    node: NodeSource, path: Path, facts: DirectoryFacts, verdict: Verdict, *, is_known: bool
) -> Finding | None:
    file = str(path / PARTITION_METADATA_FILE)
    topic_id = None if facts.topic_id is None else id_text(facts.topic_id)
    severity = None
    if verdict.kind is Kind.KEEP:
        return None
    if verdict.kind is Kind.WRONG_ID or not is_known:
        kind = "partition_wrong_id"
    elif verdict.kind is Kind.MISSING_METADATA:
        kind = "partition_without_id"
    elif verdict.kind is Kind.STALE:
        kind = "partition_stale"
    elif verdict.kind is Kind.BEYOND:
        kind, severity = "partition_beyond_logs", Severity.WARNING
    elif verdict.kind is Kind.NOT_A_REPLICA:
        kind = "partition_elsewhere"
    else:
        return None
    names_it = verdict.kind is Kind.NOT_A_REPLICA and not facts.is_future
    what = verdict.why if names_it else f"{facts.name}: {verdict.why}"
    if not is_known and topic_id is not None and not is_reserved_topic_id(facts.topic_id or ZERO_TOPIC_ID):
        what = f"{facts.name}: no topic of this cluster ever had the id {topic_id} that its partition.metadata holds"
    return finding(kind, what, severity=severity, node_id=node.node_id, file=file, topic_id=topic_id)
