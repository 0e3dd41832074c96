"""The verdict on a terminal: tables that the caller prints.

Decides: which columns a terminal's width allows. Must not know: the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from metadata_log.analysis.report.verdict import Verdict
from metadata_log.tools.findings.finding import Finding, Severity
from metadata_log.tools.words import heading_of

_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WIDE: Final = 110
"""The columns that the table of replicas needs with its headings on one line."""
_COLOURS: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def render_verdict(verdict: Verdict, *, limit: int = 50) -> RenderableType:
    """Return the replicas, up to `limit` findings, and the verdict in a sentence, without the kinds that were not
    judged.

    Names from logs are shown as plain text.
    """
    parts: list[RenderableType] = [_Replicas(verdict)]
    if verdict.findings:
        parts.append(_findings(verdict, limit))
    colour = "bold green" if verdict.is_clean else "bold red"
    parts.append(Text(verdict.sentence, style=colour))
    more = " More may be committed." if verdict.upper is None else ""  # the page says why
    parts.append(Text(f"Committed {_bounds(verdict)}: {verdict.because}.{more}", style="dim"))
    return Group(*parts)


def _bounds(verdict: Verdict) -> str:
    if verdict.upper == verdict.lower:
        return f"up to offset {verdict.lower}, and no record from there on"
    least = f"at least up to offset {verdict.lower}"
    return least if verdict.upper is None else f"{least}, at most up to {verdict.upper}"


class _Replicas:
    """The table of replicas. In a narrow terminal its headings have one word a line, so that none is cut."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """See rich."""
        yield _replicas(self._verdict, is_narrow=options.max_width < _WIDE)


def _replicas(verdict: Verdict, *, is_narrow: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("replica", "role"):
        table.add_column(heading_of(name), overflow="fold")
    for name in ("log_start_offset", "log_end_offset", "last_epoch", "checkpoint", "batches", "records", "bytes"):
        heading = _HUMP.sub("\n", heading_of(name)) if is_narrow else heading_of(name)
        table.add_column(heading, justify="right", overflow="fold")
    for replica in verdict.replicas:
        table.add_row(
            Text(replica.label),
            "voter" if replica.is_voter else "observer",
            *(
                str(number)
                for number in (
                    replica.start_offset,
                    replica.end_offset,
                    replica.last_epoch,
                    replica.snapshot_end or "-",
                    replica.batches,
                    replica.records,
                    replica.size_in_bytes,
                )
            ),
        )
    return table


def _findings(verdict: Verdict, limit: int) -> Table:
    left = len(verdict.findings) - limit
    table = Table(box=None, pad_edge=False, header_style="dim", caption=f"and {left} more" if left > 0 else None)
    for name in ("severity", "check", "replica"):
        table.add_column(heading_of(name), overflow="fold")
    table.add_column("Offset", justify="right")
    table.add_column("What", overflow="fold", ratio=1)
    for finding in verdict.findings[:limit]:
        table.add_row(
            Text(str(finding.severity), style=_COLOURS[finding.severity]),
            finding.kind,
            Text(verdict.label_of(finding)),
            "-" if finding.offset is None else str(finding.offset),
            Text("\n".join(_lines(finding, verdict.paths))),
        )
    return table


def _lines(finding: Finding, directories: Sequence[str]) -> Iterator[str]:
    """Yield the meaning, with the file unless an offset in the log identifies the place, and the consequences."""
    file = None if finding.file is None or finding.file in directories else Path(finding.file).name
    if finding.offset is not None and file is not None and file.endswith(".log"):
        file = None
    yield finding.meaning if file is None else f"{file}: {finding.meaning}"
    for consequence in finding.consequences or ():
        yield f"So also: {consequence}"
