"""The rows of `kraft storage info`: one for each log directory, with its problem.

Decides: the facts about a directory. Must not know: how rows are printed.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metadata_log.directory import (
    COMMITTED_STATE_FILE,
    META_PROPERTIES_FILE,
    METADATA_DIRECTORY,
    QUORUM_STATE_FILE,
    MetaProperties,
    QuorumState,
    read_meta_properties,
    read_quorum_state,
)
from metadata_log.directory.repair_files import unfinished_repair
from metadata_log.errors import CorruptFileError, LostVoteError, MetadataLogError, MisplacedLogError, NewerFileError
from metadata_log.files.links import exists
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import id_text
from metadata_log.offsets import LARGEST_EPOCH, epochs_left, is_near_last_epoch
from metadata_log.records.newer import LATEST_RELEASE
from metadata_log.storage.checkpoint import checkpoint_name, newest_checkpoint, parse_checkpoint_name
from metadata_log.storage.log_writer import producer_state_end
from metadata_log.storage.other_logs import check_log_in_place, check_vote_kept
from metadata_log.tools.findings.advice import EPOCHS_ENDED, OBSERVER_ENDED
from metadata_log.tools.findings.last_epochs import elections_left
from quorum.cli.errors import wrong_use
from quorum.cli.node_file import NodeFile, read_node_file

if TYPE_CHECKING:
    from metadata_log.tools.read.sources import NodeSource, Unread

_FORMAT: Final = "if its disk is not mounted, mount it; a new directory: kraft storage format"
_SEGMENT: Final = re.compile(r"\d{20}\.log")


def rows_of_config(config: Path) -> list[dict[str, object]]:
    """Return the rows of the directories in a node's file, which may be Kafka's.

    Only the keys that name the node and its directories are read.

    Raises:
        CliError: the file names no node, or no directory.
    """
    node = read_node_file(config)
    rows = [_describe(path, node.node_id, is_controller=node.is_controller) for path in node.log_dirs]
    return [_at_start(row, node) for row in rows]


def _at_start(row: dict[str, object], node: NodeFile) -> dict[str, object]:
    """Return the row, with the error of a start if the node's metadata log is in another directory."""
    if row["directory"] == node.metadata_dir:
        try:
            check_log_in_place(OsFiles(), node.log_dirs, node.metadata_dir, is_controller=node.is_controller)
        except MisplacedLogError as error:
            return row | {"problem": str(error)}
        except OSError:
            return row  # the row of that directory says so
    return row


def rows_of(directories: list[Path]) -> list[dict[str, object]]:
    """Return the rows of the log directories at or below these paths, and of metadata logs outside of any.

    Raises:
        CliError: a directory does not exist.
        OSError, CorruptFileError: the only one cannot be read.
    """
    from metadata_log.tools.read.sources import SourceError, Sources, Unread, find_sources  # noqa: PLC0415  (only when it is asked for)

    disks: list[str] = []
    closed: list[Unread] = []
    rows: list[dict[str, object]] = []
    for directory in directories:
        if not exists(directory):
            raise wrong_use(f"{directory} does not exist")
        if not directory.is_dir():
            raise wrong_use(f"{directory} is no directory: give log directories, or what holds them")
        try:
            sources = find_sources([directory], past_unreadable=True)
        except SourceError:
            sources = Sources()
        except (OSError, CorruptFileError) as error:
            if len(directories) == 1:
                raise
            sources = Sources(unread=(Unread(path=directory, error=error),))
        closed += sources.unread
        logs = [node for node in sources.nodes if _is_bare_log(node, directory)]
        rows += map(_of_bare_log, logs)
        found = [str(disk.path) for node in sources.nodes if node not in logs for disk in node.log_directories]
        disks += found or ([] if sources.unread or logs else [str(directory)])
    return sorted([*map(_describe, dict.fromkeys(disks)), *map(_closed, closed), *rows], key=_by_number)


def _is_bare_log(node: NodeSource, named: Path) -> bool:
    """Return True for an export, and for a metadata directory that is named by itself, without a `meta.properties`."""
    from metadata_log.tools.read.manifest import is_export  # noqa: PLC0415  (only when it is asked for)

    if node.metadata is None:
        return False
    if node.metadata == node.path and is_export(node.path):
        return True
    is_named = os.path.realpath(node.metadata) == os.path.realpath(named)
    return not node.log_directories or (is_named and node.identity is None)


