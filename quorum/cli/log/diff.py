"""`kraft log diff`: the offsets at which replicas diverge, and their meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from metadata_log.counts import counted
from metadata_log.tools.replicas.committed_bounds import UPPER_UNKNOWN
from quorum.cli.errors import FAILED
from quorum.cli.findings_output import (
    exit_with,
    finding_lines,
    print_findings,
    summary,
)
from quorum.cli.output import OF_A_LOG, RowFormat, RowOutput, show_json, show_json_line
from quorum.cli.tables import table_lines

if TYPE_CHECKING:
    from metadata_log.tools.findings.finding import Finding
    from metadata_log.tools.replicas.diff import DiffReport, Divergence, ReplicaLine

_UNREAD: Final = ("READING", "BYTES", "ORDER")
"""Causes of findings that keep a part of a log from being compared."""
_BESIDE: Final = ("quorum-state", "committed-state", "leader-epoch-checkpoint")
"""Sidecar files of a log whose names have no dot."""
EPILOG: Final = (
    "Examples:  kraft log diff /backup/controller-1 /backup/controller-2    "
    "kraft log diff nodes/ -o json | jq .partings    kraft log diff nodes/ -o jsonl | jq 'select(.what == \"finding\")'"
)


def run(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Two or more replicas: nodes' directories, metadata directories, exports; brokers' too."),
    ],
    output: RowOutput = RowFormat.TABLE,
) -> None:
    """Compare replicas of one metadata log: the last common offset, who holds a majority, the records that differ.

    It separates a tail that was never committed, which is harmless, from lost commits. It compares the logs' records;
    kraft check also compares the checkpoints, and brokers' partition directories, which may prove more commits. Reads
    only and takes no lock.
    Exit status 0: they agree, or differ harmlessly. 1: they conflict, or one is damaged or not compared. 2: fewer than
    two logs were found.
    """
    from metadata_log.tools.findings.finding import printed  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.replicas.diff_paths import diff_paths  # noqa: PLC0415

    report = diff_paths(paths)
    report = msgspec.structs.replace(report, findings=tuple(map(printed, report.findings)))
    if output is RowFormat.JSON:
        show_json(msgspec.to_builtins(report))
    elif output is RowFormat.JSONL:
        for what, parts in _json_parts(report):
            show_json_line({"what": what, **msgspec.to_builtins(parts)})
    else:
        print_findings(_lines(report))
    exit_with(report.findings)
    if _left_out(report):
        raise typer.Exit(FAILED)


def _json_parts(report: DiffReport) -> Iterator[tuple[str, msgspec.Struct]]:
    """Yield the content of each line: the replicas, the bounds, the divergences, the findings."""
    yield from (("replica", replica) for replica in report.replicas)
    yield "bounds", report.bounds
    yield from (("parting", parting) for parting in report.partings)
    yield from (("finding", found) for found in report.findings)


def _lines(report: DiffReport) -> Iterator[str]:
    columns = ("replica", "voter", "start_offset", "end_offset", "last_epoch", "snapshot_end", "path")
    rows = [{**msgspec.to_builtins(line), "voter": line.is_voter} for line in report.replicas]
    yield from table_lines(columns, rows, OF_A_LOG)
    yield ""
    bounds = report.bounds
    damaged = [_damage_line(replica.replica, found) for replica, found in _damage(report)]
    yield from damaged
    upper = f"unknown, {UPPER_UNKNOWN}" if bounds.upper is None else f"offset {bounds.upper}"
    yield f"Certainly committed: all before offset {bounds.lower} ({bounds.because})."
    yield f"Possibly committed:  up to {upper}{', by these logs' if bounds.upper is not None else ''}."
    compared = [replica for replica in report.replicas if replica.is_compared]
    for one in report.replicas:
        if not one.is_compared:
            yield f"{one.replica} ({one.path}) was not compared: a finding says why."
    if len(compared) < 2:
        yield "Nothing could be compared."
    elif not any(_overlap(one, other) for one, other in combinations(compared, 2)):
        yield "No two of them overlap: nothing could be compared."
    elif not report.partings:
        yield from _same_lines(compared, report.common_end, is_damaged=bool(damaged))
    for parting in report.partings:
        yield ""
        yield from _parting_lines(parting)
    yield ""
    yield from finding_lines(report.findings)
    yield _last_line(report)


def _last_line(report: DiffReport) -> str:
    """Return the summary. It claims no more than was compared, which is the logs' records."""
    replicas = counted(len(report.replicas), "replica")
    if any(found.counts for found in report.findings):
        return f"{summary(report.findings)} {replicas}."
    missing = len(_left_out(report))
    if missing:
        return f"{missing} of {replicas} could not be compared. kraft check judges each."
    notes = f" ({counted(len(report.findings), 'note')})" if report.findings else ""
    said = "differ harmlessly" if report.partings else "agree"
    return f"The logs' records {said} in {replicas}{notes}. kraft check judges the rest."


