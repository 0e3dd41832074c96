"""`kraft log`: read, check and compare metadata logs, and export them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import msgspec
import typer

from metadata_log.counts import counted, counted_are
from metadata_log.files.os_files import OsFiles
from quorum.cli.errors import FAILED, say, wrong_use
from quorum.cli.extras import ANALYSIS, needs
from quorum.cli.log import diff as log_diff
from quorum.cli.log import dump, timeline, verify
from quorum.cli.log import hash as log_hash
from quorum.cli.log.files import say_missing_segments
from quorum.cli.option_values import GroupReadable
from quorum.cli.output import as_asked, show_json

if TYPE_CHECKING:
    from metadata_log.tools.dump.decoded import Decoded
    from metadata_log.tools.read.gaps import Gap
    from metadata_log.tools.read.manifest import Manifest

_TORN: Final = "Left out: {} bytes of an unfinished write at the end of the log."
_Write: TypeAlias = "Callable[[Path, Path, OsFiles], Decoded]"

app = typer.Typer(
    no_args_is_help=True,
    epilog="Examples:  kraft log verify /var/lib/kafka/data    "
    "kraft log dump /var/lib/kafka/data --topic orders    "
    "kraft log diff node-1 node-2 node-3",
)

app.command("dump", epilog=dump.EPILOG)(dump.run)
app.command("verify", epilog=verify.EPILOG)(verify.run)
app.command("diff", epilog=log_diff.EPILOG)(log_diff.run)
app.command("hash", epilog=log_hash.EPILOG)(log_hash.run)
app.command("timeline", epilog=timeline.EPILOG)(timeline.run)


class ExportFormat(enum.StrEnum):
    """The values of export's `-o`: the form of the output, or the decoded tables to add."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"


@app.command(
    epilog="Examples:  kraft log export /var/lib/kraft exports/controller-1 --live localhost:9094    "
    "kraft log export /var/lib/kafka/data copy -o parquet"
)
def export(
    directory: Annotated[
        Path, typer.Argument(help="A node's directory, or its log directory that holds __cluster_metadata-0.")
    ],
    target: Annotated[Path, typer.Argument(help="The export: a directory that does not exist yet, or is empty.")],
    live: Annotated[
        str | None,
        typer.Option(
            "--live", help="GRPC address of the running node, host:port: its high watermark is noted, and waited for."
        ),
    ] = None,
    group_readable: GroupReadable = False,
    redact: Annotated[
        bool, typer.Option("--redact", help="Write decoded tables alone (-o jsonl or parquet), without credentials.")
    ] = False,
    output: Annotated[
        ExportFormat,
        typer.Option(
            "-o",
            "--output",
            help="table or json: say what was copied; jsonl, parquet: add decoded tables of batches and records too.",
            callback=as_asked,
        ),
    ] = ExportFormat.TABLE,
) -> None:
    """Copy a replica's log and the small files beside it unchanged, with a manifest.json, for analysis or a bug report.

    Reads only: it may be used on a running node's directory. With --live a copy that lacks committed records is
    detected; without it, only bounds of the committed records are known. With -o jsonl or -o parquet, decoded/ holds
    every batch with its raw bytes and CRC. It also holds the records in typed columns, a folder for each type.
    Exit status 0: all is copied. 1: all is copied, but a part is damaged or proven lost. 2: there is no log, or no
    place for the copy. With --redact damaged bytes are left out, and nothing is restored or repaired from such an
    export.
    """
    from metadata_log.tools.backup.export import export_replica  # noqa: PLC0415  (not needed for help)

    tables = _tables(output)
    if redact:
        _export_redacted(directory, target, tables, group_readable)
        return
    high_watermark = None if live is None else _high_watermark(directory, live)
    manifest = export_replica(directory, target, high_watermark=high_watermark, group_readable=group_readable)
    decoded = None if tables is None else _write_tables(target, tables, group_readable)
    _show_export(output, target, manifest, decoded)
    _tell(output, directory, target, manifest)


def _tell(output: ExportFormat, directory: Path, target: Path, manifest: Manifest) -> None:
    """Report that an export holds credentials, and its damaged or lost parts.

    Raises:
        Exit: a part is damaged or lost.
    """
    from metadata_log.tools.backup.export import credentials_in, damage_in  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.verify.lost_end import lost_end  # noqa: PLC0415

    in_no_table = ", and in no table" if output in (ExportFormat.JSONL, ExportFormat.PARQUET) else ""
    users = credentials_in(target)
    if users and output is not ExportFormat.JSON:
        print(f"It holds credentials of {users} user{'' if users == 1 else 's'}: keep it as a secret.")
    damaged = list(damage_in(target))
    for name, damage in damaged:
        say(
            f"kraft: {directory}: {name}, position {damage.position}: {counted(damage.size, 'damaged byte')}, copied "
            f"unchanged{in_no_table}: {damage.what} (kraft log verify says more)"
        )
    found = lost_end(target)
    gaps = found.gaps
    _say_gaps(directory, gaps)
    for name, why in found.misnamed.items():
        say(f"kraft: {directory}: {name} is misnamed, and copied unchanged: {why} (kraft check says more)")
    _say_lost(directory, manifest.lost)
    is_short = 0 if manifest.lost else say_missing_segments([directory])
    if damaged or gaps or manifest.lost or is_short or found.misnamed:
        raise typer.Exit(FAILED)


