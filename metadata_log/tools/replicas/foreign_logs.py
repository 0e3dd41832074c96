"""Finds metadata logs of another cluster in a node's directory of this one.

Decides: which log is foreign, and which logs are the witnesses. Must not know: other faults of a log.

A foreign log must not be compared: it may reach further, in later epochs, and would make the others look wrong. Nothing
in a log names its cluster, so two logs are foreign to each other in these cases:

- Both begin at offset 0 in one epoch, and none of their first batches is the same. Replicas would share the bytes.
- Otherwise, they have no batch, no topic, no broker's registration and no voter's directory in common. If no offset is
  in both logs, that is not enough, since all of these may have been replaced between the two. Then their metadata must
  also contradict each other (`same_log`), or one log's directory is named by the other log but not by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from itertools import combinations, islice
from typing import Final

import msgspec

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.ids import DirectoryId, NodeId
from metadata_log.image import MetadataImage
from metadata_log.tools.findings.finding import Finding, finding
from metadata_log.tools.read.log_reader import LogReader
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet, undecided_clusters
from metadata_log.tools.replicas.same_log import SameLog, contradiction, named_directories, traces_of
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.words import join_names

_COMPARED: Final = 16
"""The number of first batches that are compared."""


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    """Epoch and checksum of a log's first batches, by their base offsets."""

    batches: dict[int, tuple[int, int]]

    def has_first_epoch_of(self, other: _Head) -> bool:
        """Return True if both begin at offset 0 in the same epoch."""
        mine, theirs = self.batches, other.batches
        return 0 in mine and 0 in theirs and mine[0][0] == theirs[0][0]

    def is_strange_to(self, other: _Head) -> bool:
        """Return True if both begin at offset 0 in the same epoch, and share none of these batches."""
        mine, theirs = self.batches, other.batches
        if not self.has_first_epoch_of(other):
            return False
        return all(theirs.get(offset) != batch for offset, batch in mine.items())


class OfOneCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The logs that may be compared, and those that may not.

    Attributes:
        logs: the logs that are not known to be foreign.
        undecided: logs of several clusters, if nothing shows which cluster is this one. No log of them judges another.
        findings: one for each foreign log, and one for all undecided logs.
    """

    logs: tuple[Replica, ...]
    undecided: tuple[Replica, ...]
    findings: tuple[Finding, ...]


def of_one_cluster(logs: Sequence[Replica], files: Files | None = None) -> OfOneCluster:
    """Return the logs of one cluster, and the findings on foreign logs.

    At least two logs that are a majority of the voters that they name must be of one cluster to call others foreign.
    """
    heads = {
        index: _head(files or OsFiles(), log.facts.segments[0])
        for index, log in enumerate(logs)
        if log.facts.segments and log.facts.start_offset == 0 and log.facts.is_sound
    }
    replicas = ReplicaSet(logs)
    strange = _strange_pairs(replicas, heads)
    clusters = _clusters(logs, heads, strange)
    if len(clusters) < 2:
        return OfOneCluster(logs=tuple(logs), undecided=(), findings=())
    ours = _most_certain(logs, clusters)
    every = {index for cluster in clusters for index in cluster}
    left = tuple(log for index, log in enumerate(logs) if index not in every or index in (ours or ()))
    if ours is None:
        undecided = tuple(log for index, log in enumerate(logs) if index in every)
        return OfOneCluster(logs=left, undecided=undecided, findings=(_of_nobody(replicas, clusters, heads),))
    found = (_finding(logs, index, ours, heads) for index in sorted(every.difference(ours)))
    return OfOneCluster(logs=left, undecided=(), findings=tuple(found))


def _clusters(
    logs: Sequence[Replica], heads: Mapping[int, _Head], strange: Collection[frozenset[int]]
) -> list[list[int]]:
    """Return the logs that have enough to compare, by their indexes, grouped by cluster.

    The result is empty if a log is foreign to neither of two logs that are foreign to each other. Then it is unknown
    which of the three belong together.
    """
    known = [index for index, log in enumerate(logs) if index in heads or _is_known(log.facts)]
    clusters: list[list[int]] = []
    for index in known:
        own = [cluster for cluster in clusters if any(frozenset((index, one)) not in strange for one in cluster)]
        rest = [cluster for cluster in clusters if cluster not in own]
        clusters = [*rest, sorted([index, *(one for cluster in own for one in cluster)])]
    is_clear = not any(frozenset(pair) in strange for cluster in clusters for pair in combinations(cluster, 2))
    return sorted(clusters) if is_clear else []


def _most_certain(logs: Sequence[Replica], clusters: Sequence[Sequence[int]]) -> Sequence[int] | None:
    """Return the cluster that makes the others foreign, or None.

    It must have at least two logs, a majority of the voters that they name, and more logs than any other such cluster.
    A single log must never make another log foreign: it could be the foreign one.
    """
    able = sorted((one for one in clusters if len(one) > 1 and are_majority(logs, one)), key=len)
    return able[-1] if able and (len(able) == 1 or len(able[-2]) < len(able[-1])) else None


def _strange_pairs(replicas: ReplicaSet, heads: Mapping[int, _Head]) -> set[frozenset[int]]:
    """Return each pair of logs, by their indexes, that were never replicas of one log."""
    found = set()
    logs = replicas.replicas
    for one, other in combinations(range(len(logs)), 2):
        if one in heads and other in heads and heads[one].has_first_epoch_of(heads[other]):
            is_strange = heads[one].is_strange_to(heads[other])
        else:
            is_strange = _have_nothing_in_common(replicas, logs[one], logs[other])
        if is_strange:
            found.add(frozenset((one, other)))
    return found


def _is_known(report: LogFacts) -> bool:
    """Return True if it has topics or brokers, whose ids no other cluster shares."""
    return any(image.topics.by_id or image.cluster.brokers for image in _images(report))


def _images(report: LogFacts) -> list[MetadataImage]:
    images = [report.image, *(one.image for one in report.checkpoints)]
    return [image for image in images if image is not None]


def _have_nothing_in_common(replicas: ReplicaSet, one: Replica, other: Replica) -> bool:
    """Return True if the two share nothing that replicas share, and something shows that they are not of one log."""
    mine, theirs = one.facts, other.facts
    shared = named_directories(mine.known_voters) & named_directories(theirs.known_voters)
    if shared or not _have_other_topics(mine, theirs):
        return False
    if replicas.same_log(one, other) is SameLog.DENIED:
        return True
    if max(mine.start_offset, theirs.start_offset) < min(mine.end_offset, theirs.end_offset):
        return False
    return _is_misplaced(one, theirs) or _is_misplaced(other, mine)


def _have_other_topics(one: LogFacts, other: LogFacts) -> bool:
    """Return True if both have topics and brokers, but share no topic and no registration."""
    for mine, theirs in ((one, other), (other, one)):
        topics = {topic_id for image in _images(mine) for topic_id in image.topics.by_id}
        if not topics or any(theirs.rules.was_ever(topic_id) for topic_id in topics):
            return False
    lives = [
        {
            (broker.broker_id, broker.epoch, broker.incarnation_id)
            for image in _images(report)
            for broker in image.cluster.brokers.values()
        }
        for report in (one, other)
    ]
    return all(lives) and not lives[0] & lives[1]


def _is_misplaced(log: Replica, other: LogFacts) -> bool:
    """Return True if the other log names this log's directory as a voter's or a broker's, but this log does not."""
    own = log.key
    voters = named_directories(log.facts.known_voters)
    if voters and own not in voters and own in named_directories(other.known_voters):
        return True
    here, there = (_disks_of(own.node_id, report) for report in (log.facts, other))
    return bool(here) and own.directory_id not in here and own.directory_id in there