def _of_bare_log(node: NodeSource) -> dict[str, object]:
    """Return the row of a metadata log by itself, which is not a log directory and must not be made one."""
    path, identity = str(node.metadata), node.identity
    row, look = _row(path), "kraft log dump shows its records, kraft log verify checks it"
    if identity is None:
        row["problem"] = (
            f"it is a metadata directory ({METADATA_DIRECTORY}), and no log directory: name the log directory that it "
            f"is in, which has a {META_PROPERTIES_FILE}; {look}"
        )
    else:
        row |= _identity(identity) | {"problem": f"it is an export, and no log directory: {look}"}
    try:
        return row | _describe_log(OsFiles(), path)
    except (MetadataLogError, OSError) as error:
        return row | {"problem": f"{row['problem']}; {_why(error)}"}


def _identity(found: MetaProperties) -> dict[str, object]:
    return {
        "cluster_id": found.cluster_id,
        "node_id": found.node_id,
        "directory_id": None if found.directory_id is None else id_text(found.directory_id),
    }


def _closed(one: Unread) -> dict[str, object]:
    """Return the row of a directory that cannot be read."""
    return _row(str(one.path)) | {"node_id": one.node_id, "problem": _why(one.error)}


def _why(error: MetadataLogError | OSError) -> str:
    from metadata_log.tools.read.readable import why_unread  # noqa: PLC0415  (only when something is wrong)

    return why_unread(error)


def _by_number(row: dict[str, object]) -> tuple[bool, int]:
    """Return a key that sorts by node id, 2 before 10; rows without one come last."""
    node_id = row["node_id"]
    return not isinstance(node_id, int), node_id if isinstance(node_id, int) else 0


def _row(path: str) -> dict[str, object]:
    row: dict[str, object] = dict.fromkeys(
        ("cluster_id", "node_id", "directory_id", "log", "epoch", "leader_id", "voted_for", "checkpoint", "problem")
    )
    return {"directory": path, **row}


def _describe(path: str, node_id: int | None = None, *, is_controller: bool | None = None) -> dict[str, object]:
    """Return the row of a log directory. `is_controller` None: its node's roles are unknown."""
    files = OsFiles()
    row, metadata = _row(path), f"{path}/{METADATA_DIRECTORY}"
    try:
        row["problem"] = _unfinished(files, path)
        if not files.exists(f"{path}/{META_PROPERTIES_FILE}"):
            row["problem"] = row["problem"] or _unformatted(files, path)
        else:
            found = read_meta_properties(files, path)
            row |= _identity(found)
            if node_id is not None:
                found.check_own(path, node_id=node_id)
        if files.exists(metadata):
            row |= _describe_log(files, metadata)
            if is_controller is not False and row["problem"] is None:
                row["problem"] = _lost_vote(files, metadata, is_certain=is_controller is True)
            if row["problem"] is None:
                row |= _lost_end(files, metadata)
            if row["problem"] is None:
                row["problem"] = _near_last_epoch(row["epoch"], is_controller=is_controller)
    except (MetadataLogError, OSError) as error:
        row["problem"] = _why(error) if row["problem"] is None else f"{row['problem']}; {_why(error)}"
    return row


def _lost_vote(files: OsFiles, metadata: str, *, is_certain: bool) -> str | None:
    try:
        check_vote_kept(files, metadata)
    except LostVoteError as error:
        return str(error) if is_certain else f"if it is a controller's, it does not start: {error}"
    return None


def _lost_end(files: OsFiles, metadata: str) -> dict[str, object]:
    """Return a problem or a note if a sidecar file shows that the log once reached further.

    It is a note if the node starts all the same.
    """
    names = files.listdir(metadata)
    last = max((int(name[:20]) for name in names if _SEGMENT.fullmatch(name)), default=0)
    newest = newest_checkpoint(files, metadata)
    is_read = newest is not None and newest.offset > 0
    if producer_state_end(names) <= last and COMMITTED_STATE_FILE not in names and not is_read:
        return {}
    from metadata_log.tools.findings.finding import Severity  # noqa: PLC0415  (only when it is asked for)
    from metadata_log.tools.verify.lost_end import lost_end, proof_of_more  # noqa: PLC0415  (only when it is asked for)

    end = lost_end(Path(metadata))
    name = "" if newest is None else checkpoint_name(newest)
    if name in end.misnamed:
        return {"problem": f"{name} is misnamed: {end.misnamed[name]}: kraft check says what to do"}
    cut = (one for one in end.findings if one.kind == "log_cut")
    found = next((one for one in cut if one.severity is not Severity.WARNING), None)
    if found is None:
        return {}
    return {"problem" if found.counts else "note": f"{proof_of_more(found)}: {found.advice}"}


