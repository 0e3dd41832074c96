"""`kraft features`: the levels of features, and the records of a log that a release could not read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from metadata_log.counts import counted, counted_are
from quorum.cli import feature_updates
from quorum.cli.errors import FAILED, CliError, say, wrong_use
from quorum.cli.log_history import what_is_lost
from quorum.cli.output import RowFormat, RowOutput, show_rows
from quorum.cli.tables import table_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metadata_log.records.levels import MetadataVersion
    from metadata_log.storage.segment import LocatedBatch
    from metadata_log.tools.features import Registered
    from metadata_log.tools.read.history import LogHistory, State

app = typer.Typer(no_args_is_help=True, epilog="Example:  kraft features check /var/lib/kafka/data --target 3.9")

_COLUMNS: Final = ("source", "file", "offset", "type", "version", "reason")
_SUMMARY: Final = ("type", "version", "records", "in_checkpoints", "first_offset", "reason")


@app.callback()
def features() -> None:
    """See and change the levels of features; see which records of a log a release could not read."""


app.command("describe", epilog=feature_updates.DESCRIBE_EPILOG)(feature_updates.describe)
app.command("upgrade", epilog=feature_updates.UPGRADE_EPILOG)(feature_updates.upgrade)
app.command("downgrade", epilog=feature_updates.DOWNGRADE_EPILOG)(feature_updates.downgrade)
app.command("disable", epilog=feature_updates.DISABLE_EPILOG)(feature_updates.disable)


@app.command(
    epilog="Examples:  kraft features check /var/lib/kafka/data --target 3.9    "
    "kraft features check 00000000000000000300-0000000001.checkpoint --target 3.7-IV4 -o json"
)
def check(
    paths: Annotated[
        list[Path], typer.Argument(help="Nodes' directories, metadata directories, segments, checkpoints, exports.")
    ],
    target: Annotated[str, typer.Option("--target", help="metadata.version, such as 3.9 or 3.9-IV0.")],
    verbose: Annotated[bool, typer.Option("--verbose", help="List each record below the totals.")] = False,
    output: RowOutput = RowFormat.TABLE,
) -> None:
    """List the records that software at the target metadata.version could not read, in segments and checkpoints.

    Standard error names each registration that does not support the target, and the command that removes it. Offsets in
    a checkpoint count from 0. Reads only and takes no lock. Exit status 0: it could read all of them. 1: it could not,
    or a file could not be read. 2: the level is unknown.
    """
    from metadata_log.records import LATEST_PRODUCTION, UnknownLevelError, parse_metadata_version  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.read.history import past_removals  # noqa: PLC0415

    try:
        level = parse_metadata_version(target)
    except UnknownLevelError as error:
        raise wrong_use(f"--target: {error}") from error
    if level.level > LATEST_PRODUCTION:
        raise wrong_use(f"--target: {level} is of a later release, whose records are not known here")
    found, missed = past_removals(lambda: _unreadable(list(map(_or_first_checkpoint, paths)), level.level))
    rows = [one.row for one in found]
    for line in (*missed, *past_removals(lambda: _registrations(paths, level))):
        say(f"kraft: {line}")
    everything = "every record" if not missed else "every record that is seen here, which is not all"
    if rows and output is RowFormat.TABLE:
        for line in table_lines(_SUMMARY, _by_type(found)):
            print(line)
        if verbose:
            print()
    if verbose or not rows or output is not RowFormat.TABLE:
        show_rows(output, _COLUMNS, rows, name="records", empty=f"{level} can read {everything}.")
    if rows:
        raise CliError(f"{level} could not read {_total(found)}")
    if missed:
        raise typer.Exit(FAILED)


def _registrations(paths: list[Path], target: MetadataVersion) -> list[str]:
    """Return a line for each registered node without the target, by the newest copy of each cluster's log."""
    from metadata_log.errors import MetadataLogError  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.features import registrations_without  # noqa: PLC0415
    from metadata_log.tools.replicas.hashes import histories_and_problems  # noqa: PLC0415

    newest: dict[str | None, State] = {}
    for _, history in histories_and_problems(list(map(_or_first_checkpoint, paths)))[0]:
        try:
            state, cluster = history.state_at(), _cluster_of(history)
        except (MetadataLogError, OSError):
            continue  # the listing of records says what is wrong with it
        if cluster not in newest or newest[cluster].end < state.end:
            newest[cluster] = state
    return [
        _barring(one, target)
        for state in newest.values()
        for one in registrations_without(target.level, state.image, state.quorum.voters)
    ]


