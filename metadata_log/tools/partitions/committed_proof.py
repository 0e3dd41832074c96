"""The proof of committed records by brokers' partition directories: a broker creates one only for a committed record.

Decides: which directory is proof, and of how much. Must not know: how directories and logs are read.

If a record of a log here assigned the directory's topic id, partition or replica, all up to that record was committed.

If no log or checkpoint here ever assigned it, the record may have come after all of them. It certainly did if together
they cover every offset from the first record on. Then they have lost their end. If they begin later, the topic may have
come and gone before, so the directory is no proof. Two cases remain. A partition number beyond those of a topic that
exists at the end is proof, because partitions never become fewer. And a broker at work renames the directories of
unknown topics, so such a directory in use deserves a warning.

A directory is no proof in these cases:
- The broker has the partition under another topic id: partition.metadata is wrong.
- The disk is of another cluster.
- No log here assigned it, and it is a stray: a broker has started since, or an operator has looked.
- It looks copied or renamed by hand (`copied_directories`).

The last two are reported. The broker's own replica need not have assigned the directory. The broker follows a quorum
that lost its end, and truncates what the others lack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from metadata_log.directory import PARTITION_METADATA_FILE
from metadata_log.directory.clean_shutdown import registered_end
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import NodeId, TopicId, id_text, is_reserved_topic_id
from metadata_log.image import MetadataImage, TopicImage
from metadata_log.reconcile import DirectoryFacts
from metadata_log.tools.findings.advice import KEEP_PROOF
from metadata_log.tools.findings.facts import Facts, LogCut
from metadata_log.tools.findings.finding import Finding, Severity, finding, with_advice, with_facts
from metadata_log.tools.findings.partition_facts import LostWithTheLogs
from metadata_log.tools.partitions.copied_directories import CopiedDirectories, CopiedReason
from metadata_log.tools.partitions.directories import HeldPartitions, PartitionDirectory
from metadata_log.tools.partitions.partition_advice import BROUGHT, BROUGHT_AND_GONE, STRAY_BEYOND
from metadata_log.tools.read.sources import LogDirectory, NodeSource
from metadata_log.tools.replicas.committed_bounds import CommittedBounds
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet, lost_commits
from metadata_log.tools.rules.records import RecordRules
from metadata_log.tools.verify.lost_end import is_unproven_end


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """All records before `end` were committed, since the broker has the directory.

    `is_beyond`: no log here ever assigned it. `owner`: see `owner_of`.
    """

    node: NodeSource
    directory: PartitionDirectory
    topic_id: TopicId
    end: int
    is_beyond: bool
    owner: NodeId | None = None
    brought: CopiedReason | None = None

    @property
    def because(self) -> str:
        """The reason why all records before `end` were committed, as a clause."""
        gave = f"it was given at offset {self.end - 1}"
        if self.is_beyond:
            gave = "no log or checkpoint here ever gave it (or it was brought here from another cluster)"
        return (
            f"{self.node.label} has {self.directory.path.name} of topic id {id_text(self.topic_id)}, and a broker "
            f"makes a directory only for what is committed; {gave}"
        )

    @property
    def is_set_aside(self) -> bool:
        """Return True if no log here assigned it, and a broker or a quarantine has renamed it to -stray."""
        return self.is_beyond and self.directory.facts.is_stray


def check_proof(
    nodes: Sequence[NodeSource], held: HeldPartitions, view: ReplicaSet, image: MetadataImage | None
) -> tuple[ReplicaSet, list[Finding]]:
    """Return the quorum with the committed bounds that brokers' directories prove, and findings on voters and
    directories."""
    proofs = list(_proofs(nodes, held, view, image))
    best = _best(proofs, view)
    lost: list[Finding] = []
    if best is not None and best.end > view.bounds.lower:
        upper = None if view.bounds.upper is None else max(view.bounds.upper, best.end)
        bounds = CommittedBounds(lower=best.end, upper=upper, because=best.because)
        # First raise the bounds: `lost_commits` then finds the voters that lack the proven records.
        view = view.with_bounds(bounds)
        lost = list(lost_commits(view))
    elif max((replica.reach for replica in view.replicas), default=0) < view.bounds.lower:
        lost = list(lost_commits(view))  # no log has the records that the directories may be of
    beyond = [_beyond(proof, view, is_lost=bool(lost)) for proof in proofs if proof.is_beyond]
    return view, [*lost, *beyond]


def proven_end(nodes: Sequence[NodeSource], held: HeldPartitions, view: ReplicaSet, image: MetadataImage | None) -> int:
    """Return the offset before which all is certainly committed, by the logs and by brokers' directories."""
    best = _best(list(_proofs(nodes, held, view, image)), view)
    return view.bounds.lower if best is None else max(view.bounds.lower, best.end)


