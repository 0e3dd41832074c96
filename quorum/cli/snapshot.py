"""`kraft snapshot`: write, check and restore a backup of all metadata in one file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from quorum.cli.errors import CliError, say, wrong_use
from quorum.cli.log_history import (
    a_gap_is_named,
    an_earlier_offset_may_help,
    only_history,
    say_what_is_left_out,
    what_is_lost,
)
from quorum.cli.option_values import GroupReadable, Redact, check_cluster_id
from quorum.cli.output import Output, OutputFormat, show_object, shown, with_times
from quorum.cli.tables import text_of

if TYPE_CHECKING:
    from metadata_log.tools.backup.backup import BackupManifest
    from metadata_log.tools.backup.restore import Restored
    from metadata_log.tools.read.history import LogHistory, State

app = typer.Typer(no_args_is_help=True, epilog="Example:  kraft snapshot save /var/lib/kafka/data cluster.backup")

_TIMES: Final = ("last_contained_timestamp_ms", "created_ms")
_File = Annotated[Path, typer.Argument(help="The backup.")]


@app.command(
    epilog="Examples:  kraft snapshot save /var/lib/kafka/data cluster.backup    "
    "kraft snapshot save /var/lib/kafka/data before-upgrade.backup --at 12000"
)
def save(
    source: Annotated[Path, typer.Argument(help="A node's directory, a metadata directory, a segment or checkpoint.")],
    target: Annotated[Path, typer.Argument(help="The backup: a file that does not exist yet.")],
    at: Annotated[
        int | None, typer.Option("--at", min=0, help="Exclusive end offset; default: the end of the log.")
    ] = None,
    group_readable: GroupReadable = False,
    redact: Redact = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Write all metadata at an offset to one file: topics with their ids, configs, ACLs, credentials, voters.

    Reads the source only and takes no lock. The file holds SCRAM credentials: keep it as secret as the log.
    If files beside the log prove that it lost its end, --at is needed. Nothing is restored from a file saved with
    --redact.
    A live log's last records may not be committed yet; take a leader's directory, or --at an offset known to be.
    """
    from metadata_log.tools.backup.backup import save_backup  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.read.contents import read_identity  # noqa: PLC0415
    from metadata_log.tools.read.history import past_removals  # noqa: PLC0415

    history = _history(source, redact)
    say_what_is_left_out(history)
    if at is None:
        _require_whole_end(history)
    with an_earlier_offset_may_help(), a_gap_is_named(history, at):
        state = past_removals(lambda: _state(source, at, redact))
    identity = read_identity(history.path if history.path.is_dir() else history.path.parent, history.files)
    cluster_id = None if identity is None else identity.cluster_id
    manifest = save_backup(
        state,
        target,
        cluster_id=cluster_id,
        now_ms=_now_ms(),
        group_readable=group_readable,
        is_redacted=redact,
    )
    _show(output, target, manifest)


def _history(source: Path, redact: bool) -> LogHistory:
    """Return the log whose states are backed up. In a directory only the log's own files are read."""
    from metadata_log.files.own_files import OwnFiles, require_own_directory  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.read.redacted_files import RedactedFiles  # noqa: PLC0415

    history = only_history(source)
    files = history.files
    if history.path.is_dir():
        require_own_directory(str(history.path))
        files = OwnFiles()
    return msgspec.structs.replace(history, files=RedactedFiles(files) if redact else files)


def _state(source: Path, at: int | None, redact: bool) -> State:
    history = _history(source, redact)
    return history.state_at() if at is None else history.exact(at)


def _require_whole_end(history: LogHistory) -> None:
    """Accept a log unless its lost end is proven.

    Raises:
        CliError: the end is lost, so that the last state is older than one that the log once had.
    """
    from metadata_log.tools.verify.lost_end import of_one_log  # noqa: PLC0415  (not needed for help)

    lost = what_is_lost(history)
    if lost.findings:
        raise CliError(
            f"{history.path}: {'; '.join(map(of_one_log, lost.findings))}. Save another replica's, which is "
            "whole; --at OFFSET takes an older state of this one"
        )


@app.command(epilog="Example:  kraft snapshot status cluster.backup -o json | jq .hash")
def status(file: _File, output: Output = OutputFormat.TABLE) -> None:
    """Check a whole backup, and say what it holds. Exit status 1: it is damaged."""
    from metadata_log.tools.backup.archive import BackupError  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.backup.backup import read_backup  # noqa: PLC0415

    try:
        backup = read_backup(file)
    except BackupError as error:
        if output is OutputFormat.JSON:
            show_object(output, {"file": str(file), "problem": str(error)})
        raise
    _show(output, file, backup.manifest)
    if backup.state.newer:
        say(f"kraft: {file}: {backup.state.newer.text('not judged, nor the hash')}")