def _disks_of(node_id: NodeId, report: LogFacts) -> set[DirectoryId]:
    """Return the directories of a broker's registrations in the log's image and its checkpoints."""
    brokers = (image.cluster.brokers.get(node_id) for image in _images(report))
    return {directory for broker in brokers if broker is not None for directory in broker.directories}


def _head(files: Files, path: str) -> _Head:
    with closing(LogReader(files, [path]).batches(past_removed=True)) as found:
        headers = [batch.header for batch in islice(found, _COMPARED)]
    batches = {int(header.base_offset): (int(header.partition_leader_epoch), int(header.crc)) for header in headers}
    return _Head(batches=batches)


def are_majority(logs: Sequence[Replica], others: Sequence[int]) -> bool:
    """Return True if these logs are a majority of the voters that they name."""
    view = ReplicaSet([logs[index] for index in others])
    return view.has_majority(view.replicas)


def _finding(logs: Sequence[Replica], index: int, others: Sequence[int], heads: Mapping[int, _Head]) -> Finding:
    node, report = logs[index].source, logs[index].facts
    names = join_names([logs[other].source.label for other in others])
    if index in heads and all(other in heads and heads[index].is_strange_to(heads[other]) for other in others):
        why = f"not one batch that this log begins with is that of {names}"
    else:
        why = f"it has no batch, no topic and no registered broker in common with {names}"
    what = f"{why}: it is another cluster's, and nothing here is judged by it"
    file = report.segments[0] if report.segments else report.directory
    offset = report.start_offset
    return finding("foreign_cluster", what, node_id=node.node_id, file=file, position=0, offset=offset)


def _of_nobody(replicas: ReplicaSet, clusters: Sequence[Sequence[int]], heads: Mapping[int, _Head]) -> Finding:
    """Return the one finding that logs are of several clusters; it accuses no log."""
    logs = replicas.replicas
    names = [join_names([logs[index].label for index in cluster]) for cluster in clusters]
    is_each_alone = all(len(cluster) == 1 for cluster in clusters)
    who = join_names(names) if is_each_alone else f"the logs of {', and those of '.join(names)},"
    one, other = clusters[0][0], clusters[1][0]
    why = contradiction(traces_of(logs[one].facts), traces_of(logs[other].facts))
    if why is None and one in heads and other in heads and heads[one].is_strange_to(heads[other]):
        why = "not one batch that they begin with is the same"
    why = why or "they have no batch, no topic and no registered broker in common"
    return undecided_clusters(f"{who} are not of one cluster: {why}")