def certain_proofs(
    nodes: Sequence[NodeSource], held: HeldPartitions, view: ReplicaSet, image: MetadataImage | None
) -> list[tuple[Proof, tuple[Replica, ...]]]:
    """Return the proofs that leave no doubt, each with the replicas whose records it proves; none if it is beyond
    all."""
    found = [proof for proof in _proofs(nodes, held, view, image) if _leaves_no_doubt(proof, view)]
    return [(proof, () if proof.is_beyond else tuple(_proven_in(proof, view))) for proof in found]


def _proven_in(proof: Proof, view: ReplicaSet) -> Iterator[Replica]:
    for replica in view.replicas:
        if _given_in(replica.facts.rules, proof.directory.facts, proof.owner) == proof.end - 1:
            yield replica


def _best(proofs: Sequence[Proof], view: ReplicaSet) -> Proof | None:
    certain = (proof for proof in proofs if _leaves_no_doubt(proof, view))
    return max(certain, key=lambda proof: proof.end, default=None)


def _leaves_no_doubt(proof: Proof, view: ReplicaSet) -> bool:
    is_certain = not proof.is_beyond or _is_certain(proof.directory.facts, view)
    return is_certain and not proof.is_set_aside and proof.brought is None


def judged_ends(found: Iterable[Finding], nodes: Sequence[NodeSource], view: ReplicaSet) -> Iterator[Finding]:
    """Yield the findings. If records of a lost end are proven to have been committed, that finding becomes an error."""
    lower, because = view.bounds.lower, view.bounds.because
    for node in nodes:
        end = registered_end(OsFiles(), (str(disk.path) for disk in node.log_directories))
        if end > lower:
            lower, because = end, f"{node.label} was stopped in an orderly way, registered at offset {end - 1}"
    for one in found:
        if not isinstance(one.facts, LogCut) or not is_unproven_end(one) or (one.offset or 0) >= lower:
            yield one
            continue
        facts = msgspec.structs.replace(one.facts, is_unproven=False, committed_before=lower, because=because)
        yield msgspec.structs.replace(with_advice(with_facts(one, facts), KEEP_PROOF), severity=Severity.ERROR)


def is_beyond(
    directory: PartitionDirectory, disk: LogDirectory, node: NodeSource, view: ReplicaSet, image: MetadataImage | None
) -> bool:
    """Return True if no log here ever assigned the directory, and it was assigned after the end of all of them."""
    topic_id = directory.facts.topic_id
    if (
        topic_id is None
        or is_reserved_topic_id(topic_id)
        or _given_at(directory.facts, owner_of(disk, node, view), view) is not None
    ):
        return False
    if is_in_place(directory, node, image):
        return False
    return _is_certain(directory.facts, view) or (
        _name_of(topic_id, view) is None and _is_newer(directory, disk, node, view)
    )


def _is_certain(facts: DirectoryFacts, view: ReplicaSet) -> bool:
    """Return True if a directory that no log here assigned was certainly assigned after their end."""
    if is_whole(view):
        return True
    topic = None if facts.topic_id is None else _newest_topic(facts.topic_id, view)
    return topic is not None and facts.partition is not None and topic.partition(facts.partition) is None


def _newest_topic(topic_id: TopicId, view: ReplicaSet) -> TopicImage | None:
    newest = max(view.replicas, key=lambda replica: (replica.facts.last_epoch, replica.reach))
    image = newest.facts.image
    return None if image is None or newest.facts.end_offset < newest.reach else image.topics.topic(topic_id)


def is_whole(view: ReplicaSet) -> bool:
    """Return True if the logs here together cover every offset from the first record on."""
    reports = sorted((replica.facts for replica in view.replicas), key=lambda report: report.start_offset)
    covered = 0
    for report in reports:
        if report.image is not None and report.start_offset <= covered and (covered or report.rules.is_complete):
            covered = max(covered, report.end_offset)
    return covered > 0 and covered >= max(replica.reach for replica in view.replicas)


def _is_newer(directory: PartitionDirectory, disk: LogDirectory, node: NodeSource, view: ReplicaSet) -> bool:
    """Return True if the broker is at work with this disk when the logs end. Then it would have renamed an older
    directory."""
    newest = max(view.replicas, key=lambda replica: (replica.facts.last_epoch, replica.reach))
    image = newest.facts.image
    if image is None or newest.facts.settled is None or node.node_id is None or disk.identity is None:
        return False
    broker = image.cluster.brokers.get(NodeId(node.node_id))
    at_work = broker is not None and not broker.fenced and disk.identity.directory_id in broker.directories
    return at_work and directory.is_in_use and directory.path.exists()


