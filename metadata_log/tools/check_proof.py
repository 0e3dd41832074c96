"""What brokers' partition directories prove of the log: a broker makes one only for what is committed.

Decides: which directory is proof, and of how much. Must not know: how any is read.

A topic id that a log here gave at some offset was committed there, if a broker has a directory of it. One that no log
or checkpoint here ever gave was committed after all of them, if together they leave no offset out from the first record
on: then they have lost their end. Where they begin later, the topic may have come and gone before: no proof. But a
broker at work sets aside what is of no topic, so that such a directory in use is worth a warning. No proof is
a directory in the place of a partition that the broker has under another id (its partition.metadata is wrong), nor one
on a disk of another cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.directory import PARTITION_METADATA_FILE
from metadata_log.ids import NodeId, TopicId, id_text, is_reserved_topic_id
from metadata_log.image import MetadataImage
from metadata_log.tools.bounds import CommittedBounds
from metadata_log.tools.findings import Finding, Severity, finding
from metadata_log.tools.partition_directories import HeldPartitions, PartitionDirectory
from metadata_log.tools.quorum_view import QuorumView, lost_commits
from metadata_log.tools.sources import LogDirectory, NodeSource


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """All before `end` was committed, since the broker has the directory. `is_beyond`: no log here has its topic."""

    node: NodeSource
    directory: PartitionDirectory
    topic_id: TopicId
    end: int
    is_beyond: bool


def check_proof(
    nodes: Sequence[NodeSource], held: HeldPartitions, view: QuorumView, image: MetadataImage | None
) -> tuple[QuorumView, list[Finding]]:
    """What a majority has lost by what brokers hold: findings on the voters, and on the directories that prove it.

    Returned with the quorum as it is to be seen then: what is proven to be committed is.
    """
    proofs = list(_proofs(nodes, held, view, image))
    certain = [proof for proof in proofs if not proof.is_beyond or is_whole(view)]
    best = max(certain, key=lambda proof: proof.end, default=None)
    lost: list[Finding] = []
    if best is not None and best.end > view.bounds.lower:
        gave = "no log or checkpoint here ever gave it" if best.is_beyond else f"it was given at offset {best.end - 1}"
        because = (
            f"{best.node.label} has {best.directory.path.name} of topic id {id_text(best.topic_id)}, and a broker "
            f"makes a directory only for what is committed; {gave}"
        )
        upper = None if view.bounds.upper is None else max(view.bounds.upper, best.end)
        bounds = CommittedBounds(lower=best.end, upper=upper, because=because)
        view = msgspec.structs.replace(view, bounds=bounds)
        lost = list(lost_commits(view))
    return view, [*lost, *(_beyond(proof, is_lost=bool(lost)) for proof in proofs if proof.is_beyond)]


def is_beyond(
    directory: PartitionDirectory, disk: LogDirectory, node: NodeSource, view: QuorumView, image: MetadataImage | None
) -> bool:
    """Whether the directory is of a topic that no log here ever gave, and that was given after them all."""
    topic_id = directory.facts.topic_id
    if topic_id is None or is_reserved_topic_id(topic_id) or _given_at(topic_id, view) is not None:
        return False
    return not is_in_place(directory, node, image) and (is_whole(view) or _is_newer(directory, disk, node, view))


def is_whole(view: QuorumView) -> bool:
    """Whether the logs here leave no offset out, from the first record on."""
    reports = sorted((replica.report for replica in view.replicas), key=lambda report: report.start_offset)
    covered = 0
    for report in reports:
        if report.image is not None and report.start_offset <= covered and (covered or report.rules.is_complete):
            covered = max(covered, report.end_offset)
    return covered > 0 and covered >= max(replica.reach for replica in view.replicas)


def _is_newer(directory: PartitionDirectory, disk: LogDirectory, node: NodeSource, view: QuorumView) -> bool:
    """Where the logs begin later: whether the broker, at work with this disk when they end, would have set aside what
    is older than they are."""
    newest = max(view.replicas, key=lambda replica: (replica.report.last_epoch, replica.reach))
    image = newest.report.image
    if image is None or newest.report.settled is None or node.node_id is None or disk.identity is None:
        return False
    broker = image.cluster.brokers.get(NodeId(node.node_id))
    at_work = broker is not None and not broker.fenced and disk.identity.directory_id in broker.directories
    return at_work and directory.is_in_use and directory.path.exists()


def _proofs(
    nodes: Sequence[NodeSource], held: HeldPartitions, view: QuorumView, image: MetadataImage | None
) -> Iterator[Proof]:
    clusters = {replica.source.identity.cluster_id for replica in view.replicas if replica.source.identity is not None}
    end = max((replica.reach for replica in view.replicas), default=0)
    for node in nodes:
        for disk in node.log_directories:
            if disk.identity is None or disk.identity.cluster_id not in clusters:
                continue
            for directory in held.get(disk.path, ()):
                topic_id = directory.facts.topic_id
                if topic_id is None:
                    continue
                given = _given_at(topic_id, view)
                if given is not None:
                    yield Proof(node=node, directory=directory, topic_id=topic_id, end=given + 1, is_beyond=False)
                elif is_beyond(directory, disk, node, view, image):
                    yield Proof(node=node, directory=directory, topic_id=topic_id, end=end + 1, is_beyond=True)


def is_in_place(directory: PartitionDirectory, node: NodeSource, image: MetadataImage | None) -> bool:
    """Whether the broker has a partition of this name, so that it is the directory's id that is wrong."""
    facts = directory.facts
    if image is None or node.node_id is None or facts.topic_name is None or facts.partition is None:
        return False
    topic_id = image.topics.by_name.get(facts.topic_name)
    partition = None if topic_id is None else image.topics.partition(topic_id, facts.partition)
    return directory.is_in_use and partition is not None and NodeId(node.node_id) in partition.replicas


def _given_at(topic_id: TopicId, view: QuorumView) -> int | None:
    """The first offset at which a log here gave the id; -1 where a checkpoint did."""
    found = (replica.report.rules.given_at(topic_id) for replica in view.replicas)
    return min((offset for offset in found if offset is not None), default=None)


def _beyond(proof: Proof, *, is_lost: bool) -> Finding:
    facts, text = proof.directory.facts, id_text(proof.topic_id)
    what = (
        f"{facts.name}: no log or checkpoint here, up to offset {proof.end - 1}, ever gave a topic its id {text}, and "
        "a broker makes a directory only for what is committed"
    )
    what += "" if is_lost else ": other copies of the log may go further, or it was brought here from another cluster"
    severity = None if is_lost else Severity.WARNING
    file = str(proof.directory.path / PARTITION_METADATA_FILE)
    node_id = proof.node.node_id
    return finding("partition_beyond_logs", what, severity=severity, node_id=node_id, file=file, topic_id=text)
