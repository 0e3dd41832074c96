"""The comparison of replicas by their paths, for `kraft log diff` and `kraft.diff`.

Decides: which logs are left out: the same ones, with the same findings, as in `kraft check`. Two copies of one node's
directory are compared, since they may be a backup and its original. Must not know: how logs are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.tools.findings.finding import Finding, finding, sort_findings
from metadata_log.tools.read.readable import finding_of, readable_sources, unusable_identities
from metadata_log.tools.read.sources import NodeSource, SourceError, require_one_cluster
from metadata_log.tools.replicas.diff import DiffReport, diff_logs, with_logs_alone, with_own_findings
from metadata_log.tools.replicas.foreign_logs import OfOneCluster, of_one_cluster
from metadata_log.tools.replicas.replica import Replica, read_replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.replicas.reread_lagging import with_lagging_reread
from metadata_log.tools.replicas.same_log import share_batch, traces_of
from metadata_log.tools.replicas.side_by_side import older_of_two, progress_of, two_metadata_logs
from metadata_log.tools.verify.depth import Depth

_NO_LOG: Final = "name the disk with its metadata log; where it is lost, see what the others prove (kraft check on all)"


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
    read = partial(read_replica, depth=Depth.BYTES)
    bare = [node for node in sources.nodes if node.metadata is None]
    logs = [read(node) for node in nodes]
    clusters = _of_one_cluster(logs)
    older = [clusters.logs[number] for number in older_of_two(clusters.logs)]
    view = with_lagging_reread(ReplicaSet([log for log in clusters.logs if log not in older], bare), read)
    report = with_own_findings(diff_logs(view), view)
    report = with_logs_alone(report, ReplicaSet((*clusters.undecided, *older)))
    twins = two_metadata_logs(
        nodes, {log.source.metadata: progress_of(log.facts) for log in logs if log.source.metadata}
    )
    report = msgspec.structs.replace(report, findings=sort_findings([*clusters.findings, *twins, *report.findings]))
    said = {one.file for one in report.findings}
    left = [*map(finding_of, sources.unread), *unusable_identities(sources.nodes)]
    left += (one for one in _without_log(bare, paths) if one.file not in said)
    return msgspec.structs.replace(report, findings=(*left, *report.findings))


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


def _without_log(bare: Iterable[NodeSource], named: Iterable[Path]) -> Iterator[Finding]:
    """Yield a finding for each named path of a node without a metadata log.

    A path to the parent of several nodes names none of them.
    """
    asked = set(named)
    for node in bare:
        if node.path in asked:
            what = f"{node.path} holds no metadata log: nothing of it was compared"
            yield finding("missing_file", what, node_id=node.node_id, file=str(node.path), advice=_NO_LOG)
