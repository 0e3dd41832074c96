"""The output of findings: grouped by cause for people; a list, or a line for each, for programs."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from metadata_log.counts import counted
from quorum.cli.errors import FAILED
from quorum.cli.output import RowFormat, as_asked, show_json, show_json_line, shown
from quorum.cli.streams import Terminal
from quorum.cli.tables import print_wrapped, wrapped

if TYPE_CHECKING:
    from metadata_log.tools.findings.finding import Finding
    from metadata_log.tools.read.sources import NodeSource, Sources

_INDENT: Final = " " * 10
_SEVERITY: Final = re.compile(r"  (ERROR|WARNING|NOTE)(?= )")
_COLOURS: Final = {"ERROR": "1;31", "WARNING": "1;33", "NOTE": "36"}
"""The parameters of ECMA-48's SGR: bold red, bold yellow, cyan."""
_IF_NOTED: Final = {"BYTES": "how the log ends"}
"""The headings of causes, by name, for groups that hold only notes: then nothing is damaged."""


FindingFormat = RowFormat
"""The values of `-o`."""

FindingOutput = Annotated[
    FindingFormat,
    typer.Option(
        "-o",
        "--output",
        help="table for people; json: one object; jsonl: a finding a line.",
        case_sensitive=False,
        callback=as_asked,
    ),
]


def sources_of(paths: Sequence[Path]) -> Sources:
    """Return the nodes and files at the paths, readable or not.

    Raises:
        SourceError: a path leads to no node or file.
        OSError, CorruptFileError: none of them can be read.
    """
    from metadata_log.tools.read.readable import readable_sources  # noqa: PLC0415  (not needed for help)

    return readable_sources(paths)


def check_one_cluster(nodes: Sequence[NodeSource]) -> None:
    """Accept logs that may be of one cluster, however they were named.

    Raises:
        SourceError: they are of several clusters.
    """
    from metadata_log.tools.read.sources import require_one_cluster  # noqa: PLC0415  (not needed for help)

    require_one_cluster(nodes, "what was named")


def show_findings(
    output: FindingFormat, findings: Sequence[Finding], looked_at: str, more: Mapping[str, object] | None = None
) -> None:
    """Print findings. `looked_at` is the end of the summary sentence; `more` are further keys of the JSON object."""
    if output is FindingFormat.JSON:
        show_json({"findings": finding_rows(findings), **(more or {})})
    elif output is FindingFormat.JSONL:
        for row in finding_rows(findings):
            show_json_line(row)
    else:
        print_findings(finding_lines(findings))
        print_wrapped(f"{summary(findings)} {looked_at}")


def finding_rows(findings: Iterable[Finding]) -> list[dict[str, object]]:
    """Return the findings as rows for JSON."""
    from metadata_log.tools.findings.finding import printed  # noqa: PLC0415  (not needed for help)

    return [msgspec.to_builtins(printed(found)) for found in findings]


def print_findings(lines: Iterable[str]) -> None:
    """Print lines of `finding_lines`. On a terminal severities have colours, unless NO_COLOR is set."""
    out = sys.stdout
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    for line in chain.from_iterable(map(wrapped, lines)):
        severity = _SEVERITY.match(line)
        if severity is None or is_plain or not isinstance(out, Terminal):
            print(line)
            continue
        out.trusted.write(f"  \x1b[{_COLOURS[severity[1]]}m{severity[1]}\x1b[0m")
        print(line[severity.end() :])


def finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the findings under their causes, the gravest first. Equal advice in a row is printed once."""
    from metadata_log.tools.findings.finding import by_cause  # noqa: PLC0415  (not needed for help)

    for cause, group in by_cause(findings).items():
        is_noted = not any(found.counts for found in group)
        yield f"{str(_IF_NOTED.get(cause.name, cause) if is_noted else cause).capitalize()}:"
        for number, found in enumerate(group):
            following = group[number + 1] if number + 1 < len(group) else None
            yield f"  {found.severity.value.upper():<8}{found.kind}{_where(found)}"
            yield f"{_INDENT}{shown(found.meaning)}"
            yield from (f"{_INDENT}So also: {shown(each)}" for each in found.consequences or ())
            if following is None or (following.kind, following.remedy) != (found.kind, found.remedy):
                yield f"{_INDENT}→ {found.advice}"
        yield ""


def _where(found: Finding) -> str:
    parts = [] if found.node_id is None else [f"node {found.node_id}"]
    if found.file is not None:
        parts.append(shown(found.file))
    places = (("position", found.position), ("offset", found.offset), ("epoch", found.epoch))
    parts += [f"{name} {value}" for name, value in places if value is not None]
    if found.topic_id is not None:
        parts.append(f"topic id {found.topic_id}")
    return f": {', '.join(parts)}" if parts else ""


def summary(findings: Sequence[Finding]) -> str:
    """Return the beginning of the summary: `2 errors and 1 note in`, or `Nothing is wrong with`."""
    counts = Counter(found.severity.value for found in findings)
    if not counts["error"] and not counts["warning"]:
        notes = f" ({counted(counts['note'], 'note')})" if counts["note"] else ""
        return f"Nothing is wrong{notes} with"
    said = [counted(counts[name], name) for name in ("error", "warning", "note") if counts[name]]
    return f"{' and '.join([', '.join(said[:-1]), said[-1]] if len(said) > 1 else said)} in"


def exit_with(findings: Sequence[Finding]) -> None:
    """Exit with status 1 if a finding is graver than a note.

    Raises:
        Exit: there is such a finding.
    """
    if any(found.counts for found in findings):
        raise typer.Exit(FAILED)
