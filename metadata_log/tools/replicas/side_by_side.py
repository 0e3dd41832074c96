"""Finds two metadata logs on the disks of one node; the one that adds nothing to the other is no witness.

Decides: which of them that is. Must not know: other faults of a log.

A node keeps one log. The other log is an older copy, or on a new disk. Its `quorum-state` and records were true at an
earlier time, so they accuse no node now. A disk that was formatted, or whose log was cut, may have the later
`quorum-state`. So that file alone does not make its log the newer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from metadata_log.ids import ZERO_DIRECTORY_ID, ReplicaKey
from metadata_log.tools.findings.finding import Finding, finding
from metadata_log.tools.read.manifest import is_export
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.verify.log_facts import LogFacts


def side_by_side(nodes: Sequence[NodeSource]) -> list[list[NodeSource]]:
    """Return each group of several sources that have one node id, one parent directory, and each a metadata log."""
    beside: dict[tuple[Path, int], list[NodeSource]] = {}
    for node in nodes:
        if node.metadata is not None and node.node_id is not None and not is_export(node.metadata):
            beside.setdefault((node.metadata.parent.parent, node.node_id), []).append(node)
    return [several for several in beside.values() if len(several) > 1]


def older_of_two(logs: Sequence[Replica]) -> list[int]:
    """Return the indexes of the logs that add nothing to a sound log of the same node.

    A directory with a voter's directory id ranks before others. But a log that reaches further, or proves more commits,
    is never left out.
    """
    beside = side_by_side([log.source for log in logs])
    voters = ReplicaSet(logs).voters.keys if beside else ()
    numbers = {id(log.source): number for number, log in enumerate(logs)}
    older = []
    for several in beside:
        ranks = {numbers[id(node)]: _rank(logs[numbers[id(node)]], voters) for node in several}
        for number, rank in ranks.items():
            newer = [logs[other] for other in ranks if ranks[other] > rank and logs[other].facts.is_sound]
            if any(_adds_nothing(logs[number], other) for other in newer):
                older.append(number)
    return sorted(older)


def _rank(log: Replica, voters: Sequence[ReplicaKey]) -> tuple[bool, tuple[int, int, int]]:
    return log.key.directory_id != ZERO_DIRECTORY_ID and log.key in voters, progress_of(log.facts)


def _adds_nothing(log: Replica, newer: Replica) -> bool:
    """Return True if the newer log reaches every offset that this one does, and proves every commit that it proves."""
    if log.facts.is_unread:
        return False
    mine, theirs = log.extent, newer.extent
    proved = max(mine.known_committed, mine.committed_before) <= max(theirs.known_committed, theirs.committed_before)
    reached = max(log.reach, mine.proved_end) <= max(newer.reach, theirs.proved_end)
    return proved and reached and log.reach <= newer.reach and log.last_epoch <= newer.last_epoch


def progress_of(report: LogFacts) -> tuple[int, int, int]:
    """Return the log's last epoch, its end offset, and the epoch of `quorum-state`, which order copies of one log."""
    epoch = -1 if report.quorum_state is None else int(report.quorum_state.leader_epoch)
    return report.last_epoch, report.end_offset, epoch


def two_metadata_logs(nodes: Sequence[NodeSource], progress: Mapping[Path, tuple[int, int, int]]) -> Iterator[Finding]:
    """Yield a finding for each of several logs of one node, which does not start so. `progress`: see `progress_of`."""
    for several in side_by_side(nodes):
        node_id = several[0].node_id
        ends = [(node.metadata, progress.get(node.metadata)) for node in several if node.metadata is not None]
        for path, _ in ends:
            others = " and ".join(f"{other}{_ending(known)}" for other, known in ends if other != path)
            what = f"node {node_id} has a metadata log here{_ending(dict(ends)[path])}, and one at {others}"
            yield finding("two_metadata_logs", what, node_id=node_id, file=str(path))


def _ending(known: tuple[int, int, int] | None) -> str:
    return "" if known is None else f" (up to offset {known[1]}, epoch {known[0]})"
