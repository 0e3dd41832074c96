"""`kraft log`: look into metadata logs, and take copies of them."""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from metadata_log.tools.dump import DumpRow, dump_rows, dump_text
from quorum.cli.errors import CliError, wrong_use
from quorum.cli.output import Output, OutputFormat, print_table, show_json

app = typer.Typer(no_args_is_help=True)

_METADATA_DIRECTORY = "__cluster_metadata-0"


class DumpFormat(enum.StrEnum):
    """What `-o` of dump takes."""

    TEXT = "text"
    TABLE = "table"
    JSON = "json"


@app.command(
    epilog="Examples:  kraft log dump /var/lib/kraft    kraft log dump 00000000000000000000.log -o json | jq .type"
)
def dump(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Segments and checkpoints, or directories that hold them; a node's data directory too."),
    ],
    output: Annotated[
        DumpFormat,
        typer.Option("-o", "--output", help="text: as kafka-dump-log prints it; table; json: one record a line."),
    ] = DumpFormat.TEXT,
) -> None:
    """Print every batch and record of metadata logs and checkpoints, of ours or of Apache Kafka's.

    Reads only and takes no lock: it may be used on the directory of a running node.
    """
    for file in _files(paths):
        content = file.read_bytes()
        if output is DumpFormat.TEXT:
            sys.stdout.writelines(line + "\n" for line in dump_text(str(file), content))
        elif output is DumpFormat.JSON:
            for row in dump_rows(content):
                print(json.dumps({"file": str(file), **msgspec.to_builtins(row)}, ensure_ascii=False))
        else:
            print(f"{file}:")
            print_table(
                ("offset", "epoch", "time", "type", "version", "data"), [_cells(row) for row in dump_rows(content)]
            )


@app.command(epilog="Example:  kraft log export /var/lib/kraft exports/controller-1 --live localhost:9094")
def export(
    directory: Annotated[Path, typer.Argument(help="The node's log directory that holds __cluster_metadata-0.")],
    target: Annotated[Path, typer.Argument(help="The export: a directory that does not exist yet, or is empty.")],
    live: Annotated[
        str | None,
        typer.Option("--live", help="GRPC address of the running node, host:port: its high watermark is noted."),
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Copy a replica's segments and checkpoints unchanged, with a manifest.json, for analysis or a bug report.

    Reads only: it may be used on a running node's directory. With --live a copy that lacks committed records is found
    out; without, only bounds of what is committed can be told.
    """
    from metadata_log.tools.export import export_replica  # noqa: PLC0415  (not needed for help)

    high_watermark = None if live is None else _high_watermark(directory, live)
    manifest = export_replica(directory, target, high_watermark=high_watermark)
    if output is OutputFormat.JSON:
        show_json({"target": str(target), **msgspec.to_builtins(manifest)})
        return
    known = "unknown" if manifest.high_watermark is None else manifest.high_watermark
    print(
        f"Exported node {manifest.node_id}: {len(manifest.files)} files, offsets {manifest.start_offset} to "
        f"{manifest.end_offset}, epoch {manifest.epoch}, high watermark {known}, to {target}"
    )
    if manifest.cut_tail_bytes:
        print(f"Left out: {manifest.cut_tail_bytes} bytes of an unfinished write at the end of the log.")


def _high_watermark(directory: Path, live: str) -> int | None:
    """The high watermark of the node at `live`, which must be the one whose directory is copied."""
    from metadata_log.tools.contents import metadata_directory, read_identity  # noqa: PLC0415  (not needed for help)
    from quorum.cli.connection import DEFAULT_TIMEOUT_S  # noqa: PLC0415
    from quorum.cli.live import node_at  # noqa: PLC0415  (gRPC)

    place = metadata_directory(directory)
    node = node_at(live, DEFAULT_TIMEOUT_S)
    own = None if place is None else read_identity(place)
    if own is not None and (own.node_id, own.cluster_id) != (node.node_id, node.cluster_id):
        raise CliError(
            f"--live {live} is node {node.node_id} of cluster {node.cluster_id}, but {directory} belongs to node "
            f"{own.node_id} of cluster {own.cluster_id}: name the node whose directory it is"
        )
    return node.high_watermark


def _cells(row: DumpRow) -> dict[str, object]:
    at = datetime.fromtimestamp(row.timestamp_ms / 1000, UTC)
    return {
        "offset": row.offset,
        "epoch": row.epoch,
        "time": f"{at:%Y-%m-%dT%H:%M:%S}.{row.timestamp_ms % 1000:03d}Z",
        "type": row.type,
        "version": row.version,
        "data": row.error or json.dumps(row.data, ensure_ascii=False),
    }


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_file():
            yield path
            continue
        if not path.exists():
            raise wrong_use(f"{path} does not exist")
        inner = path / _METADATA_DIRECTORY
        found = _logs_in(inner if inner.is_dir() else path)
        if not found:
            raise wrong_use(f"{path} holds neither segments (.log) nor checkpoints, nor a {_METADATA_DIRECTORY}")
        yield from found


def _logs_in(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if file.suffix in (".log", ".checkpoint") and file.is_file())
