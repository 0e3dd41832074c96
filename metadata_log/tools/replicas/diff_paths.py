"""The comparison of replicas by their paths: `kraft log diff` and `kraft.diff` share it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from metadata_log.tools.read.readable import finding_of, readable_sources
from metadata_log.tools.read.sources import SourceError, require_one_cluster
from metadata_log.tools.replicas.diff import DiffReport, diff_logs, with_own_findings
from metadata_log.tools.replicas.replica import read_replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.replicas.reread_lagging import with_second_look
from metadata_log.tools.verify.depth import Depth


def diff_paths(paths: Sequence[Path]) -> DiffReport:
    """Compare the replicas at these paths: nodes' directories, metadata directories or exports.

    Raises:
        SourceError: they are not two logs or more of one cluster.
        OSError, CorruptFileError: too few of them can be read.
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
    view = with_second_look(ReplicaSet([read(node) for node in nodes]), read)
    report = with_own_findings(diff_logs(view), view)
    closed = tuple(map(finding_of, sources.unread))
    return msgspec.structs.replace(report, findings=(*closed, *report.findings))
