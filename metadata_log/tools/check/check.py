"""Everything at once, over the directories of any nodes of one cluster: the command that an operator runs first.

Decides: which checks run, and the verdict. Must not know: how each works, and the form of a report.

Running nodes write while they are read one after the other, so that the first may look as if it lacked what the last
has. When something is found and a log changed meanwhile, all is read again before anything is said; of a quorum that
never rests, the logs of those that seem to lack what is committed (`reread_lagging`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from metadata_log.files.os_files import OsFiles
from metadata_log.records.newer import NOTHING_NEWER
from metadata_log.tools.check.checkpoint_times import check_times
from metadata_log.tools.check.identity import check_identity
from metadata_log.tools.check.leaders import LEADER_BEHIND, check_lacking_leaders, check_leaders
from metadata_log.tools.check.metadata_hashes import check_hashes, probes_of
from metadata_log.tools.check.scope import NotJudged, kinds_not_judged
from metadata_log.tools.check.votes import check_votes
from metadata_log.tools.findings.advice import AUDIT
from metadata_log.tools.findings.consequences import folded
from metadata_log.tools.findings.finding import Finding, finding, sort_findings
from metadata_log.tools.findings.kinds import FILE_CHANGED, NEWER_RELEASE, OLDER_RELEASE_NOTE
from metadata_log.tools.partitions.broker_files import check_clean_shutdowns, check_offset_files
from metadata_log.tools.partitions.committed_proof import check_proof, judged_ends
from metadata_log.tools.partitions.directories import HeldPartitions, list_partitions
from metadata_log.tools.partitions.missing import check_missing
from metadata_log.tools.partitions.node_roles import brokers_among
from metadata_log.tools.partitions.placement import check_partitions, newest_image
from metadata_log.tools.partitions.replica_logs import check_replica_logs
from metadata_log.tools.partitions.start_obstacles import check_partition_files, check_strange
from metadata_log.tools.read.consistent_read import directory_signature
from metadata_log.tools.read.readable import finding_of, only_readable
from metadata_log.tools.read.sources import NodeSource, Sources, find_sources
from metadata_log.tools.replicas.committed_bounds import CommittedBounds
from metadata_log.tools.replicas.diff import DiffReport, diff_and_odd, own_findings
from metadata_log.tools.replicas.foreign_checkpoints import without_alien_checkpoints
from metadata_log.tools.replicas.foreign_logs import without_aliens
from metadata_log.tools.replicas.replica import Replica, read_replica
from metadata_log.tools.replicas.replica_set import QuorumView, absent_voters, nothing_in_common, view_quorum
from metadata_log.tools.replicas.reread_lagging import with_second_look
from metadata_log.tools.replicas.side_by_side import older_of_two, progress_of
from metadata_log.tools.verify.bootstrap_checkpoint import check_unread_bootstraps
from metadata_log.tools.verify.export_files import check_manifests
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.verify.verify_log import verify_file

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
    """What was looked at, and what was found, the gravest first.

    Attributes:
        unread: how many nodes besides could not be read.
        not_judged: the kinds that could not be judged of these nodes, with the reason.
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
        """Whether nothing but notes was found."""
        return not any(found.counts for found in self.findings)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that a check reads, as it was found before any log was read.

    Attributes:
        unread: a finding for each node that cannot be read.
        parents: directories that hold several nodes, and were named in their place.
        held: listed before the logs are read (see `partitions.directories`).
        probes: the offsets at which the logs' metadata is compared.
        signatures: the state of each log's directory.
    """

    nodes: tuple[NodeSource, ...]
    files: tuple[Path, ...]
    unread: tuple[Finding, ...]
    parents: tuple[Path, ...]
    held: HeldPartitions
    probes: frozenset[int]
    signatures: tuple[object, ...]

    @property
    def logs(self) -> tuple[NodeSource, ...]:
        """The nodes whose metadata log is there; `judge` takes a replica for each of these."""
        return tuple(node for node in self.nodes if node.metadata is not None)


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A check's report, with what it was made of: the replicas, how they differ, and whose partitions were judged."""

    report: CheckReport
    view: QuorumView
    diff: DiffReport
    brokers: tuple[NodeSource, ...]


_Result = TypeVar("_Result")


def check_paths(paths: Sequence[Path]) -> CheckReport:
    """Check the nodes, logs and files at these paths.

    Raises:
        SourceError: there is no metadata log at one of them.
        OSError, CorruptFileError: nothing of it can be read.
    """
    return until_settled(paths, _check, lambda report: report.is_sound)


