"""Runs every check over the directories of any nodes of one cluster: the command that an operator runs first.

Decides: which findings are merged, their order, and the verdict. Must not know: how a check works, and the output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from metadata_log.records.newer import NOTHING_NEWER
from metadata_log.tools.check.checks import CHECKS
from metadata_log.tools.check.evidence import Evidence
from metadata_log.tools.check.plan import Plan, holding_now, until_settled
from metadata_log.tools.check.scope import NotJudged, kinds_not_judged
from metadata_log.tools.check.unfinished_repairs import repairs_first
from metadata_log.tools.findings.consequences import folded, without_changed_files
from metadata_log.tools.findings.finding import Finding, finding, sort_findings, with_advice
from metadata_log.tools.findings.kinds import NEWER_RELEASE, OLDER_RELEASE_NOTE
from metadata_log.tools.findings.remedy import DIRS, Advice
from metadata_log.tools.partitions.committed_proof import judged_ends
from metadata_log.tools.partitions.directories import HeldPartitions
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.committed_bounds import CommittedBounds
from metadata_log.tools.replicas.replica import Replica, read_replica
from metadata_log.tools.verify.verify_log import verify_file


class CheckedNode(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of one node. It has no offsets if the disk with its metadata log was not given."""

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
    """The result of a check. `findings` begin with the gravest.

    Attributes:
        unread: the number of further nodes that could not be read.
        not_judged: the kinds of findings that these files cannot show, with the reason.
    """

    nodes: tuple[CheckedNode, ...]
    unread: int
    files: tuple[str, ...]
    voters: tuple[str, ...]
    bounds: CommittedBounds
    findings: tuple[Finding, ...]
    not_judged: tuple[NotJudged, ...]

    @property
    def is_sound(self) -> bool:
        """True if there are no findings but notes."""
        return not any(found.counts for found in self.findings)


def check_paths(paths: Sequence[Path]) -> CheckReport:
    """Check the nodes, logs and files at these paths.

    Raises:
        SourceError: there is no metadata log at a path.
        OSError: a file cannot be read.
        CorruptFileError: a file that the check cannot do without is corrupt.
    """
    return until_settled(paths, _check, lambda report: report.is_sound)


def _check(plan: Plan) -> CheckReport:
    replicas = [read_replica(node, probes=plan.probes) for node in plan.logs]
    report = judge(Evidence(plan, replicas, [verify_file(path) for path in plan.files]))
    return msgspec.structs.replace(report, findings=holding_now(plan, report.findings))


def _unread_node(found: Finding) -> int | str | None:
    """Return the node that cannot be read: its id, or its path where the id cannot be read either."""
    return found.file if found.node_id is None else int(found.node_id)


def judge(evidence: Evidence) -> CheckReport:
    """Run the checks over the evidence, and return the report.

    Raises:
        OSError: a log that differs from others cannot be read again.
    """
    plan = evidence.plan
    return CheckReport(
        nodes=tuple(_nodes_checked(evidence)),
        unread=len({_unread_node(one) for one in plan.unread} - {node.node_id for node in plan.nodes}),
        files=tuple(map(str, plan.files)),
        voters=tuple(map(str, evidence.proved.voters.keys)),
        bounds=evidence.bounds,
        findings=sort_findings(with_places(_findings(evidence), plan.nodes)),
        not_judged=kinds_not_judged(plan.nodes, evidence.brokers),
    )


def _findings(evidence: Evidence) -> list[Finding]:
    """Return the findings of all checks: each fault once, with its consequences folded under it."""
    found = judged_ends(_each_once(check(evidence) for check in CHECKS), evidence.plan.nodes, evidence.proved)
    return repairs_first(folded(_with_one_note(without_changed_files(found), evidence)))


def _each_once(by_check: Iterable[Iterable[Finding]]) -> Iterator[Finding]:
    """Yield the findings of every check, without those whose kind and place an earlier check has reported."""
    known: set[tuple[object, ...]] = set()
    for found in map(tuple, by_check):
        yield from (one for one in found if _place_of(one) not in known)
        known.update(_place_of(one) for one in found if one.file is not None)


def _place_of(one: Finding) -> tuple[object, ...]:
    return one.kind, one.file, one.offset, one.position


def _with_one_note(found: Iterable[Finding], evidence: Evidence) -> list[Finding]:
    """Return the findings without repetitions, with one note for all logs on records of a later or an older release."""
    each = list(dict.fromkeys(found))
    older = [one for one in each if one.kind == OLDER_RELEASE_NOTE]
    if len(older) > 1:
        said = dict.fromkeys(one.meaning for one in older)
        kept = [one for one in each if one.kind != OLDER_RELEASE_NOTE]
        each = [*kept, *(finding(OLDER_RELEASE_NOTE, meaning) for meaning in said)]
    if sum(one.kind == NEWER_RELEASE for one in each) < 2:
        return each
    reports = (*(replica.facts for replica in evidence.replicas.replicas), *evidence.files)
    every = NOTHING_NEWER.plus(*(part for report in reports for part in report.newer.parts))
    return [*(one for one in each if one.kind != NEWER_RELEASE), finding(NEWER_RELEASE, every.text())]


def _nodes_checked(evidence: Evidence) -> Iterator[CheckedNode]:
    """Yield the summary of each node. Directories of a node that is only a controller do not count as partitions."""
    view = evidence.proved
    replicas = {id(replica.source): replica for replica in (*view.replicas, *evidence.set_aside)}
    voters = {id(replica.source) for replica in view.replicas if view.is_listed_as_voter(replica)}
    for node in evidence.plan.nodes:
        of_brokers = evidence.plan.held if node in evidence.brokers else {}
        yield _checked(node, of_brokers, replicas.get(id(node)), is_voter=id(node) in voters)


def _checked(node: NodeSource, held: HeldPartitions, replica: Replica | None, *, is_voter: bool) -> CheckedNode:
    report = None if replica is None else replica.facts
    return CheckedNode(
        node=node.label,
        node_id=node.node_id,
        path=str(node.path),
        is_voter=is_voter,
        start_offset=None if report is None else report.start_offset,
        end_offset=None if report is None else report.end_offset,
        last_epoch=None if replica is None else replica.last_epoch,
        records=None if report is None else report.records,
        partitions=sum(one.is_in_use for disk in node.log_directories for one in held.get(disk.path, ())),
    )


def with_places(findings: Iterable[Finding], nodes: Sequence[NodeSource]) -> Iterator[Finding]:
    """Yield the findings; an advised audit command gets all log directories of the finding's broker."""
    for found in findings:
        remedy = found.remedy
        disks = _disks_of(found, nodes) if isinstance(remedy, Advice) and DIRS in remedy.command else ()
        named = remedy.in_directories([str(disk) for disk in disks]) if isinstance(remedy, Advice) and disks else None
        yield found if named is None else with_advice(found, named)


def _disks_of(found: Finding, nodes: Sequence[NodeSource]) -> tuple[Path, ...]:
    file = Path(found.file or "")
    for node in nodes:
        disks = tuple(disk.path for disk in node.log_directories)
        if any(file.is_relative_to(disk) for disk in disks):
            return disks
    return ()
