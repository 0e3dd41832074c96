"""The Spark job: from paths to a verdict.

Decides: the work of a task. Must not know: the rules, or the content of a verdict. One task for each log runs the rules
of `kraft check` over it. This process collects the results and judges the logs together. The partition directories,
whose list is larger than all results of tasks, stay in this process.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException

from metadata_log.analysis import session
from metadata_log.analysis.errors import AnalysisError
from metadata_log.analysis.report.verdict import Verdict
from metadata_log.analysis.tasks import LogTask, Refused, judge_logs, read_log, tasks_of
from metadata_log.tools.check.plan import Plan, holding_now, until_settled
from metadata_log.tools.findings.finding import printed
from metadata_log.tools.read.sources import SourceError
from metadata_log.tools.words import count_of

Progress = Callable[[str], None]

_LARGE_BYTES: Final = 256 << 20


def analyse(paths: Sequence[Path], *, tell: Progress) -> Verdict:
    """Run the job; see `metadata_log.analysis.run_analysis`."""
    began, made_ms = time.monotonic(), time.time_ns() // 1_000_000
    try:
        verdict = until_settled(paths, lambda plan: _judged(plan, tell), lambda found: found.is_clean)
    except SourceError as error:
        raise AnalysisError(str(error)) from error
    java = session.java()
    return msgspec.structs.replace(
        verdict,
        made_ms=made_ms,
        elapsed_s=round(time.monotonic() - began, 3),
        java=f"Java {java.version} ({java.origin})",
    )


def _judged(plan: Plan, tell: Progress) -> Verdict:
    tasks = tasks_of(plan)
    if not tasks:
        where = ", ".join(str(node.path) for node in plan.nodes)
        raise AnalysisError(f"{where}: no metadata log is there: name the disks that hold one, or exports")
    tell("starting Spark")
    spark = session.spark_context(large=_size_of(plan) > _LARGE_BYTES)
    tell(f"reading and judging {count_of(len(tasks), 'log')}")
    try:
        found = _run(spark, plan, tasks)
    except (Py4JJavaError, PySparkException) as error:
        full = session.out_of_space(error)
        if full is None:
            raise
        raise full from error
    if isinstance(found, Refused):
        raise AnalysisError(found.why)
    return msgspec.structs.replace(found, findings=tuple(map(printed, holding_now(plan, found.findings))))


def _run(spark: SparkContext, plan: Plan, tasks: Sequence[LogTask]) -> Verdict | Refused:
    return judge_logs(plan, spark.parallelize(tasks, len(tasks)).map(read_log).collect())


def _size_of(plan: Plan) -> int:
    """Return the bytes of all files, without those that a running node removes meanwhile."""
    size = 0
    for path in (*(path for node in plan.logs if node.metadata for path in node.metadata.iterdir()), *plan.files):
        with contextlib.suppress(FileNotFoundError):
            size += path.stat().st_size
    return size