@app.command(
    epilog="Examples:  kraft snapshot restore cluster.backup /var/lib/kafka/data --node-id 1    "
    "kraft snapshot restore cluster.backup copy/data --node-id 1 --cluster-id $(kraft storage random-uuid) "
    "--voters 1@localhost:9093:$(kraft storage random-uuid)"
)
def restore(
    file: _File,
    target: Annotated[Path, typer.Argument(help="The log directory to make: it must not exist, or be empty.")],
    node_id: Annotated[int, typer.Option("--node-id", min=0, help="Node id of the controller that starts from it.")],
    cluster_id: Annotated[
        str | None, typer.Option("--cluster-id", "-t", help="Another cluster's id; default: that of the backup.")
    ] = None,
    voters: Annotated[
        str | None,
        typer.Option("--voters", help="The new quorum: id@host:port[/grpc-port]:directory-id, comma separated."),
    ] = None,
    group_readable: GroupReadable = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Make a controller's log directory from a backup; Kafka's controllers and ours start from it.

    Give every controller of the quorum the same backup and the same --voters (and --cluster-id), each its --node-id.
    Without --voters those of the backup stay. Nothing is ever written over. Under another cluster id the metadata topic
    gets another own id, too: nodes of the original hold when they meet the copy.
    """
    from metadata_log.files.os_files import OsFiles  # noqa: PLC0415
    from metadata_log.ids import DirectoryId, NodeId  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.backup.backup import read_backup  # noqa: PLC0415
    from metadata_log.tools.backup.restore import restore_backup  # noqa: PLC0415
    from metadata_log.voters import InvalidVoterError, VoterSet, kafka_listener_name, parse_voters  # noqa: PLC0415
    from quorum.node.process.system_ports import SystemEntropy  # noqa: PLC0415

    backup = read_backup(file)
    named = cluster_id or backup.manifest.cluster_id
    if named is None:
        raise wrong_use(f"{file} does not know its cluster's id: give --cluster-id")
    if cluster_id is not None:
        check_cluster_id(cluster_id)
    try:
        held = backup.checkpoint.voters
        before = VoterSet() if held is None else VoterSet.from_record(held, f"VotersRecord of {file}")
        members = None if voters is None else parse_voters(voters, kafka_listener_name(before))
    except InvalidVoterError as error:
        raise wrong_use(f"--voters: {error}") from error
    done = restore_backup(
        OsFiles(), backup, target, cluster_id=named, node_id=NodeId(node_id),
        new_directory_id=DirectoryId(SystemEntropy().new_id()), now_ms=_now_ms(), voters=members,
        group_readable=group_readable,
    )  # fmt: skip
    _show_restored(output, done, backup.manifest.hash)
    _say_who_holds(done)


def _show_restored(output: OutputFormat, done: Restored, backup_hash: str) -> None:
    from metadata_log.ids import id_text  # noqa: PLC0415  (not needed for help)

    show_object(
        output,
        {
            "directory": done.directory,
            "cluster_id": done.cluster_id,
            "node_id": done.node_id,
            "directory_id": id_text(done.directory_id),
            "voters": list(map(str, done.voters)),
            "end_offset": done.end_offset,
            "metadata_topic_id": None if done.metadata_topic_id is None else id_text(done.metadata_topic_id),
            "hash_of_the_backup": backup_hash,
        },
    )


def _say_who_holds(done: Restored) -> None:
    """Report which agents and controllers will hold: their metadata is never replaced silently."""
    if done.is_new_log:
        say(
            "The metadata topic has a new own id: agents and controllers of the original hold beside this quorum "
            "(kraft_held). `kraft agent release` lets an agent follow it"
        )
        return
    say(
        f"Agents, and controllers that keep their directories, hold (kraft_held) if they know records from offset "
        f"{done.end_offset} on to be committed. Run `kraft agent release` for such an agent; move the metadata log of "
        "such a controller aside, and format it with --no-initial-controllers"
    )


def _show(output: OutputFormat, file: Path, manifest: BackupManifest) -> None:
    fields = with_times(msgspec.to_builtins(manifest), *_TIMES)
    if output is OutputFormat.TABLE:
        from metadata_log.records.levels import level_name, level_text  # noqa: PLC0415  (not needed for help)

        fields["metadata_version"] = level_name(manifest.metadata_version)
        fields["features"] = [f"{name}={level_text(name, level)}" for name, level in manifest.features.items()]
        fields = {name: shown(text_of(value)) for name, value in fields.items() if name not in _TIMES}
    show_object(output, {"file": str(file), **fields})


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