def _barring(one: Registered, target: MetadataVersion) -> str:
    """Return the line for a registration that does not support the target: the reason, and what to do."""
    from metadata_log.records.levels import level_name  # noqa: PLC0415  (not needed for help)

    if one.levels is None:
        what = f"is registered without any metadata.version, as nodes of Kafka before 3.3 are, so not with {target}"
    else:
        known = " to ".join(map(level_name, one.levels))
        what = f"is registered with metadata.version {known}, without {target}"
    what += f" ({target.level})"
    if not one.is_controller:
        return (
            f"broker {one.node_id} {what}: upgrade it, or, if it is gone for good, remove its registration: "
            f"kafka-cluster.sh unregister --bootstrap-controller HOST:PORT --id {one.node_id}"
        )
    if one.is_voter:
        return f"controller {one.node_id}, a voter, {what}: upgrade it first"
    remove = f"kraft quorum unregister-controller --bootstrap-controller HOST:PORT --controller-id {one.node_id}"
    who = f"controller {one.node_id}" + (", which does not vote," if one.is_voter is False else "")
    if one.is_removable:
        return f"{who} {what}: upgrade it, or, if it is gone for good, remove its registration: {remove}"
    return (
        f"{who} {what}: upgrade it. {_gone(one)}, it bars nothing once it was silent for "
        f"broker.session.timeout.ms; from 4.4-IV2 on this removes its registration: {remove}"
    )


def _gone(one: Registered) -> str:
    is_static = "" if one.is_voter is False else ", and is not in controller.quorum.voters"
    return f"If it is gone for good{is_static}"


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """An unreadable record, as a row. `place` is the same in every copy of the log."""

    row: dict[str, object]
    place: tuple[object, ...]
    in_checkpoint: bool


def _or_first_checkpoint(path: Path) -> Path:
    """Return the checkpoint of offset 0 of a directory whose log is still empty, or the path itself."""
    from metadata_log.directory import METADATA_DIRECTORY  # noqa: PLC0415  (not needed for help)
    from metadata_log.storage.checkpoint import BEGINNING, checkpoint_name  # noqa: PLC0415

    metadata = path if path.name == METADATA_DIRECTORY else path / METADATA_DIRECTORY
    first = metadata / checkpoint_name(BEGINNING)
    try:
        is_empty = first.is_file() and not any(log.stat().st_size for log in metadata.glob("*.log"))
        return first if is_empty and len(list(metadata.glob("*.checkpoint"))) == 1 else path
    except OSError:
        return path


def _unreadable(paths: list[Path], level: int) -> tuple[list[_Found], list[str]]:
    """Return the records that software at this level could not read, and a line for each part that was not examined."""
    from metadata_log.tools.read.readable import why_unread  # noqa: PLC0415
    from metadata_log.tools.replicas.hashes import histories_and_problems  # noqa: PLC0415  (not needed for help)

    rows: list[_Found] = []
    found, problems = histories_and_problems(paths)
    missed = [f"{one.source} is left out: {one.problem}" for one in problems]
    for label, history in found:
        try:
            rows += _of_history(label, history, level, missed)
        except OSError as error:
            if len(found) + len(problems) == 1:
                raise
            missed.append(f"{label} is not read to its end: {why_unread(error)}")
            continue
        missed += [*history.left_out(), *_not_seen(history)]
        lost = what_is_lost(history)
        missed += [f"{history.path}: {gap}, and no record there is judged" for gap in lost.gaps]
        missed += [f"{history.path}: {one.meaning}" for one in lost.findings]
    return rows, missed


