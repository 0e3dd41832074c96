"""The check of metadata logs with Spark: the rules of `kraft check`, one verdict, a report.

Only this package imports pyspark, and only when an analysis runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from metadata_log.analysis.errors import AnalysisError, JavaNotFoundError
from metadata_log.analysis.report.verdict import Verdict, with_marks

__all__ = ["AnalysisError", "JavaNotFoundError", "Verdict", "run_analysis"]


def run_analysis(
    paths: Sequence[Path],
    *,
    report: Path | None = None,
    marks: Sequence[tuple[int, str]] = (),
    made_by: str = "",
    tell: Callable[[str], None] = lambda step: None,
) -> Verdict:
    """Check the logs at these paths against themselves and each other.

    Args:
        paths: exports (`metadata_log.tools.backup.export`), log directories of this software or Kafka, or their
            parents: everything that `kraft check` accepts. Directories of running nodes are read without their lock.
        report: the file for the HTML page, or None.
        marks: the operator's own events, each a time in ms and a text; the verdict lists them among its events.
        made_by: the program and its version, for the page.

    Raises:
        AnalysisError: a path holds no log, there is no Java, or no space for Spark.
        CorruptFileError: nothing there can be read.
        OSError: a file cannot be read, or the report cannot be written.
    """
    from metadata_log.analysis.job import analyse  # noqa: PLC0415  (pyspark takes half a second to import)
    from metadata_log.analysis.report.page import write_report  # noqa: PLC0415

    verdict = with_marks(msgspec.structs.replace(analyse(paths, tell=tell), made_by=made_by), marks)
    if report is not None:
        tell(f"writing {report}")
        write_report(verdict, report)
    return verdict
