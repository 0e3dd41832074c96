"""`kraft check`: everything at once, over the directories of any nodes of one cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from metadata_log.counts import counted
from quorum.cli.errors import wrong_use
from quorum.cli.findings_output import FindingFormat, FindingOutput, exit_with, show_findings
from quorum.cli.node_file import NodeFiles, directories_of
from quorum.cli.output import OF_A_LOG
from quorum.cli.tables import print_wrapped, table_lines

if TYPE_CHECKING:
    from metadata_log.tools.check.check import CheckReport

EPILOG: Final = (
    "Examples:  kraft check /var/lib/kraft    kraft check --config server.properties    "
    "kraft check backup/node-* -o json | jq '.findings[] | select(.severity==\"error\")'"
)


def run(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[NODE_DIR...]",
            help="Directories of any controllers and brokers of one cluster, any subset: log directories, or what "
            "holds them; also exports, metadata directories, single segments and checkpoints. Below any other "
            "directory, nodes are looked for up to 5 levels down, on the first level that has any; hidden ones are "
            "left out.",
        ),
    ] = None,
    config: NodeFiles = None,
    output: FindingOutput = FindingFormat.TABLE,
) -> None:
    """Say what is wrong with a cluster's directories: the command to run first.

    Checks every log by itself (as kraft log verify --replay) and replicas against each other (as kraft log diff). Also
    checks votes, whose directories they are, and brokers' partition directories. Reads only and takes no lock: the
    nodes may be running. Exit status 0: nothing is wrong, or notes only. 1: something was found. 2: there is nothing to
    check.
    """
    from metadata_log.tools.check.check import check_paths  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.check.scope import not_judged_lines  # noqa: PLC0415
    from metadata_log.tools.read.manifest import is_export  # noqa: PLC0415
    from metadata_log.tools.read.sources import SourceError  # noqa: PLC0415

    try:
        report = check_paths(directories_of(paths, config, "NODE_DIR..."))
    except SourceError as error:
        raise wrong_use(str(error)) from error
    if output is FindingFormat.TABLE:
        for line in _lines(report):
            print(line)
    left = report.not_judged if any(is_export(Path(node.path)) for node in report.nodes) else ()
    more = {"not_judged": msgspec.to_builtins(left)} if left else {}
    show_findings(output, report.findings, _looked_at(report), more)
    if output is FindingFormat.TABLE:
        for line in not_judged_lines(left):
            print_wrapped(line)
    exit_with(report.findings)


def _lines(report: CheckReport) -> Iterator[str]:
    if not report.nodes:
        return
    columns = ("node", "voter", "start_offset", "end_offset", "last_epoch", "records", "partitions", "path")
    rows = [{**msgspec.to_builtins(node), "voter": node.is_voter} for node in report.nodes]
    yield from table_lines(columns, rows, OF_A_LOG)
    yield ""


def _looked_at(report: CheckReport) -> str:
    nodes, files = len(report.nodes), len(report.files)
    unread = f", {report.unread} of which could not be read" if report.unread else ""
    parts = ([counted(nodes + report.unread, "node") + unread] if nodes + report.unread else []) + (
        [counted(files, "file")] if files else []
    )
    return f"{' and '.join(parts)}{_committed(report)}."


def _committed(report: CheckReport) -> str:
    """Return how far the logs prove that records are committed. That is a lower bound, and often far below the end."""
    bounds = report.bounds
    here = len({node.node_id if node.node_id is not None else node.path for node in report.nodes if node.is_voter})
    end = max((node.end_offset or 0 for node in report.nodes), default=0)
    if not bounds.lower:
        return ""
    if bounds.lower >= end:
        return f"; all before offset {bounds.lower} is committed"
    if bounds.upper == bounds.lower:
        return f"; all before offset {bounds.lower} is committed, and no record from there on"
    said = f"; at least all before offset {bounds.lower} is committed. The log ends at {end}, but"
    if not here:
        return f"{said} nothing here proves more"
    return f"{said} the directories of {here} of {counted(len(report.voters), 'voter')} prove no more"
