"""`kraft log verify`: check a metadata log by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from metadata_log.counts import counted
from quorum.cli.errors import wrong_use
from quorum.cli.findings_output import FindingFormat, FindingOutput, exit_with, show_findings, sources_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metadata_log.tools.findings.finding import Finding
    from metadata_log.tools.read.sources import NodeSource
    from metadata_log.tools.replicas.replica import Replica
    from metadata_log.tools.verify.log_facts import LogFacts

EPILOG: Final = (
    "Examples:  kraft log verify /var/lib/kraft    kraft log verify 00000000000000000000.log    "
    "kraft log verify --quick -o jsonl /backup/controller-*"
)


_LEFT_OUT: Final = {
    "BYTES": "No record was decoded: leave out --quick for that.",
    "RECORDS": "Each record was judged by itself: --replay judges it by those before it, too.",
    "REPLAY": "",
}
"""The end of the summary by depth: the checks that were left out."""


def run(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Segments, checkpoints, metadata directories, log directories, nodes' directories, exports; ours or "
            "Apache Kafka's."
        ),
    ],
    output: FindingOutput = FindingFormat.TABLE,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Bytes, order, indexes and the files beside the log; records are not decoded."),
    ] = False,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay",
            help="Replay the records, too: judge each by those before it, and checkpoints by the log, as kraft check "
            "does. Takes several times as long.",
        ),
    ] = False,
) -> None:
    """Check metadata logs: checksums, framing, offsets, epochs, records, indexes, checkpoints, the files beside them.

    Each record is decoded and judged by itself; --quick leaves that out, --replay judges it by those before it. Each
    log is checked by itself; only the voters in checkpoints are compared. Several logs together may prove that records
    which one of them lost were committed. kraft check replays, and compares nodes. Reads only and takes no lock: it may
    be used on the directory of a running node. Exit status 0: nothing is wrong. 1: something was found. 2: there is no
    log to check.
    """
    from metadata_log.tools.read.readable import finding_of, unusable_identities  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.replicas.replica import read_replica  # noqa: PLC0415
    from metadata_log.tools.verify.verify_log import Depth, verify_file  # noqa: PLC0415

    if quick and replay:
        raise wrong_use("--quick and --replay exclude each other: --quick does not look at records")
    sources = sources_of(paths)
    nodes = [node for node in sources.nodes if node.metadata is not None]
    if not nodes and not sources.files:
        named = " and ".join(str(node.path) for node in sources.nodes)
        raise wrong_use(f"{named} holds no metadata log: it may be another disk of a node that has one")
    depth = Depth.BYTES if quick else Depth.REPLAY if replay else Depth.RECORDS
    replicas = [read_replica(node, depth=depth) for node in nodes]
    found = [*map(finding_of, sources.unread), *unusable_identities(sources.nodes)]
    found += _judged_together(replicas, sources.nodes)
    files = [verify_file(path, depth=depth) for path in sources.files]
    found += (finding for report in files for finding in report.findings)
    reports = [*(replica.facts for replica in replicas), *files]
    show_findings(output, found, f"{_looked_at(reports, len(files))} {_LEFT_OUT[depth.name]}".rstrip())
    exit_with(found)


def _judged_together(replicas: Sequence[Replica], every: Sequence[NodeSource]) -> Iterator[Finding]:
    """Yield the findings in each log, by itself and with the others of its cluster. `every` node may prove commits."""
    from metadata_log.tools.partitions.committed_proof import judged_ends  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.replicas.last_epochs import near_last_epoch  # noqa: PLC0415
    from metadata_log.tools.replicas.replica_set import ReplicaSet  # noqa: PLC0415
    from metadata_log.tools.replicas.same_log import same_log_groups  # noqa: PLC0415
    from metadata_log.tools.verify.lost_end import is_unproven_end  # noqa: PLC0415
    from metadata_log.tools.verify.voters import among_replicas  # noqa: PLC0415

    clusters: dict[str | None, list[Replica]] = {}
    for replica in replicas:
        clusters.setdefault(_cluster_of(replica.source), []).append(replica)
    for cluster, members in clusters.items():
        logs = [one.voters_log for one in members]
        own = [one for log in logs for one in log.facts.findings]
        yield from near_last_epoch(ReplicaSet(members))
        if next(among_replicas(logs), None) is None and not any(map(is_unproven_end, own)):
            yield from own
            continue  # nothing to tell apart: no log is read again
        others = [node for node in every if node.metadata is None and _cluster_of(node) == cluster]
        for group in same_log_groups([log.facts for log in logs]):
            theirs = [members[one] for one in group]
            findings = [found for one in theirs for found in one.facts.findings]
            yield from judged_ends(findings, [*(one.source for one in theirs), *others], ReplicaSet(theirs))
            yield from among_replicas([logs[one] for one in group])


def _cluster_of(node: NodeSource) -> str | None:
    disks = (disk.identity for disk in node.log_directories)
    known = (one.cluster_id for one in (node.identity, *disks) if one is not None)
    return next(known, None)


def _looked_at(reports: list[LogFacts], files: int) -> str:
    logs = len(reports) - files
    parts = ([counted(logs, "log")] if logs else []) + ([counted(files, "file")] if files else [])
    batches = counted(sum(report.batches for report in reports), "batch")
    records = counted(sum(report.records for report in reports), "record")
    checkpoints = counted(sum(len(report.checkpoints) for report in reports), "checkpoint")
    return f"{' and '.join(parts)}: {batches}, {records}, {checkpoints}."
