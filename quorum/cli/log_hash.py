"""`kraft log hash`: one line that is equal where the metadata is equal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from quorum.cli.errors import FAILED, CliError
from quorum.cli.findings import check_one_cluster, sources_of
from quorum.cli.history import an_earlier_offset_may_help, say_what_is_lost
from quorum.cli.output import RowFormat, RowOutput, show_rows

EPILOG: Final = (
    "Examples:  kraft log hash /var/lib/kafka/data    kraft log hash node-1 node-2 node-3    "
    "kraft log hash node-1 00000000000000000300-0000000001.checkpoint --at 300"
)


def run(
    paths: Annotated[
        list[Path], typer.Argument(help="Nodes' directories, metadata directories, segments, checkpoints, exports.")
    ],
    at: Annotated[
        int | None,
        typer.Option("--at", min=0, help="Exclusive end offset; default: the last that every copy reaches."),
    ] = None,
    output: RowOutput = RowFormat.TABLE,
) -> None:
    """Hash the metadata at an offset: equal on all equal replicas, the same from a checkpoint and from the log.

    How it is computed stands in metadata_log/FORMAT.md. Reads only and takes no lock.
    Exit status 0: all are equal. 1: they differ, a copy has no state at that offset, or is damaged. 2: there is no log.
    """
    from metadata_log.tools.hashes import hash_logs, histories  # noqa: PLC0415  (not needed for help)

    check_one_cluster(sources_of(paths).nodes)
    if at is None:
        for _, history in histories(paths):
            say_what_is_lost(history)
    with an_earlier_offset_may_help():
        lines = hash_logs(paths, at)
    show_rows(output, ("source", "end_offset", "epoch", "hash"), msgspec.to_builtins(lines))
    problems = [line.problem for line in lines if line.problem is not None]
    if problems:
        raise CliError("; ".join(problems))
    if len({line.hash for line in lines}) > 1:
        raise CliError(
            f"the metadata up to offset {lines[0].end_offset} differs: `kraft log diff` says where and in what",
            exit_code=FAILED,
        )
