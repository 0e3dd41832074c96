"""`kraft analyze`: check metadata logs against themselves and each other with Spark, and say what was found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from quorum.cli.errors import CliError, say, wrong_use
from quorum.cli.output import Output, OutputFormat, show_json, table_lines

if TYPE_CHECKING:
    from metadata_log.analysis import Verdict

EPILOG: Final = "Example:  kraft analyze exports/ --report verdict.html"

_REPLICA_COLUMNS: Final = ("node", "role", "start", "end", "epoch", "high_watermark", "batches", "records", "bytes")
_FINDING_COLUMNS: Final = ("severity", "node", "offset", "epoch", "kind", "file")


def run(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Exports of kraft log export, nodes' data directories (ours or Apache Kafka's), or what holds several "
            "of them; all of one cluster."
        ),
    ],
    report: Annotated[
        Path | None, typer.Option("--report", help="Write a page with plots there: one HTML file.", dir_okay=False)
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Check metadata logs for consistency: checksums, gaps, epochs, leaders, and whether the replicas agree.

    Exit status 0: clean. 1: something was found. 2: there is nothing to check, or no Java to check it with.
    """
    from metadata_log.analysis import AnalysisError, run_analysis  # noqa: PLC0415  (not needed for help)

    try:
        verdict = run_analysis(paths, report=report, tell=_tell)
    except AnalysisError as error:
        raise wrong_use(str(error)) from error
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pyspark", "pyarrow"):
            raise
        raise CliError(
            f"the Python package {error.name} is not installed: pip install 'kraft-quorum[analysis]'"
        ) from error
    if output is OutputFormat.JSON:
        show_json({"clean": verdict.is_clean, "verdict": verdict.sentence, **msgspec.to_builtins(verdict)})
    else:
        for line in verdict_lines(verdict):
            print(line)
        if report is not None:
            print(f"Report: {report}")
    if verdict.exit_status:
        raise typer.Exit(verdict.exit_status)


def verdict_lines(verdict: Verdict) -> list[str]:
    """The verdict for people: the replicas, what was found in them with what to do, and one sentence to sum it up."""
    from metadata_log.analysis import finding_rows, replica_rows  # noqa: PLC0415  (not needed for help)

    lines = table_lines(_REPLICA_COLUMNS, replica_rows(verdict))
    upper = "unknown" if verdict.upper is None else verdict.upper
    lines.append(f"Committed below offset {verdict.lower} ({verdict.because}); not committed from {upper} on.")
    findings = finding_rows(verdict)
    if findings:
        lines.append("")
        head, *rows = table_lines(_FINDING_COLUMNS, findings)
        lines.append(head)
        for row, finding in zip(rows, findings, strict=True):
            lines += [row, f"    {finding['meaning']}", f"    What to do: {finding['advice']}."]
    return [*lines, "", verdict.sentence]


def _tell(step: str) -> None:
    if sys.stderr.isatty():
        say(f"{step} ...")
