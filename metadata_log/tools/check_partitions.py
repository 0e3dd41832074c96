"""Partition directories of brokers against the metadata: `partition.metadata` and the log must name the same topics.

Decides: how grave each verdict of `reconcile` is. Must not know: what is done about a directory (an audit offers
that). A stopped broker may hold directories of topics that went since, and a running one may be about to remove them:
such are notes. An id that no topic ever had is wrong, which is known where the log goes back to its first record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from metadata_log.directory import PARTITION_METADATA_FILE, read_partition_metadata
from metadata_log.errors import CorruptFileError
from metadata_log.ids import METADATA_TOPIC_NAME, DirectoryId, NodeId, TopicId, id_text
from metadata_log.image import MetadataImage
from metadata_log.os_files import OsFiles
from metadata_log.reconcile import DirectoryFacts, Kind, Verdict, facts_of, judge
from metadata_log.tools.findings import Finding, finding
from metadata_log.tools.quorum_view import QuorumView
from metadata_log.tools.sources import LogDirectory, NodeSource


def check_partitions(
    nodes: Sequence[NodeSource], view: QuorumView, odd: frozenset[int] = frozenset()
) -> Iterator[Finding]:
    """What is wrong with the partition directories of these nodes, by the image of `newest_image`."""
    image = newest_image(view, odd)
    if image is None:
        yield from _not_judged(nodes, "the logs part, and nothing says which of them is right") if odd else ()
        return
    if any(replica.report.image is image and replica.report.rules.in_transaction for replica in view.replicas):
        yield from _not_judged(nodes, "a metadata transaction is open, and what was created since is not seen")
        return
    knowing = [replica.report.rules for replica in view.replicas if replica.report.rules.is_complete]
    for node in nodes:
        if node.node_id is None:
            continue
        yield from _twice(node)
        for disk in node.log_directories:
            for facts, complaint in _partition_directories(disk):
                path = disk.path / facts.name
                if complaint is not None:
                    file = str(path / PARTITION_METADATA_FILE)
                    yield finding("corrupt_file", complaint, node_id=node.node_id, file=file)
                    continue
                topic_id = facts.topic_id
                is_known = topic_id is None or not knowing or any(rules.was_ever(topic_id) for rules in knowing)
                verdict = judge(facts, image, NodeId(node.node_id), _directory_id(disk))
                found = _finding(node, path, facts, verdict, is_known=is_known)
                if found is not None:
                    yield found


def _twice(node: NodeSource) -> Iterator[Finding]:
    """Partitions that stand on two disks, the copies that are on their way from one to another not counted."""
    first: dict[str, Path] = {}
    for disk in node.log_directories:
        for facts, _ in _partition_directories(disk):
            if facts.is_future or facts.topic_name == METADATA_TOPIC_NAME:
                continue
            path = disk.path / facts.name
            other = first.setdefault(facts.name, path)
            if other != path:
                topic_id = None if facts.topic_id is None else id_text(facts.topic_id)
                what = f"{facts.name} stands in {other}, too"
                yield finding("partition_twice", what, node_id=node.node_id, file=str(path), topic_id=topic_id)


def newest_image(view: QuorumView, odd: frozenset[int] = frozenset()) -> MetadataImage | None:
    """The image of the most advanced log that can be replayed to its end: of those that a majority of voters reaches.

    None is by a replica that is `odd`: one that holds other records than others do. Where a tie leaves only logs that
    end before what is committed, there is none.
    """
    known = [
        replica for index, replica in enumerate(view.replicas) if replica.report.image is not None and index not in odd
    ]
    whole = [replica for replica in known if replica.reach >= view.bounds.lower]
    if odd and not whole:
        return None
    upper = view.bounds.upper
    held = [replica for replica in whole if upper is None or replica.reach <= upper]
    best = max(held or whole or known, key=lambda replica: (replica.report.last_epoch, replica.reach), default=None)
    return None if best is None else best.report.image


def _not_judged(nodes: Sequence[NodeSource], why: str) -> Iterator[Finding]:
    for node in nodes:
        count = sum(
            facts.topic_name != METADATA_TOPIC_NAME
            for disk in node.log_directories
            for facts, _ in _partition_directories(disk)
        )
        if count:
            what = f"its {count} partition directories: {why}"
            yield finding("partitions_not_judged", what, node_id=node.node_id, file=str(node.path))


def _directory_id(disk: LogDirectory) -> DirectoryId | None:
    return None if disk.identity is None else disk.identity.directory_id


def _partition_directories(disk: LogDirectory) -> Iterator[tuple[DirectoryFacts, str | None]]:
    """The entries of a disk whose names are those of partitions, with why their id cannot be read."""
    try:
        children = sorted(child for child in disk.path.iterdir() if child.is_dir())
    except FileNotFoundError:
        return
    for child in children:
        facts = facts_of(child.name, None)
        if facts.topic_name is None or facts.is_deleted or facts.is_stray:
            continue
        try:
            yield facts_of(child.name, _topic_id(child)), None
        except CorruptFileError as error:
            yield facts, error.what
        except OSError as error:
            yield facts, f"it cannot be read: {error.strerror or error}"


def _topic_id(directory: Path) -> TopicId | None:
    try:
        return read_partition_metadata(OsFiles(), str(directory))
    except FileNotFoundError:
        return None


def _finding(
    node: NodeSource, path: Path, facts: DirectoryFacts, verdict: Verdict, *, is_known: bool
) -> Finding | None:
    file = str(path / PARTITION_METADATA_FILE)
    topic_id = None if facts.topic_id is None else id_text(facts.topic_id)
    if verdict.kind is Kind.KEEP:
        return None
    if verdict.kind is Kind.WRONG_ID or not is_known:
        kind = "partition_wrong_id"
    elif verdict.kind is Kind.MISSING_METADATA:
        kind = "partition_without_id"
    elif verdict.kind is Kind.STALE:
        kind = "partition_stale"
    elif verdict.kind is Kind.NOT_A_REPLICA:
        kind = "partition_elsewhere"
    else:
        return None
    why = verdict.why if is_known else f"no topic of this cluster ever had its id {topic_id}; {verdict.why}"
    return finding(kind, f"{facts.name}: {why}", node_id=node.node_id, file=file, topic_id=topic_id)
