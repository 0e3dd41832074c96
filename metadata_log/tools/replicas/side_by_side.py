"""Two metadata logs on the disks of one node: the older one is no witness.

Decides: which of them the node went on with. Must not know: what else is wrong with them. A node keeps one log, and the
other is a copy of an earlier time. What its quorum-state and its records say was true then: it accuses no node now.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from metadata_log.tools.read.manifest import is_export
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.verify.report import LogReport


def side_by_side(nodes: Sequence[NodeSource]) -> list[list[NodeSource]]:
    """Return the nodes of one id whose disks are in one directory, each with a metadata log: several together."""
    beside: dict[tuple[Path, int], list[NodeSource]] = {}
    for node in nodes:
        if node.metadata is not None and node.node_id is not None and not is_export(node.metadata):
            beside.setdefault((node.metadata.parent.parent, node.node_id), []).append(node)
    return [several for several in beside.values() if len(several) > 1]


def older_of_two(logs: Sequence[Replica]) -> list[int]:
    """Return the numbers of the logs that end before one beside them whose batches follow one another."""
    numbers = {id(log.source): number for number, log in enumerate(logs)}
    older = []
    for several in side_by_side([log.source for log in logs]):
        reports = {numbers[id(node)]: logs[numbers[id(node)]].report for node in several}
        newest = max(reports, key=lambda number: progress_of(reports[number]))
        if reports[newest].is_sound:
            last = progress_of(reports[newest])
            older += [number for number, report in reports.items() if progress_of(report) < last]
    return sorted(older)


def progress_of(report: LogReport) -> tuple[int, int, int]:
    """Return how far a node went with a log: the epoch of its quorum-state, its last epoch, and its end."""
    epoch = -1 if report.quorum_state is None else int(report.quorum_state.leader_epoch)
    return epoch, report.last_epoch, report.end_offset