def _proofs(
    nodes: Sequence[NodeSource], held: HeldPartitions, view: ReplicaSet, image: MetadataImage | None
) -> Iterator[Proof]:
    clusters = {replica.source.identity.cluster_id for replica in view.replicas if replica.source.identity is not None}
    end = max((replica.reach for replica in view.replicas), default=0)
    by_hand = CopiedDirectories(held, image)
    for node in nodes:
        for disk in node.log_directories:
            if disk.identity is None or disk.identity.cluster_id not in clusters:
                continue
            owner = owner_of(disk, node, view)
            for directory in held.get(disk.path, ()):
                topic_id = directory.facts.topic_id
                if topic_id is None:
                    continue
                given = _given_at(directory.facts, owner, view)
                if given is not None:
                    yield Proof(
                        node=node, directory=directory, topic_id=topic_id, end=given + 1, is_beyond=False, owner=owner
                    )
                elif is_beyond(directory, disk, node, view, image):
                    yield Proof(
                        node=node,
                        directory=directory,
                        topic_id=topic_id,
                        end=end + 1,
                        is_beyond=True,
                        brought=by_hand.why(directory, node),
                    )


def is_in_place(directory: PartitionDirectory, node: NodeSource, image: MetadataImage | None) -> bool:
    """Return True if the broker has a partition of this name. Then the directory's topic id is wrong."""
    facts = directory.facts
    if image is None or node.node_id is None or facts.topic_name is None or facts.partition is None:
        return False
    topic_id = image.topics.by_name.get(facts.topic_name)
    partition = None if topic_id is None else image.topics.partition(topic_id, facts.partition)
    return directory.is_in_use and partition is not None and NodeId(node.node_id) in partition.replicas


def owner_of(disk: LogDirectory, node: NodeSource, view: ReplicaSet) -> NodeId | None:
    """Return the broker that has registered this disk in a log here, or None."""
    if disk.identity is None or disk.identity.node_id != node.node_id:
        return None
    directory_id, broker_id = disk.identity.directory_id, NodeId(disk.identity.node_id)
    for replica in view.replicas:
        image = replica.facts.image
        broker = None if image is None else image.cluster.brokers.get(broker_id)
        if broker is not None and directory_id in broker.directories:
            return broker_id
    return None


def _given_at(facts: DirectoryFacts, owner: NodeId | None, view: ReplicaSet) -> int | None:
    """Return the first offset at which a log here assigned the directory; -1 if a checkpoint did; None if none did.

    The assignment is that of the owner's replica. Without a known owner it is the partition's, otherwise the topic's.
    """
    found = (_given_in(replica.facts.rules, facts, owner) for replica in view.replicas)
    given = [offset for offset in found if offset is not None]
    return min((offset for offset in given if offset >= 0), default=-1) if given else None


def _given_in(rules: RecordRules, facts: DirectoryFacts, owner: NodeId | None) -> int | None:
    """Return the first offset at which one log assigned the directory, see `_given_at`."""
    if facts.topic_id is None:
        return None
    if facts.topic_name is None or facts.partition is None:
        return rules.given_at(facts.topic_id)
    return rules.given_to(facts.topic_id, facts.topic_name, facts.partition, owner)


def _name_of(topic_id: TopicId, view: ReplicaSet) -> str | None:
    """Return the name of the topic to which a log here gave the id, or None."""
    names = (replica.facts.rules.name_of(topic_id) for replica in view.replicas)
    return next((name for name in names if name is not None), None)


def _is_in_an_image(topic_id: TopicId, partition: int | None, view: ReplicaSet) -> bool:
    images = (replica.facts.image for replica in view.replicas)
    return partition is not None and any(
        image is not None and image.topics.partition(topic_id, partition) is not None for image in images
    )


def never_given(facts: DirectoryFacts, topic_id: TopicId, label: str, view: ReplicaSet) -> str:
    """Return the end of a sentence: what no log here ever did for a directory of the broker `label`."""
    name = _name_of(topic_id, view)
    if name is None:
        return f"gave a topic its id {id_text(topic_id)}"
    if _is_in_an_image(topic_id, facts.partition, view):
        return f"made {label} a replica of {name}-{facts.partition}"
    return f"gave topic {name!r} its partition {facts.partition}"


def _beyond(proof: Proof, view: ReplicaSet, *, is_lost: bool) -> Finding:
    facts, severity, advice = proof.directory.facts, None, None
    never = never_given(facts, proof.topic_id, proof.node.label, view)
    made: Facts = LostWithTheLogs(name=facts.name, end=proof.end - 1, never=never)
    what: Facts | str = made.kind
    meaning = ""
    if proof.is_set_aside:
        meaning = made.meaning()
        severity, advice = Severity.NOTE, STRAY_BEYOND
    elif proof.brought is not None:
        meaning = f"{facts.name}: no log or checkpoint here, up to offset {proof.end - 1}, ever {never}"
        meaning += f"; {proof.brought.why}"
        severity = Severity.ERROR if proof.brought.is_gone else Severity.WARNING
        advice = BROUGHT_AND_GONE if proof.brought.is_gone else BROUGHT
    elif is_lost:
        what = made
    else:
        meaning = (
            f"{made.meaning()}: other copies of the log may go further, or it was brought here from another cluster"
        )
        severity = Severity.WARNING
    return finding(
        what,
        meaning,
        severity=severity,
        node_id=proof.node.node_id,
        file=str(proof.directory.path / PARTITION_METADATA_FILE),
        topic_id=id_text(proof.topic_id),
        advice=advice,
    )
