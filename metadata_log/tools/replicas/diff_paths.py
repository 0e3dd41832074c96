"""The comparison of replicas by their paths, for `kraft log diff` and `kraft.diff`.

Decides: which logs are left out: the same ones, with the same findings, as in `kraft check`. Two copies of one node's
directory are compared, since they may be a backup and its original. Must not know: how logs are compared.

Logs that agree in their bytes need no replay. If they do not, or if one log alone proves a commit, all records are
judged, as in `kraft check`. A batch that no controller writes must not accuse another node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from metadata_log.tools.findings.consequences import folded
from metadata_log.tools.findings.finding import Finding, finding, sort_findings
from metadata_log.tools.read.readable import finding_of, readable_sources, unusable_identities
from metadata_log.tools.read.sources import NodeSource, SourceError, require_one_cluster
from metadata_log.tools.replicas.committed_bounds import committed_bounds
from metadata_log.tools.replicas.diff import DiffReport, diff_logs, own_findings, with_lines
from metadata_log.tools.replicas.foreign_logs import OfOneCluster, of_one_cluster
from metadata_log.tools.replicas.replica import Replica, read_replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.replicas.reread_lagging import with_lagging_reread
from metadata_log.tools.replicas.same_log import share_batch, traces_of
from metadata_log.tools.replicas.side_by_side import older_of_two, progress_of, two_metadata_logs
from metadata_log.tools.verify.depth import Depth

_NO_LOG: Final = "name the disk with its metadata log; where it is lost, see what the others prove (kraft check on all)"

_Place: TypeAlias = tuple[str, str | None, int | None, int | None]


def diff_paths(paths: Sequence[Path]) -> DiffReport:
    """Compare the replicas at these paths: nodes' directories, metadata directories or exports.

    Raises:
        SourceError: the paths do not lead to at least two logs of one cluster.
        OSError: fewer than two logs can be read.
        CorruptFileError: fewer than two logs can be read.
    """
    sources = readable_sources(paths)
    require_one_cluster(sources.nodes, "what was named")
    nodes = [node for node in sources.nodes if node.metadata is not None]
    if len(nodes) < 2 and sources.unread:
        raise sources.unread[0].error
    if len(nodes) < 2 or sources.files:
        raise SourceError(
            "it takes two logs to compare: name the directories of two or more nodes (not single files; the same log "
            "named twice is one)"
        )
    bare = [node for node in sources.nodes if node.metadata is None]
    compared = _compared(nodes, bare, Depth.BYTES)
    found = _findings(compared)
    if _accuses(compared):
        by_bytes = {_place_of(one) for one in _own(compared)}
        compared = _compared(nodes, bare, Depth.REPLAY)
        found = _explaining(_findings(compared), by_bytes, compared)
    left = [*map(finding_of, sources.unread), *unusable_identities(sources.nodes)]
    said = {one.file for one in found}
    left += (one for one in _without_log(bare, paths) if one.file not in said)
    report = with_lines(compared.report, compared.alone)
    return msgspec.structs.replace(report, findings=(*left, *found))


class _Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The logs of one pass: those of `view` were compared, those of `alone` with no other.

    `findings`: on the logs that are left out, and on two logs of one node.
    """

    view: ReplicaSet
    alone: ReplicaSet
    report: DiffReport
    findings: tuple[Finding, ...]


def _compared(nodes: Sequence[NodeSource], bare: Sequence[NodeSource], depth: Depth) -> _Compared:
    """Read the logs to this depth, and compare them.

    Raises:
        OSError: a log cannot be read.
    """
    read = partial(read_replica, depth=depth)
    logs = [read(node) for node in nodes]
    clusters = of_one_cluster(logs) if depth is Depth.REPLAY else _of_one_cluster(logs)
    older = [clusters.logs[number] for number in older_of_two(clusters.logs)]
    view = with_lagging_reread(ReplicaSet([log for log in clusters.logs if log not in older], bare), read)
    progress = {log.source.metadata: progress_of(log.facts) for log in logs if log.source.metadata}
    return _Compared(
        view=view,
        alone=ReplicaSet((*clusters.undecided, *older)),
        report=diff_logs(view),
        findings=(*clusters.findings, *two_metadata_logs(nodes, progress)),
    )


def _of_one_cluster(logs: Sequence[Replica]) -> OfOneCluster:
    """Return the logs that may be compared.

    Raises:
        OSError: a log cannot be read again.
    """
    # A replay is expensive, and only needed for the ids of topics and brokers: a common batch proves one cluster.
    if all(share_batch(traces_of(one.facts), traces_of(other.facts)) for one, other in combinations(logs, 2)):
        return OfOneCluster(logs=tuple(logs), undecided=(), findings=())
    judged = of_one_cluster([read_replica(log.source) for log in logs])
    by_source = {id(log.source): log for log in logs}
    return OfOneCluster(
        logs=tuple(by_source[id(log.source)] for log in judged.logs),
        undecided=tuple(by_source[id(log.source)] for log in judged.undecided),
        findings=judged.findings,
    )


def _accuses(compared: _Compared) -> bool:
    """Return True if the bytes show a difference or a loss, or one log alone proves a commit that no other bounds."""
    extents = [msgspec.structs.replace(replica.extent, committed_before=0) for replica in compared.view.replicas]
    without = committed_bounds(extents, compared.view.voters.keys)
    return bool(compared.report.findings) or without.lower < compared.view.bounds.lower


def _findings(compared: _Compared) -> list[Finding]:
    """Return the findings, the gravest first: each fault once, with its consequences folded under it."""
    own = _own(compared)
    known = {_place_of(one) for one in own if one.file is not None}
    differences = [one for one in compared.report.findings if _place_of(one) not in known]
    return list(sort_findings(folded(dict.fromkeys((*compared.findings, *own, *differences)))))


def _explaining(found: Sequence[Finding], by_bytes: Collection[_Place], compared: _Compared) -> list[Finding]:
    """Return the findings without the faults of records and images that explain no difference.

    `by_bytes`: the places of the findings without a replay. `kraft check` reports the other faults.
    """
    own = {_place_of(one) for one in _own(compared)}
    differing = {(one.file, one.position) for one in compared.report.findings if one.position is not None}
    return [
        one
        for one in found
        if _place_of(one) not in own
        or _place_of(one) in by_bytes
        or one.consequences
        or (one.file, one.position) in differing
    ]


def _own(compared: _Compared) -> list[Finding]:
    """Return the errors and warnings that each log shows by itself."""
    views = (compared.view, compared.alone)
    return [one for view in views for replica in view.replicas for one in own_findings(replica, view) if one.counts]


def _place_of(one: Finding) -> _Place:
    return one.kind, one.file, one.offset, one.position


def _without_log(bare: Iterable[NodeSource], named: Iterable[Path]) -> Iterator[Finding]:
    """Yield a finding for each named path of a node without a metadata log.

    A path to the parent of several nodes names none of them.
    """
    asked = set(named)
    for node in bare:
        if node.path in asked:
            what = f"{node.path} holds no metadata log: nothing of it was compared"
            yield finding("missing_file", what, node_id=node.node_id, file=str(node.path), advice=_NO_LOG)