def _of_history(label: str, history: LogHistory, level: int, missed: list[str]) -> Iterator[_Found]:
    """Yield the unreadable records of one log and its checkpoints. Append a line on each corruption to `missed`."""
    from metadata_log.storage.checkpoint import BEGINNING, checkpoint_name  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.features import unreadable_records  # noqa: PLC0415

    cluster = _cluster_of(history)
    checkpoints = {path for _, path in history.checkpoints}
    for path in [path for _, path in (*history.segments, *history.checkpoints)]:
        is_checkpoint = path in checkpoints
        are_bootstrap = path.name == checkpoint_name(BEGINNING)
        for one in unreadable_records(_sound(path, missed), level, are_bootstrap=are_bootstrap):
            yield _Found(
                row={"source": label, "file": path.name, **msgspec.to_builtins(one)},
                place=(cluster, path.name if is_checkpoint else None, one),
                in_checkpoint=is_checkpoint,
            )


def _cluster_of(history: LogHistory) -> str | None:
    """Return the log's cluster id, so that copies of different clusters are kept apart, or None if it is unknown."""
    from metadata_log.errors import CorruptFileError  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.read.contents import read_identity  # noqa: PLC0415

    try:
        identity = read_identity(history.path if history.path.is_dir() else history.path.parent)
    except CorruptFileError:
        return str(history.path)  # it may be any cluster's log, so it is grouped with no other
    return None if identity is None else identity.cluster_id


def _sound(path: Path, missed: list[str]) -> Iterator[LocatedBatch]:
    """Yield the valid batches of a file. Append a line on each corruption to `missed`."""
    from metadata_log.files.os_files import OsFiles  # noqa: PLC0415  (not needed for help)
    from metadata_log.storage.segment import LocatedBatch  # noqa: PLC0415
    from metadata_log.tools.read.history import readable_batches  # noqa: PLC0415

    for found in readable_batches(OsFiles(), path):
        if isinstance(found, LocatedBatch):
            yield found
        else:
            missed.append(
                f"{path}, position {found.position}: {counted_are(found.size, 'byte')} damaged ({found.what}): what "
                "they said is not seen"
            )


def _not_seen(history: LogHistory) -> Iterator[str]:
    """Yield a line if the log begins above 0 without a checkpoint: earlier records cannot be examined."""
    from metadata_log.tools.read.history import HistoryError  # noqa: PLC0415

    try:
        history.origin()
    except HistoryError:
        start = history.segments[0][0]
        yield (
            f"{history.path} begins at offset {start}, and no checkpoint says what was before: records before offset "
            f"{start} are not seen; name the directory of a replica that has one"
        )


def _by_type(found: list[_Found]) -> list[dict[str, object]]:
    """Return a row for each type, version and reason of unreadable records, with their numbers.

    Records in the log and in checkpoints are counted apart. A record in several copies of a log counts once.
    """
    first: dict[tuple[object, ...], dict[str, object]] = {}
    counts: Counter[tuple[object, ...]] = Counter()
    in_checkpoints: Counter[tuple[object, ...]] = Counter()
    for one in _distinct(found):
        row = one.row
        key = (row["type"], row["version"], row["reason"])
        first.setdefault(key, {**row, "first_offset": f"{row['offset']} in {row['file']}"})
        (in_checkpoints if one.in_checkpoint else counts)[key] += 1
    ranked = sorted(first, key=lambda key: -(counts[key] + in_checkpoints[key]))
    return [{**first[key], "records": counts[key], "in_checkpoints": in_checkpoints[key]} for key in ranked]


def _total(found: list[_Found]) -> str:
    distinct = _distinct(found)
    in_checkpoints = sum(one.in_checkpoint for one in distinct)
    in_log = len(distinct) - in_checkpoints
    parts = [f"{counted(in_log, 'record')} of the log"] if in_log else []
    parts += [f"{counted(in_checkpoints, 'record')} in checkpoints"] if in_checkpoints else []
    copies = len({one.row["source"] for one in found})
    return ", and ".join(parts) + (f"; what {copies} copies have alike is counted once" if copies > 1 else "")


def _distinct(found: list[_Found]) -> list[_Found]:
    """Return each record once, in the order of the log; those that only checkpoints have come last."""
    first: dict[tuple[object, ...], _Found] = {}
    for one in sorted(found, key=lambda one: one.in_checkpoint):
        first.setdefault(one.place, one)
    return list(first.values())
