"""`kraft log timeline`: the events of a cluster, from its log."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from quorum import __version__
from quorum.cli.errors import FAILED, say, wrong_use
from quorum.cli.extras import ANALYSIS, needs
from quorum.cli.option_values import a_time
from quorum.cli.output import RowFormat, RowOutput, show_json, show_json_line, with_times
from quorum.cli.tables import table_lines

if TYPE_CHECKING:
    from metadata_log.tools.timeline import Timeline

_SUFFIXES: Final = (".svg", ".html", ".png")
EPILOG: Final = (
    "Examples:  kraft log timeline /var/lib/kafka/data    kraft log timeline nodes/ --picture cluster.html    "
    "kraft log timeline node-1 -o json | jq '.events[] | select(.kind == \"fenced\")'"
)


def run(
    paths: Annotated[
        list[Path], typer.Argument(help="Nodes' directories, metadata directories, segments, exports; of one cluster.")
    ],
    gap: Annotated[
        float, typer.Option("--gap", min=0.001, callback=a_time, help="Seconds without a record that count as a gap.")
    ] = 5.0,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture", help="Draw it too: a new file that ends in .svg, .html or .png (with the extra analysis)."
        ),
    ] = None,
    output: RowOutput = RowFormat.TABLE,
) -> None:
    """List elections, leaders, epochs, brokers fenced and back, changes of voters and levels, and gaps, by time.

    Several replicas give one list; a damaged part of one is named, and skipped. Reads only and takes no lock. Times
    are those of the leaders' clocks. Exit status 0: all was read. 1: a part is damaged or missing, or the logs are not
    replicas of one log. 2: there is no log to read.
    """
    from metadata_log.tools.timelines import timeline_of_paths  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.times import time_text  # noqa: PLC0415

    if picture is not None:
        _check_picture(picture)
    report = timeline_of_paths(paths, round(gap * 1000), lambda sentence: say(f"kraft: {sentence}"))
    found = report.timeline
    for problem in report.problems:
        say(f"kraft: {problem}")
    if found.not_shown is not None:
        say(f"kraft: {found.not_shown}")
    if picture is not None:
        _draw(picture, found, paths)
    if output is RowFormat.JSON:
        show_json(_as_data(found))
    elif output is RowFormat.JSONL:
        for event in found.events:
            show_json_line(with_times(msgspec.to_builtins(event), "time_ms"))
    else:
        rows = [
            {**msgspec.to_builtins(event), "time": time_text(event.time_ms), "what": event.text}
            for event in found.events
        ]
        for line in table_lines(("time", "offset", "epoch", "kind", "what"), rows):
            print(line)
    if not report.is_whole:
        raise typer.Exit(FAILED)


def _as_data(timeline: Timeline) -> dict[str, object]:
    """Return the timeline as data. It has `not_shown` only if a later release has written records."""
    data = with_times(msgspec.to_builtins(timeline), "start_ms", "end_ms", "time_ms")
    if data.pop("newer", None) is not None:
        data["not_shown"] = timeline.not_shown
    return data


def _check_picture(picture: Path) -> None:
    """Reject a picture that cannot be drawn, before the logs are read."""
    if picture.suffix not in _SUFFIXES:
        raise wrong_use(f"--picture {picture}: its name must end in .svg, .html or .png")
    if picture.suffix == ".png":
        with needs(ANALYSIS):
            from metadata_log.analysis.report import png  # noqa: F401, PLC0415


def _draw(picture: Path, timeline: Timeline, paths: list[Path]) -> None:
    from metadata_log.tools.new_files import new_file  # noqa: PLC0415  (not for help)
    from metadata_log.tools.pictures.timeline import timeline_html, timeline_svg  # noqa: PLC0415
    from metadata_log.tools.words import short_paths  # noqa: PLC0415

    subject = ", ".join(short_paths([str(path) for path in paths]))
    if picture.suffix == ".html":
        made_ms = time.time_ns() // 1_000_000
        drawn = timeline_html(timeline, subject, made_ms=made_ms, made_by=f"kraft {__version__}")
    else:
        drawn = timeline_svg(timeline, subject, is_light=picture.suffix == ".png")
    content = drawn.encode(errors="replace")  # a path that is no UTF-8
    if picture.suffix == ".png":
        from metadata_log.analysis.report.png import png_of  # noqa: PLC0415

        content = png_of(content.decode())
    try:
        with new_file(picture) as file:
            file.write(content)
    except FileExistsError:
        raise wrong_use(f"--picture {picture} exists: name a new file") from None
