"""`kraft analyze`: check metadata logs against themselves and each other with Spark, and show the findings."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from quorum import __version__
from quorum.cli.errors import say, wrong_use
from quorum.cli.extras import ANALYSIS, needs
from quorum.cli.output import Output, OutputFormat, plain_lines, show_json, shown, terminal_console, with_times
from quorum.cli.tables import print_wrapped

if TYPE_CHECKING:
    from metadata_log.analysis import Verdict
    from metadata_log.tools.findings.finding import Finding

EPILOG: Final = (
    "Examples:  kraft analyze exports/ --report verdict.html    "
    "kraft analyze exports/ --report verdict.html --mark '2026-01-31T12:00:00=rack B lost power'"
)
_REMIND_S: Final = 10.0
_PLACES: Final = 5
"""The most places that one advice names."""
_TIMES: Final = ("first_ms", "last_ms", "at_ms", "made_ms")
"""The keys of times in a verdict."""


def run(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Exports of kraft log export, nodes' data directories (ours or Apache Kafka's), or what holds several "
            "of them: all that kraft check takes."
        ),
    ],
    report: Annotated[
        Path | None, typer.Option("--report", help="Write a page with plots there: one HTML file.", dir_okay=False)
    ] = None,
    mark: Annotated[
        list[str] | None,
        typer.Option(
            "--mark", metavar="TIME=TEXT", help="Put an event of yours on the page's axis; may be given several times."
        ),
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Check metadata logs with Spark, a task for each log: all that kraft check finds, and a page of plots.

    Exit status 0: no errors, no warnings. 1: something was found. 2: nothing to check, or no Spark or Java.
    """
    verdict = _judge(paths, report, [_mark(text) for text in mark or ()])
    if output is OutputFormat.JSON:
        fields = with_times(msgspec.to_builtins(verdict), *_TIMES)
        show_json({"verdict": verdict.sentence, **fields})
    else:
        _show(verdict)
        if report is not None:
            print(f"Report: {report}")
    if verdict.exit_status:
        raise typer.Exit(verdict.exit_status)


def _judge(paths: list[Path], report: Path | None, marks: list[tuple[int, str]]) -> Verdict:
    """Return the verdict.

    Raises:
        CliError: a path holds no log, or Spark, Java or a package is missing.
    """
    with needs(ANALYSIS):
        from metadata_log.analysis import AnalysisError, run_analysis  # noqa: PLC0415  (not needed for help)

        try:
            with _ended_with_us(), _progress() as tell:
                made_by = f"kraft {__version__}"
                return run_analysis(paths, report=report, marks=marks, made_by=made_by, tell=tell)
        except AnalysisError as error:
            raise wrong_use(str(error)) from error


def _mark(text: str) -> tuple[int, str]:
    """Return the time in ms and the text of a `--mark`.

    Raises:
        CliError: the mark is not of the form TIME=TEXT.
    """
    from metadata_log.tools.times import PAST_THE_CALENDAR_MS, parse_time_ms  # noqa: PLC0415  (not needed for help)

    time_text, _, what = text.partition("=")
    if not what.strip():
        raise wrong_use(f"--mark {text}: no text; write a time, = and a text, as 2026-01-31T12:00:00=rack B lost power")
    try:
        at_ms = parse_time_ms(time_text.strip())
    except ValueError as error:
        raise wrong_use(f"--mark {text}: {time_text.strip() or 'nothing'} is no time: {error}") from None
    if not 0 < at_ms < PAST_THE_CALENDAR_MS:
        raise wrong_use(f"--mark {text}: {time_text.strip()} is no time between 1970 and 9999")
    return at_ms, what.strip()


def _show(verdict: Verdict) -> None:
    from metadata_log.analysis.report.terminal import render_verdict  # noqa: PLC0415

    if sys.stdout.isatty():
        terminal_console(highlight=False).print(render_verdict(verdict))
    else:
        print("\n".join(plain_lines(render_verdict(verdict))))
    for line in (*advice_lines(verdict), *verdict.not_judged_lines):
        print_wrapped(line)


def advice_lines(verdict: Verdict) -> list[str]:
    """Return the advice on the findings, once for each kind. Several advices on a kind name their places."""
    kinds: dict[str, dict[str, list[str]]] = {}
    for found in verdict.findings:
        if found.counts:
            kinds.setdefault(found.kind, {}).setdefault(found.advice, []).append(_place_of(found))
    return [
        f"What to do about {kind}{_of_places(places) if len(advice) > 1 else ''}: {text}."
        for kind, advice in kinds.items()
        for text, places in advice.items()
    ]


def _place_of(found: Finding) -> str:
    node = [] if found.node_id is None else [f"node {found.node_id}"]
    return ", ".join([*node, *([] if found.file is None else [shown(found.file)])])


def _of_places(places: Sequence[str]) -> str:
    """Return ` (node 1, FILE; node 2, FILE)`; beyond `_PLACES`, the number of the others."""
    named = list(dict.fromkeys(filter(None, places)))
    left = [f"and {len(named) - _PLACES} more"] if len(named) > _PLACES else []
    return f" ({'; '.join([*named[:_PLACES], *left])})" if named else ""


@contextlib.contextmanager
def _ended_with_us() -> Iterator[None]:
    """End Spark's processes and remove its files if a signal ends this process.

    Spark's processes ignore an interrupt of their own. Only SIGKILL leaves them running. SIGINT is raised as SystemExit
    here: Spark's client prints a traceback for each KeyboardInterrupt.
    """
    before = {number: signal.signal(number, _end) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except SystemExit:
        from metadata_log.analysis.session import abandon  # noqa: PLC0415  (not needed for help)

        for number in before:
            signal.signal(number, signal.SIG_IGN)
        abandon()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: object) -> None:
    sys.exit(128 + number)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Print each step on standard error, and every 10 s that it still runs. A long step is then no hang to the user."""
    ended, began, steps = threading.Event(), time.monotonic(), [""]

    def tell(step: str) -> None:
        steps.append(step)
        say(f"{step} ...")

    def remind() -> None:
        while not ended.wait(_REMIND_S):
            say(f"{steps[-1]} ... ({time.monotonic() - began:.0f} s so far)")

    reminder = threading.Thread(target=remind, daemon=True)
    reminder.start()
    try:
        yield tell
    finally:
        ended.set()
        reminder.join()
