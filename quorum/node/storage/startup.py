"""The log and the checkpoints of a starting replica: the newest intact checkpoint, and the log after it.

Decides: with which checkpoint a replica begins, which part of the log follows it, and which directories are refused.
Must not know: identity, locks, Raft.

A crash may have come between any two steps of taking, receiving or installing a checkpoint, or of trimming the log. The
start completes the step. It removes unfinished files, replaces a log that the checkpoint does not belong to, and
removes checkpoints before the log's start.
"""

from __future__ import annotations

import msgspec

from metadata_log.directory import COMMITTED_STATE_FILE
from metadata_log.errors import CorruptBatchError, CorruptFileError, DirectoryError, LostEndError, MetadataLogError
from metadata_log.files.port import Files
from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.storage.checkpoint import checkpoint_ends, checkpoint_name, remove_unfinished
from metadata_log.storage.file_log import FileLog, LogConfig, open_log
from metadata_log.storage.loaded_checkpoint import HeldCheckpoint, LoadedSnapshot, held_checkpoint, load_snapshot
from metadata_log.storage.log_recovery import RecoveryReport
from metadata_log.storage.log_writer import LogWriter, producer_state_end
from metadata_log.voters import InvalidVoterError
from quorum.node.storage.checkpoint_names import check_name


class StartingLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log and the checkpoint before it. `end` is the log's; an empty log after a checkpoint has the checkpoint's
    epoch."""

    log: FileLog
    writer: LogWriter
    snapshot: LoadedSnapshot | None
    held: tuple[HeldCheckpoint, ...]
    end: OffsetAndEpoch
    recovery: RecoveryReport


def open_starting_log(
    files: Files, directory: str, config: LogConfig, *, committed: Offset | None = None, kept: int = 0
) -> StartingLog:
    """Open the files of a metadata log's directory, and complete the step that a crash interrupted.

    `committed`: for a controller, the end of the committed records according to its directories, without checkpoints.
    `kept`: the same, according to a `committed-state` from the time when the node was no controller.

    Raises:
        LostEndError: `committed` is given, and records that the directories prove to be committed are missing.
        CorruptBatchError, CorruptFileError: the log is damaged, or a checkpoint that the log cannot replace.
        DirectoryError: there is a gap between checkpoint and log.
        UnknownRecordError: newer software has written it.
        OSError, StorageFailedError: it cannot be read or written.
    """
    remove_unfinished(files, directory)
    ends = checkpoint_ends(files, directory)
    snapshot, damaged = _newest_sound(files, directory, ends)
    start = Offset(0) if snapshot is None else snapshot.end.offset
    try:
        log, recovery = open_log(files, directory, config=config, recover=True, absent_start=start)
    except CorruptBatchError as error:
        raise error.in_file(f"{directory}/{error.file}") from error
    for end, damage in damaged.items():
        _check_dispensable(f"{directory}/{checkpoint_name(end)}", log, snapshot, end, damage)
    is_apart = snapshot is not None and _is_of_another_log(log, snapshot.end)
    if snapshot is not None and snapshot.end.offset > 0:
        path, others = f"{directory}/{checkpoint_name(snapshot.end)}", [end for end in ends if end != snapshot.end]
        check_name(log, snapshot.held, others, path, is_of_another_log=is_apart)
    notes = [f"{checkpoint_name(end)} is damaged, the log was read instead: {error}" for end, error in damaged.items()]
    notes += _lost_end(directory, files.listdir(directory), log, snapshot, committed, kept)
    writer = LogWriter(files, directory)
    if snapshot is not None and is_apart:
        notes.append(f"the log, which ended at {log.end()}, makes room for {checkpoint_name(snapshot.end)}")
        writer.execute([log.stage_replace(snapshot.end)])
    held = _held(files, directory, log, [end for end in ends if end not in damaged])
    _check_start(log, held, directory)
    _trim(log, writer, ends, held)
    return StartingLog(
        log=log,
        writer=writer,
        snapshot=snapshot,
        held=held,
        end=snapshot.end if snapshot is not None and log.last_epoch < 0 and snapshot.end.offset > 0 else log.end(),
        recovery=msgspec.structs.replace(recovery, notes=tuple(notes)),
    )


def _lost_end(
    directory: str, names: list[str], log: FileLog, snapshot: LoadedSnapshot | None, committed: Offset | None, kept: int
) -> list[str]:
    """Return a warning if Kafka's producer state file shows that the log once reached past its end.

    A clean stop of Kafka names the file after the end. Kafka also leaves such a file if it is killed while it truncates
    its log.

    Raises:
        LostEndError: some of the missing records were committed.
    """
    reached = producer_state_end(names)
    held = 0 if snapshot is None else int(snapshot.end.offset)
    end = max(int(log.log_end_offset), held)
    if kept > end:
        raise LostEndError(directory, end, COMMITTED_STATE_FILE, reached=kept, committed=kept)
    if reached <= end:
        return []
    beside = f"{reached:020}.snapshot"
    if committed is not None and (committed > end or held > log.log_end_offset):
        proven = max(int(committed), held)
        raise LostEndError(directory, int(log.log_end_offset), beside, reached=reached, committed=proven)
    return [
        f"the log ends at offset {end}, and {beside} beside it says that it reached {reached}: records may be missing. "
        "Run kraft check over the directories of all voters"
    ]


def _newest_sound(
    files: Files, directory: str, ends: list[OffsetAndEpoch]
) -> tuple[LoadedSnapshot | None, dict[OffsetAndEpoch, MetadataLogError]]:
    """Return the newest intact checkpoint, and the errors of the newer ones."""
    damaged: dict[OffsetAndEpoch, MetadataLogError] = {}
    for end in reversed(ends):
        try:
            return load_snapshot(files, f"{directory}/{checkpoint_name(end)}", end), damaged
        except (CorruptBatchError, CorruptFileError, InvalidVoterError) as error:
            damaged[end] = error
    return None, damaged


def _check_dispensable(
    path: str, log: FileLog, snapshot: LoadedSnapshot | None, end: OffsetAndEpoch, damage: MetadataLogError
) -> None:
    """Raise an error unless the log has all records of a damaged checkpoint, from an intact one or from 0 on."""
    begin = 0 if snapshot is None else snapshot.end.offset
    if end.offset == 0:
        raise damage
    if log.start_offset > begin or log.log_end_offset < end.offset:
        what = f"byte {damage.position}: {damage.what}" if isinstance(damage, CorruptBatchError) else str(damage)
        raise CorruptFileError(
            path,
            f"damaged ({what}), and the log, which holds {log.start_offset} to {log.log_end_offset}, does not hold all "
            "that it held, so that this copy cannot be begun from. Keep it as evidence. The others have it all: an "
            "agent fetches it once this directory is moved away, a controller as a new voter, with log.dirs formatted "
            "again. What any copy still holds 'kraft recover inspect' says",
        ) from damage


def _is_of_another_log(log: FileLog, end: OffsetAndEpoch) -> bool:
    """Return True if the checkpoint is no prefix of the log.

    A received checkpoint is not, if its installation was interrupted. Nor is one of records that other nodes committed
    before they were durable here.
    """
    if end.offset > log.log_end_offset:
        return True
    return end.offset > log.start_offset and log.epochs.epoch_at(Offset(end.offset - 1)) != end.epoch


def _held(files: Files, directory: str, log: FileLog, ends: list[OffsetAndEpoch]) -> tuple[HeldCheckpoint, ...]:
    """Return the checkpoints with which the log may begin. The newest was read already; of the others the header is
    enough."""
    held = []
    for end in ends:
        if end.offset < log.start_offset or _is_of_another_log(log, end):
            continue
        try:
            held.append(held_checkpoint(files, f"{directory}/{checkpoint_name(end)}", end))
        except (CorruptBatchError, CorruptFileError):
            # This older checkpoint is not needed: it is served to no replica, and the next trim removes it.
            continue
    return tuple(held)


def _check_start(log: FileLog, held: tuple[HeldCheckpoint, ...], directory: str) -> None:
    if log.start_offset > 0 and not held:
        raise DirectoryError(
            f"{directory}: the log begins at {log.start_offset}, and no checkpoint holds what was before"
        )


def _trim(log: FileLog, writer: LogWriter, ends: list[OffsetAndEpoch], held: tuple[HeldCheckpoint, ...]) -> None:
    """Let a log that does not begin at 0 begin at a checkpoint's end, and remove older checkpoints."""
    if log.start_offset == 0:
        return
    begin = held[0].end.offset
    obsolete = [checkpoint_name(end) for end in ends if end.offset < begin]
    if obsolete or begin > log.start_offset:
        writer.execute([log.stage_trim(begin, obsolete)])
