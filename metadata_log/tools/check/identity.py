"""Checks the identity of directories: one cluster, one node for all disks of a node, one id for each directory.

Decides: which `meta.properties` is foreign. Must not know: of the metadata, more than voters and registered brokers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from metadata_log.directory import (
    META_PROPERTIES_FILE,
    METADATA_DIRECTORY,
    QUORUM_STATE_FILE,
    MetaProperties,
    read_quorum_state,
)
from metadata_log.directory.repair_files import unfinished_repair
from metadata_log.errors import MetadataLogError
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import ZERO_DIRECTORY_ID, DirectoryId, NodeId, ReplicaKey, id_text, is_reserved_directory_id
from metadata_log.image import MetadataImage
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records.levels import level_name
from metadata_log.storage.checkpoint import checkpoint_name
from metadata_log.tools.check.duplicates import Holder, check_duplicates
from metadata_log.tools.findings.advice import LOST_PROPERTIES, UNSHOWN_LOG, VOTERS_ID
from metadata_log.tools.findings.facts import ForeignDirectory
from metadata_log.tools.findings.finding import Finding, Severity, finding
from metadata_log.tools.findings.remedy import no_start
from metadata_log.tools.read.contents import voters_in_file
from metadata_log.tools.read.disks import is_brokers_disk
from metadata_log.tools.read.manifest import is_export
from metadata_log.tools.read.readable import unusable_identity, whose_disk
from metadata_log.tools.read.sources import LogDirectory, NodeSource
from metadata_log.tools.replicas.same_log import SameLog
from metadata_log.tools.replicas.side_by_side import two_metadata_logs
from metadata_log.voters import majority_of

_WITH_DIRECTORY_IDS: Final = 17
"""3.7-IV2: from this level on, every node gives each of its log directories an id when it starts (KIP-858)."""


def check_identity(
    nodes: Sequence[NodeSource],
    voters: Sequence[ReplicaKey],
    image: MetadataImage | None,
    progress: Mapping[Path, tuple[int, int, int]],
    relation: Callable[[NodeSource], SameLog],
) -> Iterator[Finding]:
    """Yield the faults of the `meta.properties` of these nodes.

    Args:
        voters: the voter set in force, by the logs.
        image: the newest metadata, or None.
        progress: by metadata directory, its log's last epoch and end, and the epoch of `quorum-state`.
        relation: returns whether a node's metadata log is the one that names `voters`.
    """
    yield from _unreadable(nodes)
    yield from _foreign_clusters(nodes)
    yield from _mixed_disks(nodes)
    known = directory_owners(voters, image)
    holders = [
        Holder(node=node, disk=disk, identity=identity, progress=progress.get(disk.path / METADATA_DIRECTORY))
        for node, disk, identity in _disks(nodes)
        if not is_export(disk.path) or _is_shared(identity, nodes)
    ]
    yield from check_duplicates(holders, known)
    yield from _of_other_nodes(nodes, known)
    yield from _without_id(nodes, voters, image, relation)
    yield from two_metadata_logs(nodes, progress)
    ours = [node for node in nodes if relation(node) is not SameLog.DENIED] if voters else ()
    yield from _former_voters(ours, voters, progress, relation)
    yield from _without_majority(ours, voters)
    yield from _unregistered(nodes, image, known)
    yield from _absent_disks(nodes, image)


def directory_owners(voters: Sequence[ReplicaKey], image: MetadataImage | None) -> dict[DirectoryId, int]:
    """Return the node id of each directory that the log names, as a voter's or a registered broker's."""
    known = {voter.directory_id: int(voter.node_id) for voter in voters if voter.directory_id != ZERO_DIRECTORY_ID}
    if image is not None:
        for broker_id, broker in sorted(image.cluster.brokers.items()):
            known |= {directory: int(broker_id) for directory in broker.directories}
    return known


def foreign_directory(identity: MetaProperties, owners: Mapping[DirectoryId, int]) -> ForeignDirectory | None:
    """Return the facts if the log names another node as the owner of this directory id, or None."""
    directory_id = identity.directory_id
    owner = None if directory_id is None else owners.get(directory_id)
    if directory_id is None or owner is None or owner == identity.node_id:
        return None
    return ForeignDirectory(node_id=identity.node_id, directory_id=directory_id, owner=owner)


def _is_shared(identity: MetaProperties, nodes: Sequence[NodeSource]) -> bool:
    """Return True if a directory of another node has this id. An export always shares the id of its source."""
    return identity.directory_id is not None and any(
        other.directory_id == identity.directory_id and other.node_id != identity.node_id
        for _, _, other in _disks(nodes)
    )


def _disks(nodes: Sequence[NodeSource]) -> Iterator[tuple[NodeSource, LogDirectory, MetaProperties]]:
    for node in nodes:
        for disk in node.log_directories:
            if disk.identity is not None:
                yield node, disk, disk.identity


def _file(disk: LogDirectory) -> str:
    return str(disk.path / META_PROPERTIES_FILE)


def _unreadable(nodes: Sequence[NodeSource]) -> Iterator[Finding]:
    for node in nodes:
        for disk in node.log_directories:
            if disk.error is not None:
                yield unusable_identity(node, disk, disk.error)
            elif disk.identity is None and unfinished_repair(OsFiles(), str(disk.path)) is None:
                what = f"{disk.path} has no {META_PROPERTIES_FILE}; {whose_disk(node, disk)}"
                is_logs = node.metadata is not None and node.metadata.parent == disk.path
                yield finding(
                    "not_formatted",
                    what,
                    severity=Severity.ERROR if is_logs else None,
                    node_id=node.node_id,
                    file=str(disk.path),
                    advice=LOST_PROPERTIES if is_logs else None,
                )


def cluster_of_most(nodes: Sequence[NodeSource]) -> str | None:
    """Return the cluster id that most directories have, or None at a tie or without any id."""
    ranked = Counter(identity.cluster_id for _, _, identity in _disks(nodes)).most_common(2)
    is_clear = bool(ranked) and (len(ranked) == 1 or ranked[0][1] > ranked[1][1])
    return ranked[0][0] if is_clear else None


def _foreign_clusters(nodes: Sequence[NodeSource]) -> Iterator[Finding]:
    clusters = {identity.cluster_id for _, _, identity in _disks(nodes)}
    own = cluster_of_most(nodes)
    for node, disk, identity in _disks(nodes) if len(clusters) > 1 else ():
        if identity.cluster_id != own:
            others = " and ".join(sorted(clusters - {identity.cluster_id}))
            what = f"it is of cluster {identity.cluster_id}; other directories are of {others}"
            yield finding("foreign_cluster", what, node_id=node.node_id, file=_file(disk))


def _mixed_disks(nodes: Sequence[NodeSource]) -> Iterator[Finding]:
    for node, disk, identity in _disks(nodes):
        if identity.node_id != node.node_id:
            what = f"it is of node {identity.node_id}, among the disks of node {node.node_id}"
            yield finding("foreign_node", what, node_id=node.node_id, file=_file(disk))


def _of_other_nodes(nodes: Sequence[NodeSource], known: dict[DirectoryId, int]) -> Iterator[Finding]:
    for node, disk, identity in _disks(nodes):
        facts = foreign_directory(identity, known)
        if facts is not None:
            yield finding(*facts.worded(), node_id=node.node_id, file=_file(disk))


def _without_id(
    nodes: Sequence[NodeSource],
    voters: Sequence[ReplicaKey],
    image: MetadataImage | None,
    relation: Callable[[NodeSource], SameLog],
) -> Iterator[Finding]:
    """Yield a finding for each log directory that lacks a usable id but must have one.

    A voter's must (KIP-853); from metadata.version 3.7-IV2 on, every log directory must (KIP-858). With the voter's id,
    another log would vote as that voter. So only the log that names the voter may be given it.
    """
    level = None if image is None else image.features.metadata_version
    for node, disk, identity in _disks(nodes):
        if identity.directory_id is not None and is_reserved_directory_id(identity.directory_id):
            what = f"its directory.id is {id_text(identity.directory_id)}, which is reserved: no node starts with it"
            yield finding("missing_directory_id", what, node_id=node.node_id, file=_file(disk))
        if identity.directory_id is not None:
            continue
        voter = next((voter for voter in voters if voter.node_id == identity.node_id), None)
        is_voter = voter is not None and voter.directory_id != ZERO_DIRECTORY_ID
        if is_voter and voter is not None and node.metadata is not None and node.metadata.parent == disk.path:
            what = f"it has no directory.id; the log has node {identity.node_id} as a voter with one"
            what += f", {id_text(voter.directory_id)}"
            related = relation(node)
            if related is not SameLog.SHOWN:
                is_denied = related is SameLog.DENIED
                what += ", but the log here is "
                what += "another cluster's" if is_denied else "not shown to be of the same cluster"
                yield finding("missing_directory_id", what, node_id=node.node_id, file=_file(disk), advice=UNSHOWN_LOG)
                continue
        elif level is not None and level >= _WITH_DIRECTORY_IDS:
            what = f"it has no directory.id, and at metadata.version {level_name(level)} each log directory has one"
        else:
            continue
        yield finding("missing_directory_id", what, node_id=node.node_id, file=_file(disk))


def _without_vote(
    nodes: Sequence[NodeSource], voters: Sequence[ReplicaKey]
) -> Iterator[tuple[NodeSource, LogDirectory, DirectoryId, ReplicaKey]]:
    """Yield each node whose id is a voter's but whose directory id is not, with that id and the voter's key.

    The voter's own directory must not be among those given.
    """
    own = {identity.directory_id for _, _, identity in _disks(nodes)}
    for node, disk, identity in _disks(nodes):
        if identity.directory_id is None or node.metadata is None or node.metadata.parent != disk.path:
            continue
        voter = next((voter for voter in voters if voter.node_id == identity.node_id), None)
        if voter is None or voter.directory_id in (ZERO_DIRECTORY_ID, identity.directory_id):
            continue
        if voter.directory_id not in own:
            yield node, disk, identity.directory_id, voter


def _former_voters(
    nodes: Sequence[NodeSource],
    voters: Sequence[ReplicaKey],
    progress: Mapping[Path, tuple[int, int, int]],
    relation: Callable[[NodeSource], SameLog],
) -> Iterator[Finding]:
    for node, disk, directory_id, voter in _without_vote(nodes, voters):
        if is_reserved_directory_id(directory_id):
            continue  # no node starts with it, as `_without_id` reports
        metadata = disk.path / METADATA_DIRECTORY
        is_shown = relation(node) is SameLog.SHOWN
        is_strange = not is_shown and _has_records(metadata, progress)
        proof = proof_of_voter(metadata, voter, is_of_voters_log=is_shown)
        what = (
            f"node {voter.node_id} is a voter with directory {id_text(voter.directory_id)}, and this is "
            f"{id_text(directory_id)}: it has no vote"
        )
        severity, advice = None, UNSHOWN_LOG if is_strange else None
        if proof is not None:
            what = f"{what}. But {proof}: its meta.properties was changed, and no disk was replaced"
            severity, advice = Severity.ERROR, no_start(VOTERS_ID.format(directory_id=id_text(voter.directory_id)))
        elif is_strange:
            what = f"{what}. And nothing shows that the log here is of the same cluster"
        yield finding("not_the_voter", what, severity=severity, node_id=node.node_id, file=_file(disk), advice=advice)


def _has_records(metadata: Path, progress: Mapping[Path, tuple[int, int, int]]) -> bool:
    _, end, _ = progress.get(metadata, (-1, 0, -1))
    return end > 0


def _without_majority(nodes: Sequence[NodeSource], voters: Sequence[ReplicaKey]) -> Iterator[Finding]:
    """Yield a finding for each replaced directory if the other voters are no majority, even if all of them run."""
    gone = {voter.node_id: (node, disk) for node, disk, _, voter in _without_vote(nodes, voters)}
    left = len(voters) - len(gone)
    if not gone or left >= majority_of(len(voters)):
        return
    for node_id, (node, disk) in sorted(gone.items()):
        named = ", ".join(map(str, sorted(gone)))
        what = (
            f"of {len(voters)} voters {len(gone)} (node {named}) have other directories than the log names: the {left} "
            f"left elect no leader, and node {node_id}'s is one"
        )
        yield finding("no_majority_of_voters", what, node_id=node.node_id, file=_file(disk))


def _unregistered(
    nodes: Sequence[NodeSource], image: MetadataImage | None, known: Mapping[DirectoryId, int]
) -> Iterator[Finding]:
    """Yield each broker's disk with an unregistered id, if a registered id of that broker is on no disk here.

    A new disk has an unregistered id until the broker's next start, but then no registered id is missing. A separate
    `metadata.log.dir` is never registered.

    Args:
        known: the node of each id that the log names.
    """
    here = {identity.directory_id for _, _, identity in _disks(nodes)}
    for node, disk, identity in _disks(nodes):
        broker = None if image is None else image.cluster.brokers.get(identity.node_id)
        if broker is None or identity.directory_id is None or identity.directory_id in known:
            continue
        gone = [directory for directory in broker.directories if directory not in here]
        if gone and is_brokers_disk(OsFiles(), str(disk.path)):
            what = (
                f"its directory.id is {id_text(identity.directory_id)}; broker {identity.node_id} is registered with "
                f"{', '.join(map(id_text, gone))}, which no disk here has"
            )
            yield finding("directory_not_registered", what, node_id=node.node_id, file=_file(disk))


def _absent_disks(nodes: Sequence[NodeSource], image: MetadataImage | None) -> Iterator[Finding]:
    """Yield each registered directory with replicas that is on no disk here, though the broker's other disks are.

    If a given disk may be that directory, there is no finding: it has no identity, or an unregistered id.
    """
    here = {identity.directory_id for _, _, identity in _disks(nodes)}
    if image is None or any(disk.identity is None for node in nodes for disk in node.log_directories):
        return
    for node in nodes:
        broker = None if node.node_id is None else image.cluster.brokers.get(NodeId(node.node_id))
        own = [disk for disk in node.log_directories if not is_export(disk.path) and disk.identity is not None]
        if broker is None or not own:
            continue
        if any(disk.identity is None or disk.identity.directory_id not in broker.directories for disk in own):
            continue
        for directory in broker.directories:
            held = 0 if directory in here else _replicas_in(image, broker.broker_id, directory)
            if held:
                what = (
                    f"broker {node.node_id} is registered with directory {id_text(directory)}, which no disk here has, "
                    f"and {held} of its replicas are assigned there"
                )
                yield finding("disk_absent", what, node_id=node.node_id, file=str(node.path))


def _replicas_in(image: MetadataImage, broker_id: NodeId, directory: DirectoryId) -> int:
    return sum(
        partition.directory_of(broker_id) == directory
        for topic in image.topics.by_id.values()
        for partition in topic.partitions
    )


_FIRST: Final = checkpoint_name(OffsetAndEpoch(offset=Offset(0), epoch=Epoch(0)))


def proof_of_voter(metadata: Path, voter: ReplicaKey, *, is_of_voters_log: bool) -> str | None:
    """Return half a sentence on the file that proves that this is the voter's directory, or None.

    A process writes its own directory id into its first checkpoint and as its own vote. Both remain if a person changes
    `meta.properties`. To have led proves it only in the log that names the voter: others may have that node id.
    """
    first = metadata / _FIRST
    try:
        if voter in (voters_in_file(OsFiles(), str(first)) or ()):
            return f"{first.name} in it names that one"
    except (OSError, MetadataLogError):
        pass  # the verification of the file reports its fault
    try:
        state = read_quorum_state(OsFiles(), str(metadata))
    except (OSError, MetadataLogError):
        return None
    if state is not None and state.voted_key == voter:
        return f"{QUORUM_STATE_FILE} in it voted for itself as that one"
    if is_of_voters_log and state is not None and state.leader_id == voter.node_id:
        return f"{QUORUM_STATE_FILE} in it led epoch {state.leader_epoch}, and only a voter leads"
    return None
