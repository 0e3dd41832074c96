"""Act: Spark checks the exported logs of all replicas."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from metadata_log.analysis import Verdict
from metadata_log.analysis.report.terminal import render_verdict
from quorum.cli.analyze import advice_lines
from quorum.cli.demo.place import as_written
from quorum.cli.demo.spark_child import run_kraft
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import CheckFailedError, check

HEADING = "Spark checks the five exported logs"

_FOUND_NOTHING: Final = 0
_FOUND_SOMETHING: Final = 1


def run(stage: Stage) -> None:
    """Analyse the exports. There must be no finding."""
    page = stage.directory / "verdict.html"
    verdict = analyse(stage, stage.exports, page)
    check(verdict.is_clean, f"Spark found something in the logs of this run; see {page}")
    voters = len(verdict.voters)
    check(voters == len(stage.cluster.controllers), f"Spark found {voters} voters in the logs, not three")
    stage.story.proved(f"Nothing found. The page with the plots: {as_written(page)}")


def analyse(stage: Stage, logs: Path, page: Path) -> Verdict:
    """Return the verdict of `kraft analyze` on these logs, after printing it.

    Raises:
        CheckFailedError: the analysis failed, or wrote no page.
    """
    marks = [word for at_ms, text in stage.marks for word in ("--mark", f"{at_ms}={text}")]
    words = ("analyze", str(logs), "--report", str(page), *marks, "-o", "json")
    with stage.story.working("Spark is at work"):
        done = run_kraft(words, scratch=stage.directory / "tmp")
    if done.status not in (_FOUND_NOTHING, _FOUND_SOMETHING):
        raise CheckFailedError(f"kraft {' '.join(words)} ended with {done.status}:\n{done.errors[-2000:]}")
    verdict = msgspec.json.decode(done.output, type=Verdict)
    check(
        done.status == verdict.exit_status,
        f"kraft analyze ended with {done.status}, which is not what its verdict says",
    )
    check(page.is_file(), f"kraft analyze wrote no page {page}")
    stage.story.show(render_verdict(verdict))
    for line in advice_lines(verdict):
        stage.story.say(line)
    return verdict