def until_settled(
    paths: Sequence[Path], check: Callable[[Plan], _Result], is_sound: Callable[[_Result], bool]
) -> _Result:
    """Return what `check` makes of these paths, again where it finds something and a log changed meanwhile.

    Raises:
        SourceError, OSError, CorruptFileError: see `check_paths`.
    """
    for _ in range(_TRIES):
        plan = _plan(only_readable(find_sources(paths, past_unreadable=True, with_bare=True)))
        result = check(plan)
        if is_sound(result) or _signatures(plan) == plan.signatures:
            break
    return result


def holding_now(plan: Plan, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings; if a log of the plan has changed since, without the notes that hold only of logs at rest."""
    kept = tuple(found for found in findings if found.kind != LEADER_BEHIND)
    return findings if kept == findings or _signatures(plan) == plan.signatures else kept


def _signatures(sources: Sources | Plan) -> tuple[object, ...]:
    return tuple(directory_signature(node.metadata) for node in sources.nodes if node.metadata is not None)


def _plan(sources: Sources) -> Plan:
    return Plan(
        signatures=_signatures(sources),  # first: what changes from here on is seen
        nodes=sources.nodes,
        files=sources.files,
        unread=tuple(map(finding_of, sources.unread)),
        parents=sources.parents,
        probes=probes_of(sources.nodes) if len(sources.nodes) > 1 else frozenset[int](),
        held=list_partitions(sources.nodes),
    )


def _check(plan: Plan) -> CheckReport:
    replicas = [read_replica(node, probes=plan.probes) for node in plan.logs]
    report = judge(plan, replicas, [verify_file(path) for path in plan.files]).report
    return msgspec.structs.replace(report, findings=holding_now(plan, report.findings))


def judge(plan: Plan, replicas: Sequence[Replica], files: Sequence[LogFacts]) -> Judged:
    """Return what all that was read amounts to: the replicas of `plan.logs`, and the reports of `plan.files`.

    Raises:
        OSError: a log that differs from others cannot be read again.
    """
    nodes, held, unread = plan.nodes, plan.held, plan.unread
    without_log = [node for node in nodes if node.metadata is None]
    logs, aliens = without_aliens(replicas)
    logs, alien_checkpoints = without_alien_checkpoints(logs)
    every = logs
    logs, set_aside = _without_older(logs)
    view = with_second_look(view_quorum(logs, without_log), partial(read_replica, probes=plan.probes))
    diff, odd = diff_and_odd(view)
    found = [*unread, *aliens, *alien_checkpoints, *(own for report in files for own in report.findings)]
    found += [own for replica in set_aside for own in own_findings(replica, view)]
    found += _of_replicas(view, diff, odd)
    found += absent_voters(view, plan.parents, [one.node_id for one in (*unread, *aliens)])
    is_tie = diff.bounds.lower < view.bounds.lower  # where replicas part in a tie, nothing past that is certain
    view, proved = check_proof(nodes, held, view, newest_image(view, odd))
    found = [*judged_ends(found, nodes, view), *_besides(proved, found)]
    image = newest_image(view, odd)
    found += check_identity(nodes, view.voters, image, _progress(every))
    brokers = list(brokers_among(nodes, held, image, {int(voter.node_id) for voter in view.voters}))
    found += check_partitions(brokers, held, view, odd)
    found += (*check_strange(nodes, brokers), *check_partition_files(brokers, held))
    found += check_missing(held, view, odd)
    found += check_replica_logs(brokers, held, image)
    found += (*_check_files(nodes, view), *check_manifests(nodes))
    report = CheckReport(
        nodes=tuple(_nodes_checked(nodes, held, view, set_aside, brokers)),
        unread=len({one.node_id for one in unread} - {None, *(node.node_id for node in nodes)}),
        files=tuple(map(str, plan.files)),
        voters=tuple(map(str, view.voters)),
        bounds=diff.bounds if is_tie else view.bounds,
        findings=sort_findings(with_places(folded(_with_one_note(_without_hashes(found), view, files)), nodes)),
        not_judged=kinds_not_judged(nodes, brokers),
    )
    return Judged(report=report, view=view, diff=diff, brokers=tuple(brokers))


def _of_replicas(view: QuorumView, diff: DiffReport, odd: frozenset[int]) -> Iterator[Finding]:
    """Yield what is wrong with each replica's log by itself, and with all of them together."""
    for replica in view.replicas:
        yield from own_findings(replica, view)
    yield from diff.findings
    if not any(found.counts and found.kind != "checkpoint_disagrees" for found in diff.findings):
        yield from check_hashes(view, odd, diff.common_end)
    yield from check_times(view)
    yield from check_votes(view)
    yield from check_leaders(view)
    yield from check_lacking_leaders(view, odd)
    yield from nothing_in_common(view, with_any=True)


def _check_files(nodes: Sequence[NodeSource], view: QuorumView) -> Iterator[Finding]:
    """What is wrong with small files by themselves, but those beside a log."""
    yield from check_offset_files(nodes)
    yield from check_clean_shutdowns(nodes, view)
    for node in nodes:
        if node.metadata is None:
            yield from check_unread_bootstraps(OsFiles(), node)


def _with_one_note(found: Iterable[Finding], view: QuorumView, files: Iterable[LogFacts]) -> list[Finding]:
    """Return the findings, each once, with one note for all logs of what a later or an older release has written."""
    each = list(dict.fromkeys(found))
    older = [one for one in each if one.kind == OLDER_RELEASE_NOTE]
    if len(older) > 1:
        said = dict.fromkeys(one.meaning for one in older)
        kept = [one for one in each if one.kind != OLDER_RELEASE_NOTE]
        each = [*kept, *(finding(OLDER_RELEASE_NOTE, meaning) for meaning in said)]
    if sum(one.kind == NEWER_RELEASE for one in each) < 2:
        return each
    reports = (*(replica.facts for replica in view.replicas), *files)
    every = NOTHING_NEWER.plus(*(part for report in reports for part in report.newer.parts))
    return [*(one for one in each if one.kind != NEWER_RELEASE), finding(NEWER_RELEASE, every.text())]


def _without_hashes(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings without files of exports that are not what was exported, where others say more of them."""
    each = list(found)
    named = {one.file for one in each if one.counts and one.kind != FILE_CHANGED}
    return [one for one in each if one.kind != FILE_CHANGED or one.file not in named]


def _besides(more: Iterable[Finding], found: Sequence[Finding]) -> list[Finding]:
    """Those of them that are not of the same kind and place as one that was found by other means."""
    known = {(one.kind, one.file, one.offset) for one in found}
    return [one for one in more if (one.kind, one.file, one.offset) not in known]


def _progress(logs: Iterable[Replica]) -> dict[Path, tuple[int, int, int]]:
    """Return how far each metadata directory got, see `progress_of`."""
    return {log.source.metadata: progress_of(log.facts) for log in logs if log.source.metadata is not None}


def _without_older(logs: Sequence[Replica]) -> tuple[list[Replica], list[Replica]]:
    """Return the logs but the older of two in one node, and these, by which nothing is judged."""
    older = older_of_two(logs)
    return [log for number, log in enumerate(logs) if number not in older], [logs[number] for number in older]


def _nodes_checked(
    nodes: Sequence[NodeSource],
    held: HeldPartitions,
    view: QuorumView,
    set_aside: Sequence[Replica],
    brokers: Sequence[NodeSource],
) -> Iterator[CheckedNode]:
    """Yield what is counted of each node; no directory of one that is only a controller is a partition."""
    replicas = {id(replica.source): replica for replica in (*view.replicas, *set_aside)}
    voters = {id(replica.source) for replica in view.replicas if view.is_voter(replica)}
    for node in nodes:
        of_brokers = held if node in brokers else {}
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


_PLACE: Final = "DIR..."


def with_places(findings: Iterable[Finding], nodes: Sequence[NodeSource]) -> Iterator[Finding]:
    """The findings, each audit that is advised with all log directories of the broker that it is about."""
    for found in findings:
        disks = _disks_of(found, nodes) if AUDIT in found.advice else ()
        named = AUDIT.replace(_PLACE, shlex.join(map(str, disks))) if disks else AUDIT
        yield msgspec.structs.replace(found, advice=found.advice.replace(AUDIT, named))


def _disks_of(found: Finding, nodes: Sequence[NodeSource]) -> tuple[Path, ...]:
    file = Path(found.file or "")
    for node in nodes:
        disks = tuple(disk.path for disk in node.log_directories)
        if any(file.is_relative_to(disk) for disk in disks):
            return disks
    return ()
