"""`kraft log`: look into metadata logs, and take copies of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from quorum.cli import dump, log_diff, verify
from quorum.cli.errors import CliError
from quorum.cli.output import Output, OutputFormat, show_json

app = typer.Typer(no_args_is_help=True)

app.command("dump", epilog=dump.EPILOG)(dump.run)
app.command("verify", epilog=verify.EPILOG)(verify.run)
app.command("diff", epilog=log_diff.EPILOG)(log_diff.run)


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