def _left_out(report: DiffReport) -> list[ReplicaLine]:
    """Return the replicas whose records were compared with no other's. An empty log has none."""
    compared = [replica for replica in report.replicas if replica.is_compared]
    return [one for one in report.replicas if not one.is_compared or one in _apart(compared)]


def _overlap(one: ReplicaLine, other: ReplicaLine) -> bool:
    return max(one.start_offset, other.start_offset) < min(one.end_offset, other.end_offset)


def _apart(replicas: Sequence[ReplicaLine]) -> list[ReplicaLine]:
    """Return the replicas that hold records and overlap with no other."""
    return [
        one
        for one in replicas
        if one.start_offset < one.end_offset and not any(_overlap(one, other) for other in replicas if other is not one)
    ]


def _same_lines(replicas: Sequence[ReplicaLine], common_end: int, *, is_damaged: bool) -> Iterator[str]:
    """Yield how far the replicas are equal. A replica that overlaps with no other was not compared."""
    apart = _apart(replicas)
    for one in apart:
        yield f"{one.replica} overlaps with no other: nothing of its log could be compared."
    ends = [one.end_offset for one in replicas if one not in apart and one.start_offset < one.end_offset]
    end, they = (min(ends), "the others") if apart else (common_end, "they")
    yield (
        f"{they.capitalize()} hold the same records where they overlap; all of them reach offset {end}. (What "
        "their checkpoints say is not compared here: kraft check does that.)"
        if not is_damaged
        else f"Apart from that, {they} hold the same records where they overlap, up to offset {end}."
    )


def _damage(report: DiffReport) -> Iterator[tuple[ReplicaLine, Finding]]:
    """Yield each replica whose log could not be read whole, with its first finding about that.

    A damaged checkpoint or sidecar file keeps no record from being compared.
    """
    for replica in report.replicas:
        for found in report.findings:
            file = found.file or ""
            if found.counts and found.cause.name in _UNREAD and file.startswith(f"{replica.path}/") and _is_log(file):
                yield replica, found
                break


def _is_log(file: str) -> bool:
    """Return True for a segment, a metadata directory, or a directory that holds one."""
    name = file.rpartition("/")[2]
    return name.endswith(".log") or ("." not in name and name not in _BESIDE)


def _damage_line(replica: str, found: Finding) -> str:
    at = f"offset {found.offset}" if found.offset is not None else f"position {found.position or 0} of {found.file}"
    return (
        f"Damaged: {replica}, at {at} ({found.kind}). Its records are compared up to there, and behind it as far "
        "as they can be read."
    )


def _parting_lines(parting: Divergence) -> Iterator[str]:
    more = "" if parting.batches == 1 else f", {parting.batches} batches in all"
    yield f"They diverge at offset {parting.offset}{more}:"
    for side in parting.sides:
        majority = " (a majority)" if side.is_majority else ""
        yield (
            f"  {', '.join(side.replicas)}{majority}: epoch {side.epoch}, {counted(side.record_count, 'record')} from "
            f"there on ({side.file}, position {side.position})"
        )
        for record in side.records:
            yield f"    {record}"
        if side.record_count > len(side.records):
            yield f"    ... and {side.record_count - len(side.records)} more"
    for number, difference in enumerate(parting.differences):
        yield f"  {'They differ at' if number == 0 else 'and at'} {difference}"