def _near_last_epoch(epoch: object, *, is_controller: bool | None) -> str | None:
    """Return how many elections are left, if they are few. Without known roles, return both advices."""
    if not isinstance(epoch, int) or not is_near_last_epoch(epoch):
        return None
    said = f"its quorum-state is of epoch {epoch}, and epochs end at {LARGEST_EPOCH}"
    if epochs_left(epoch) > 0:
        return f"{said}. {elections_left(epoch)}: kraft check over all voters' directories says what can be done"
    of_voters = f"{elections_left(epoch)}: {EPOCHS_ENDED}"
    of_observers = f"It ignores every leader of a lower epoch: {OBSERVER_ENDED}"
    if is_controller is None:
        return f"{said}. If it is a voter's: {of_voters}. If it is a broker's or an agent's: {of_observers}"
    return f"{said}. {of_voters if is_controller else of_observers}"


def _unfinished(files: OsFiles, path: str) -> str | None:
    """Return that a repair of the directory was interrupted, and what to do, or None."""
    if unfinished_repair(files, path) is None:
        return None
    command = shlex.join(["kraft", "recover", "inspect", path])
    return (
        f"a repair was interrupted here: do not start the node, and change nothing by hand. {command} names the "
        "command that finishes the repair, and the one that takes it back"
    )


def _unformatted(files: OsFiles, path: str) -> str:
    """Return the reason why a directory has no meta.properties, and what to do."""
    from metadata_log.tools.read.disks import is_brokers_disk  # noqa: PLC0415  (only when it is asked for)

    if not files.exists(path):
        return f"it does not exist: {_FORMAT}"
    metadata = f"{path}/{METADATA_DIRECTORY}"
    if files.exists(metadata) and _was_written(files.listdir(metadata)):
        return (
            f"it has no {META_PROPERTIES_FILE}, though a metadata log is there: restore that file, and do not "
            "format it (kraft check with its peers says whose it is)"
        )
    if files.is_dir(path) and is_brokers_disk(files, path):
        return f"it has no {META_PROPERTIES_FILE}, and a broker's partitions are or were there: look where it went"
    return f"it is not formatted: {_FORMAT}"


def _was_written(names: list[str]) -> bool:
    """Return True if a node ran on a metadata directory: formatting leaves only a checkpoint of offset 0."""
    received = [end for name in names if (end := parse_checkpoint_name(name)) is not None and end.offset > 0]
    return QUORUM_STATE_FILE in names or bool(received) or any(_SEGMENT.fullmatch(name) for name in names)


def _describe_log(files: OsFiles, metadata: str) -> dict[str, object]:
    segments = [name for name in files.listdir(metadata) if _SEGMENT.fullmatch(name)]
    state, newer = _quorum_state(files, metadata)
    checkpoint = newest_checkpoint(files, metadata)
    size = sum(Path(metadata, name).stat().st_size for name in segments)
    return {
        "log": f"{len(segments)} segment{'s' * (len(segments) != 1)}, {size} bytes",
        "epoch": None if state is None else state.leader_epoch,
        "leader_id": None if state is None else state.leader_id,
        "voted_for": None if state is None or state.voted_key is None else str(state.voted_key),
        "checkpoint": None if checkpoint is None else str(checkpoint),
    } | newer


def _quorum_state(files: OsFiles, metadata: str) -> tuple[QuorumState | None, dict[str, object]]:
    """Return the quorum-state, or the row's key that says why one of a later release is not shown."""
    try:
        return read_quorum_state(files, metadata), {}
    except NewerFileError as error:
        return None, {"not_shown": f"written by a release after {LATEST_RELEASE}; not shown: {error}"}
