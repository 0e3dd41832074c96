"""Proofs of committed records by the partition directories on brokers' disks.

Decides: which disks are read, which copies hold the proven records, and when their logs are replayed for it. Must not
know: the rule, which is that of `kraft check` (`committed_proof`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from metadata_log.files.port import Files
from metadata_log.ids import NodeId
from metadata_log.reconcile import DirectoryFacts
from metadata_log.tools.partitions.committed_proof import Proof, certain_proofs
from metadata_log.tools.partitions.directories import PartitionDirectory, list_partitions
from metadata_log.tools.partitions.placement import newest_image
from metadata_log.tools.read.sources import LogDirectory, NodeSource
from metadata_log.tools.replicas.committed_bounds import ProvenCommit
from metadata_log.tools.replicas.diff import odd_replicas
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from quorum.recovery.copies.foreign_copies import replayed
from quorum.recovery.copies.log_copy import Copy, by_node
from quorum.recovery.journal.log_directories import Place, disks_at


class BrokersDisk(msgspec.Struct, frozen=True, kw_only=True):
    """A log directory and the partition directories in it."""

    place: Place
    held: tuple[PartitionDirectory, ...]


def brokers_disks(files: Files, paths: Iterable[str]) -> list[BrokersDisk]:
    """Return the log directories at these paths that hold partitions, with or without a metadata log, each once.

    Call this before the logs are read: a broker at work may create a directory after that.

    Raises:
        OSError: a directory cannot be listed.
    """
    places = {place.log_dir: place for path in paths for place in disks_at(files, path) if place.identity is not None}
    disks = (BrokersDisk(place=place, held=_partitions(files, place)) for place in places.values())
    return [disk for disk in disks if disk.held]


def is_bare_disk(files: Files, path: str, disks: Sequence[BrokersDisk]) -> bool:
    """Return True if a path leads to brokers' disks of `disks` alone, without a metadata log."""
    places = disks_at(files, path)
    held = {disk.place.log_dir for disk in disks}
    return any(place.log_dir in held for place in places) and not any(files.exists(place.metadata) for place in places)


def with_partition_proofs(files: Files, copies: Sequence[Copy], disks: Sequence[BrokersDisk]) -> list[Copy]:
    """Return the copies, each with the records of its log that these directories prove committed.

    The logs are replayed for it only if these directories may prove more than the logs do. They do not if the metadata
    of each copy has all of them, and if all that every copy holds is known to be committed.

    Raises:
        OSError: a log cannot be read again.
    """
    clusters = {copy.place.identity.cluster_id for copy in copies if copy.place.identity is not None}
    ours = [disk for disk in disks if disk.place.identity is not None and disk.place.identity.cluster_id in clusters]
    is_in_all = all(_is_assigned(copy, disk, one.facts) for disk in ours for one in disk.held for copy in copies)
    if is_in_all and (not ours or _known_committed(copies) >= min(int(copy.end.offset) for copy in copies)):
        return list(copies)
    ordered = by_node(copies)
    view = ReplicaSet([replayed(files, copy.place) for copy in ordered])
    odd = odd_replicas(view)
    image = newest_image(view, odd)
    trusted = [one for index, one in enumerate(view.replicas) if index not in odd]
    held = {Path(disk.place.log_dir): disk.held for disk in ours}
    best = max(copies, key=lambda copy: copy.rank)
    proven: dict[int, ProvenCommit] = {}
    for proof, replicas in certain_proofs(list(_nodes(ours)), held, view, image):
        believed = [one for one in replicas if any(one is each for each in trusted)]
        for copy in _proven_copies(proof, believed, view, ordered, best):
            known = proven.get(id(copy))
            if known is None or known.end < proof.end:
                disk = str(proof.directory.path.parent)
                proven[id(copy)] = ProvenCommit(end=proof.end, because=proof.because, disk=disk)
    return [msgspec.structs.replace(copy, proven=proven.get(id(copy))) for copy in copies]


def _proven_copies(
    proof: Proof, replicas: Sequence[Replica], view: ReplicaSet, ordered: Sequence[Copy], best: Copy
) -> list[Copy]:
    """Return the copies whose records are proven: those that hold the record which assigned the directory.

    A directory that no log assigned proves more than the best log has. It proves nothing if logs here may be of another
    cluster.
    """
    if not proof.is_beyond:
        pairs = zip(ordered, view.replicas, strict=True)
        holders = [copy for copy, one in pairs if any(one is each for each in replicas)]
        return [copy for copy in holders if copy.epoch_at(proof.end - 1) >= 0]
    first = view.replicas[0]
    return [best] if all(view.shows_one_log(first, other) for other in view.replicas[1:]) else []


def _known_committed(copies: Sequence[Copy]) -> int:
    """Return the offset before which all is committed by the logs, without any directory."""
    return ReplicaSet([copy.replica for copy in copies if copy.replica is not None]).bounds.lower


def _is_assigned(copy: Copy, disk: BrokersDisk, facts: DirectoryFacts) -> bool:
    """Return True if the metadata at the end of the copy has this directory on the disk's broker."""
    image, identity = copy.last_image, disk.place.identity
    if facts.topic_id is None:
        return True  # it proves nothing
    if image is None or identity is None or facts.partition is None:
        return False
    partition = image.topics.partition(facts.topic_id, facts.partition)
    return partition is not None and NodeId(identity.node_id) in partition.replicas


def _nodes(disks: Iterable[BrokersDisk]) -> Iterator[NodeSource]:
    """Yield the brokers of these disks, as `kraft check` knows them."""
    known = [(int(disk.place.identity.node_id), disk) for disk in disks if disk.place.identity is not None]
    for node_id, group in groupby(sorted(known, key=lambda one: (one[0], one[1].place.log_dir)), lambda one: one[0]):
        own = tuple(_log_directory(disk.place) for _, disk in group)
        yield NodeSource(path=own[0].path, node_id=node_id, metadata=None, log_directories=own)


def _partitions(files: Files, place: Place) -> tuple[PartitionDirectory, ...]:
    disk = _log_directory(place)
    node = NodeSource(path=disk.path, node_id=place.node_id, metadata=None, log_directories=(disk,))
    return list_partitions([node], files)[disk.path]


def _log_directory(place: Place) -> LogDirectory:
    return LogDirectory(path=Path(place.log_dir), identity=place.identity)
