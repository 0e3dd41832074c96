"""`kraft log timeline`: what happened to a cluster, by its log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from quorum.cli.errors import CliError, wrong_use
from quorum.cli.output import RowFormat, RowOutput, show_json, show_json_line, table_lines

if TYPE_CHECKING:
    from metadata_log.tools.timeline import Timeline

EPILOG: Final = (
    "Examples:  kraft log timeline /var/lib/kafka/data    kraft log timeline nodes/ --picture cluster.html    "
    "kraft log timeline node-1 -o json | jq '.events[] | select(.kind == \"fenced\")'"
)


def run(
    paths: Annotated[
        list[Path], typer.Argument(help="Nodes' directories, metadata directories, segments, exports; of one cluster.")
    ],
    gap: Annotated[float, typer.Option("--gap", min=0.001, help="Seconds without a record that count as a gap.")] = 5.0,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", help="Draw it too: a new file that ends in .svg or .html."),
    ] = None,
    output: RowOutput = RowFormat.TABLE,
) -> None:
    """Tell elections, leaders, epochs, brokers fenced and back, changes of voters and levels, and gaps, by time.

    Several replicas give one story. Reads only and takes no lock. Times are those of the leaders' clocks.
    """
    from metadata_log.tools.hashes import histories  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.sources import SourceError, find_sources, require_one_cluster  # noqa: PLC0415
    from metadata_log.tools.timeline import merged, timeline_of  # noqa: PLC0415
    from metadata_log.tools.times import time_text  # noqa: PLC0415

    if picture is not None and picture.suffix not in (".svg", ".html"):
        png = ": a browser, Inkscape or rsvg-convert make one of an .svg" if picture.suffix == ".png" else ""
        raise wrong_use(f"--picture {picture}: its name must end in .svg or .html{png}")
    try:
        require_one_cluster(find_sources(paths).nodes, "what was named")
    except SourceError as error:
        raise wrong_use(str(error)) from error
    logs = [history for _, history in histories(paths) if history.segments]
    if not logs:
        raise CliError(f"{', '.join(map(str, paths))}: a checkpoint does not say when: give segments")
    found = merged(timeline_of(history.batches(), round(gap * 1000)) for history in logs)
    if picture is not None:
        _draw(picture, found, f"Metadata log of {', '.join(map(str, paths))}")
    if output is RowFormat.JSON:
        show_json(msgspec.to_builtins(found))
        return
    if output is RowFormat.JSONL:
        for event in found.events:
            show_json_line(msgspec.to_builtins(event))
        return
    rows = [
        {**msgspec.to_builtins(event), "time": time_text(event.time_ms), "what": event.text} for event in found.events
    ]
    for line in table_lines(("time", "offset", "epoch", "kind", "what"), rows):
        print(line)


def _draw(picture: Path, timeline: Timeline, title: str) -> None:
    from metadata_log.tools.timeline_picture import timeline_html, timeline_svg  # noqa: PLC0415  (not for help)

    drawn = timeline_html if picture.suffix == ".html" else timeline_svg
    try:
        with picture.open("x", encoding="utf-8") as file:
            file.write(drawn(timeline, title))
    except FileExistsError:
        raise wrong_use(f"--picture {picture} exists: name a new file") from None
