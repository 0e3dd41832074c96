"""Everything at once, over the directories of any nodes of one cluster: the command that an operator runs first.

Decides: which checks run, and the verdict. Must not know: how each works, and the form of a report.

Running nodes write while they are read one after the other, so that the first may look as if it lacked what the last
has. When something is found and a log changed meanwhile, all is read again before anything is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.reconcile import facts_of
from metadata_log.tools.bounds import CommittedBounds
from metadata_log.tools.check_hashes import check_hashes, probes_of
from metadata_log.tools.check_identity import check_identity
from metadata_log.tools.check_partitions import check_partitions, newest_image
from metadata_log.tools.check_votes import check_votes
from metadata_log.tools.diff import diff_and_odd
from metadata_log.tools.findings import Finding, sort_findings
from metadata_log.tools.quorum_view import view_quorum
from metadata_log.tools.sources import NodeSource, Sources, find_sources
from metadata_log.tools.verify import LogReport, directory_signature, verify_file, verify_log

_TRIES: Final = 4


class CheckedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node in short. Offsets are None where the disk with its metadata log was not given."""

    node: str
    node_id: int | None
    path: str
    is_voter: bool
    start_offset: int | None
    end_offset: int | None
    last_epoch: int | None
    records: int | None
    partitions: int


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and what was found, the gravest first."""

    nodes: tuple[CheckedNode, ...]
    files: tuple[str, ...]
    voters: tuple[str, ...]
    bounds: CommittedBounds
    findings: tuple[Finding, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing but notes was found."""
        return not any(found.counts for found in self.findings)


def check_paths(paths: Sequence[Path]) -> CheckReport:
    """Check the nodes, logs and files at these paths.

    Raises:
        SourceError: there is no metadata log at one of them.
        OSError: a directory or a log cannot be read.
    """
    for _ in range(_TRIES):
        sources = find_sources(paths)
        before = _signatures(sources)
        report = _check(sources)
        if report.is_sound or _signatures(sources) == before:
            break
    return report


def _signatures(sources: Sources) -> list[object]:
    return [directory_signature(node.metadata) for node in sources.nodes if node.metadata is not None]


def _check(sources: Sources) -> CheckReport:
    probes = probes_of(sources.nodes) if len(sources.nodes) > 1 else frozenset[int]()
    logs = [(node, verify_log(node, probes=probes)) for node in sources.nodes if node.metadata is not None]
    files = [verify_file(path) for path in sources.files]
    view = view_quorum(logs, [node for node in sources.nodes if node.metadata is None])
    found = [finding for _, report in logs for finding in report.findings]
    found += [finding for report in files for finding in report.findings]
    diff, odd = diff_and_odd(view)
    differences = diff.findings
    found += differences
    if not any(difference.counts for difference in differences):
        found += check_hashes(view)
    found += check_votes(view)
    found += check_identity(sources.nodes, view.voters, newest_image(view, odd))
    found += check_partitions(sources.nodes, view, odd)
    reports = {id(node): report for node, report in logs}
    voters = {id(replica.source) for replica in view.replicas if view.is_voter(replica)}
    return CheckReport(
        nodes=tuple(_checked(node, reports.get(id(node)), is_voter=id(node) in voters) for node in sources.nodes),
        files=tuple(map(str, sources.files)),
        voters=tuple(map(str, view.voters)),
        bounds=diff.bounds,
        findings=sort_findings(dict.fromkeys(found)),
    )


def _checked(node: NodeSource, report: LogReport | None, *, is_voter: bool) -> CheckedNode:
    return CheckedNode(
        node=node.label,
        node_id=node.node_id,
        path=str(node.path),
        is_voter=is_voter,
        start_offset=None if report is None else report.start_offset,
        end_offset=None if report is None else report.end_offset,
        last_epoch=None if report is None else report.last_epoch,
        records=None if report is None else report.records,
        partitions=sum(_partitions(disk.path) for disk in node.log_directories),
    )


def _partitions(disk: Path) -> int:
    """How many partition directories a disk has, the metadata log's not counted."""
    try:
        named = [facts_of(child.name, None) for child in disk.iterdir() if child.is_dir()]
    except FileNotFoundError:
        return 0
    return sum(
        facts.topic_name not in (None, METADATA_TOPIC_NAME) and not facts.is_deleted and not facts.is_stray
        for facts in named
    )
