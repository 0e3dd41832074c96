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
from quorum.cli.errors import wrong_use
from quorum.cli.output import print_table

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
