"""The comparison of replicas by their paths: `kraft log diff` and `kraft.diff` share it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.tools.findings.finding import Finding, finding
from metadata_log.tools.read.readable import finding_of, readable_sources
from metadata_log.tools.read.sources import NodeSource, SourceError, require_one_cluster
from metadata_log.tools.replicas.diff import DiffReport, diff_logs, with_own_findings
from metadata_log.tools.replicas.replica import read_replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.replicas.reread_lagging import with_second_look
from metadata_log.tools.verify.depth import Depth

_NO_LOG: Final = "name the disk with its metadata log; where it is lost, see what the others prove (kraft check on all)"


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
    bare = [node for node in sources.nodes if node.metadata is None]
    view = with_second_look(ReplicaSet([read(node) for node in nodes], bare), read)
    report = with_own_findings(diff_logs(view), view)
    said = {one.file for one in report.findings}
    left = [*map(finding_of, sources.unread), *(one for one in _without_log(bare, paths) if one.file not in said)]
    return msgspec.structs.replace(report, findings=(*left, *report.findings))


def _without_log(bare: Iterable[NodeSource], named: Iterable[Path]) -> Iterator[Finding]:
    """Yield a finding for each node that was named, and has no metadata log; a parent of several names none of them."""
    asked = set(named)
    for node in bare:
        if node.path in asked:
            what = f"{node.path} holds no metadata log: nothing of it was compared"
            yield finding("missing_file", what, node_id=node.node_id, file=str(node.path), advice=_NO_LOG)