def _export_redacted(directory: Path, target: Path, tables: _Write | None, group_readable: bool) -> None:
    from metadata_log.files.own_files import OwnFiles  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.backup.export import export_redacted, left_out_of  # noqa: PLC0415
    from metadata_log.tools.read.redacted_files import RedactedFiles  # noqa: PLC0415

    if tables is None:
        raise wrong_use("--redact copies no segment, and writes decoded tables alone: add -o jsonl or -o parquet")
    files = RedactedFiles(OwnFiles())
    done = export_redacted(
        directory, target, lambda source, to: tables(source, to, files), group_readable=group_readable
    )
    print(f"Decoded, without credentials: {_decoded(done)}, in {target / 'decoded'}")
    left = left_out_of(directory)
    if left.torn:
        print(_TORN.format(left.torn))
    for name, damage in left.damaged:
        say(
            f"kraft: {directory}: {name}, position {damage.position}: {counted_are(damage.size, 'damaged byte')} left "
            f"out, since they may hold credentials: {damage.what} (kraft log verify says more)"
        )
    _say_gaps(directory, left.gaps)
    _say_lost(directory, left.lost)
    if left.damaged or left.gaps or left.lost:
        raise typer.Exit(FAILED)


def _say_gaps(directory: Path, gaps: Sequence[Gap]) -> None:
    for gap in gaps:
        say(f"kraft: {directory}: {gap} (kraft log verify says more)")


def _say_lost(directory: Path, lost: Sequence[str]) -> None:
    for one in lost:
        say(f"kraft: {directory}: {one} (kraft check says more; the files that prove it are not in the export)")


def _show_export(output: ExportFormat, target: Path, manifest: Manifest, decoded: Decoded | None) -> None:
    if output is ExportFormat.JSON:
        show_json({"target": str(target), **msgspec.to_builtins(manifest)})
        return
    known = "unknown" if manifest.high_watermark is None else manifest.high_watermark
    has_segment = any(file.name.endswith(".log") for file in manifest.files)
    offsets = f"offsets {manifest.start_offset} to {manifest.end_offset}, epoch {manifest.epoch}"
    files = counted(len(manifest.files), "file")
    print(
        f"Exported node {manifest.node_id}: {files}, {offsets if has_segment else 'no segment'}, "
        f"high watermark {known}, to {target}"
    )
    if manifest.cut_tail_bytes:
        print(_TORN.format(manifest.cut_tail_bytes))
    if decoded is not None:
        print(f"Decoded: {_decoded(decoded)}, in {target / 'decoded'}")


def _decoded(done: Decoded) -> str:
    return f"{counted(done.batches, 'batch')}, {counted(done.records, 'record')}"


def _tables(output: ExportFormat) -> _Write | None:
    """Return the writer of the decoded tables, or None. A missing package is reported before anything is copied."""
    if output is ExportFormat.PARQUET:
        with needs(ANALYSIS):
            from metadata_log.analysis.decoded_parquet import write_parquet  # noqa: PLC0415

            return write_parquet
    if output is ExportFormat.JSONL:
        from metadata_log.tools.dump.decoded import write_json_lines  # noqa: PLC0415

        return write_json_lines
    return None


def _write_tables(target: Path, tables: _Write, group_readable: bool) -> Decoded:
    import shutil  # noqa: PLC0415  (not needed for help)

    from metadata_log.tools.dump.decoded import write_beside  # noqa: PLC0415

    try:
        return write_beside(target, lambda source, to: tables(source, to, OsFiles()), group_readable=group_readable)
    except BaseException:
        shutil.rmtree(
            target, ignore_errors=True
        )  # an incomplete export would keep the same command from being repeated
        raise


def _high_watermark(directory: Path, live: str) -> int | None:
    """Return the high watermark of the node at `live`, which must be the exported directory's node."""
    from metadata_log.tools.backup.export import metadata_to_export  # noqa: PLC0415
    from metadata_log.tools.read.contents import read_identity  # noqa: PLC0415  (not needed for help)
    from quorum.cli.connection import DEFAULT_TIMEOUT_S  # noqa: PLC0415
    from quorum.cli.log.live import node_at  # noqa: PLC0415  (gRPC)
    from quorum.client.errors import ClientError  # noqa: PLC0415

    place = metadata_to_export(directory)
    try:
        node = node_at(live, DEFAULT_TIMEOUT_S)
    except ClientError as error:
        raise wrong_use(f"--live {live}: {error}. Without --live the copy is made all the same") from error
    own = read_identity(place)
    if own is not None and (own.node_id, own.cluster_id) != (node.node_id, node.cluster_id):
        raise wrong_use(
            f"--live {live} is node {node.node_id} of cluster {node.cluster_id}, but {directory} belongs to node "
            f"{own.node_id} of cluster {own.cluster_id}: name the node whose directory it is"
        )
    return node.high_watermark
