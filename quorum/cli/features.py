"""`kraft features`: what a log asks of the software that is to read it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from quorum.cli.connection import DEFAULT_TIMEOUT_S, BootstrapController, Timeout, with_client
from quorum.cli.errors import FAILED, CliError, say, wrong_use
from quorum.cli.output import RowFormat, RowOutput, show_rows, table_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metadata_log.segment import LocatedBatch
    from metadata_log.tools.history import LogHistory
    from quorum.client.client import Client

app = typer.Typer(no_args_is_help=True)

_COLUMNS = ("source", "file", "offset", "type", "version", "reason")


@app.callback()
def features() -> None:
    """What a log asks of the software that is to read it, and the raising of kraft.version."""


@app.command(
    epilog="Examples:  kraft features upgrade --bootstrap-controller localhost:9094 --feature kraft.version=1 --dry-run"
    "    kraft features upgrade --bootstrap-controller localhost:9094 --feature kraft.version=1"
)
def upgrade(
    bootstrap_controller: BootstrapController = "",
    feature: Annotated[
        str, typer.Option("--feature", help="NAME=LEVEL; kraft.version is the one that can be raised.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only ask whether the leader would do it.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
) -> None:
    """Raise kraft.version: from 0 to 1 it moves the static voters out of the configuration into the log, for good.

    Every voter of controller.quorum.voters has to run and to follow the leader. Afterwards voters can be added and
    removed (kraft quorum add-controller); the key may be taken out of the nodes' files.
    """
    name, separator, level = feature.partition("=")
    if not separator or not level.isdigit():
        raise wrong_use(f"--feature {feature!r} is not NAME=LEVEL, such as kraft.version=1")
    if name != "kraft.version":
        raise wrong_use(f"--feature {feature}: only kraft.version can be raised here")

    async def work(client: Client) -> int:
        from quorum.raft.voter_messages import UpgradeKRaftVersionRequest  # noqa: PLC0415  (not needed for help)

        request = UpgradeKRaftVersionRequest(kraft_version=int(level), validate_only=dry_run)
        return await client.change_voters(request)

    offset = with_client(bootstrap_controller, timeout, work)
    if dry_run:
        print(f"Dry run: the leader would set kraft.version to {level}, or it is that already. Nothing was changed.")
    elif offset < 0:
        print(f"kraft.version is {level} already.")
    else:
        print(f"kraft.version is {level}: the voters stand in the log, at offset {offset}.")


@app.command(
    epilog="Examples:  kraft features check /var/lib/kafka/data --target 3.9    "
    "kraft features check 00000000000000000300-0000000001.checkpoint --target 3.7-IV4 -o json"
)
def check(
    paths: Annotated[
        list[Path], typer.Argument(help="Nodes' directories, metadata directories, segments, checkpoints, exports.")
    ],
    target: Annotated[str, typer.Option("--target", help="metadata.version, such as 3.9 or 3.9-IV0.")],
    output: RowOutput = RowFormat.TABLE,
) -> None:
    """List the records that software at the target metadata.version could not read, in segments and checkpoints.

    Offsets in a checkpoint count from 0. Reads only and takes no lock.
    Exit status 0: it could read all of them. 1: it could not, or not all could be looked at. 2: there is no such level.
    """
    from metadata_log.records import UnknownLevelError, parse_metadata_version  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.feature_check import unreadable_records  # noqa: PLC0415
    from metadata_log.tools.hashes import histories  # noqa: PLC0415

    try:
        level = parse_metadata_version(target)
    except UnknownLevelError as error:
        raise wrong_use(f"--target: {error}") from error
    rows: list[dict[str, object]] = []
    missed: list[str] = []
    for label, history in histories(paths):
        for path in [path for _, path in (*history.segments, *history.checkpoints)]:
            found = unreadable_records(_sound(path, missed), level.level)
            rows += [{"source": label, "file": path.name, **msgspec.to_builtins(one)} for one in found]
        missed += _not_seen(history)
    for miss in missed:
        say(f"kraft: {miss}")
    everything = "every record" if not missed else "every record that is seen here, which is not all"
    show_rows(output, _COLUMNS, rows, empty=f"{level} can read {everything}.")
    if rows and output is RowFormat.TABLE:
        print()
        for line in table_lines(("type", "version", "records", "first_offset", "reason"), _by_type(rows)):
            print(line)
    if rows:
        raise CliError(f"{level} could not read {len(rows)} record{'' if len(rows) == 1 else 's'} of this log")
    if missed:
        raise typer.Exit(FAILED)


def _sound(path: Path, missed: list[str]) -> Iterator[LocatedBatch]:
    """The sound batches of a file; what is damaged is told."""
    from metadata_log.os_files import OsFiles  # noqa: PLC0415  (not needed for help)
    from metadata_log.segment import LocatedBatch  # noqa: PLC0415
    from metadata_log.tools.history import readable_batches  # noqa: PLC0415

    for found in readable_batches(OsFiles(), path):
        if isinstance(found, LocatedBatch):
            yield found
        else:
            missed.append(
                f"{path}, position {found.position}: {found.size} bytes are damaged ({found.what}): what they said is "
                "not seen"
            )


def _not_seen(history: LogHistory) -> Iterator[str]:
    """What was before a log that begins late, and has no checkpoint to tell it."""
    from metadata_log.tools.history import HistoryError  # noqa: PLC0415

    try:
        history.origin()
    except HistoryError:
        start = history.segments[0][0]
        yield (
            f"{history.path} begins at offset {start}, and no checkpoint tells what was before: records before offset "
            f"{start} are not seen; name the directory of a replica that has one"
        )


def _by_type(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """How many records of each type and version there are, in how many words each; checkpoints' counted as well."""
    found: dict[tuple[object, ...], dict[str, object]] = {}
    counts: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        key = (row["type"], row["version"], row["reason"])
        found.setdefault(key, {**row, "first_offset": f"{row['offset']} in {row['file']}"})
        counts[key] += 1
    return [{**found[key], "records": count} for key, count in counts.most_common()]
