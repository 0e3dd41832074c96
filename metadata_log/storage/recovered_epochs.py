"""The comparison of the epoch history on disk with the log: a difference is due to a crash, or proves a loss.

`log_writer` adds an epoch's line after all batches before the epoch are durable, and removes lines before it cuts the
log. So its crash never leaves a history that continues after the log's end. Such a history proves a loss: a replica
that starts without those records might help to elect a leader that lacks committed ones.

Kafka's order is the opposite. `UnifiedLog.truncateTo` cuts the log, and a background thread writes the shortened
history. `UnifiedLog.append` writes the lines of all epochs of a Fetch response before the first of its batches. A Kafka
that was killed there leaves such a history, and starts. So this code accepts it if the files show that a Kafka had the
log open.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.errors import CorruptBatchError, CorruptFileError
from metadata_log.files.port import Files, read_small_file
from metadata_log.format.epoch_file import BEFORE_CUT_FILE, EPOCH_FILE, parse_epochs
from metadata_log.format.epochs import EpochHistory, EpochStart
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.checkpoint import is_all_in_checkpoint
from metadata_log.storage.segment import segment_file
from metadata_log.storage.torn_write import may_be_one_write

FETCH_ANEW: Final = (
    "if a majority of the other replicas is sound, move this directory aside and let the replica fetch the log again"
)
REFUSED: Final = f"nothing was cut: this is damage, not a torn write. {FETCH_ANEW[0].upper()}{FETCH_ANEW[1:]}"
_INDEX_ENTRY_BYTES: Final = 8


class FoundLog(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The data of a log that was read up to `end`.

    `places` has file and position of each epoch's first batch. The last segment is sound up to `position`, and
    `torn_bytes` follow.
    """

    epochs: EpochHistory
    places: dict[Offset, tuple[str, int]]
    start: Offset | None
    end: Offset
    last_base: Offset
    position: int
    torn_bytes: int


def check_epochs(files: Files, directory: str, log: FoundLog) -> tuple[bool, str | None]:
    """Return True if the epoch history on disk matches the log, and the fault if it has to be rebuilt, or None.

    A history may begin after the log (trimmed to a checkpoint whose segment stays) or before it (Kafka trims segments
    first). It may end with an epoch that begins at the log's end (its first batch was torn). If a checkpoint covers
    the whole log, it is empty.

    Raises:
        CorruptBatchError: log and history contradict each other, or the log has lost its end.
    """
    path = f"{directory}/{EPOCH_FILE}"
    if not files.exists(path):
        return not log.epochs.entries, "it is missing" if log.epochs.entries else None
    try:
        known = parse_epochs(read_small_file(files, path), path)
    except CorruptFileError as error:
        return False, error.what
    if not known.entries:
        is_due = log.epochs.entries and not is_all_in_checkpoint(files, directory, log.end)
        return not log.epochs.entries, "it is empty" if is_due else None
    beyond = _beyond(files, directory, log, known.entries[-1])
    if log.start is not None:
        known = known.trim_to(log.start)
    held = known.truncate_to(log.end).entries
    found = log.epochs.trim_to(known.entries[0].start_offset).truncate_to(log.end).entries if held else ()
    for entry in found:
        if entry not in held and not was_being_cut(files, directory, held, found):
            raise _contradiction(log, entry.start_offset, known.epoch_at(entry.start_offset))
    for entry in held:
        if entry not in found:
            raise _contradiction(log, entry.start_offset, entry.epoch)
    if len(found) > len(held):
        return False, f"it ended before epoch {found[len(held)].epoch}, as a truncation that was interrupted leaves it"
    return held == known.entries, beyond


def _beyond(files: Files, directory: str, log: FoundLog, last: EpochStart) -> str | None:
    """Return the fault of a history that continues after the log's end, or None if it does not.

    Raises:
        CorruptBatchError: no killed Kafka can have left it, so the log has lost its end.
    """
    if last.start_offset <= log.end:
        return None
    told = f"epoch {last.epoch} began at offset {last.start_offset}"
    if _is_open_in_kafka(files, directory, log) and _may_be_one_write(files, directory, log):
        return f"it says that {told}, after the log's end {log.end}, as a Kafka that was killed may leave it"
    what = (
        f"the log ends here, but {EPOCH_FILE} says that {told}: what stood between is lost; {REFUSED}. If none is, "
        "`kraft recover inspect` says what can be kept"
    )
    raise CorruptBatchError(what, position=log.position, base_offset=log.end, file=segment_file(log.last_base))


def _is_open_in_kafka(files: Files, directory: str, log: FoundLog) -> bool:
    """Return True if a Kafka was appending to the last segment: its index has full size and ends with zeros.

    Kafka trims it at a stop. This project's nodes remove it when they open the log, and write it without zeros.
    """
    path = f"{directory}/{segment_file(log.last_base, '.index')}"
    if not files.exists(path):
        return False
    handle = files.open(path, read_only=True)
    try:
        size = handle.size()
        last = handle.pread(_INDEX_ENTRY_BYTES, max(0, size - _INDEX_ENTRY_BYTES))
    finally:
        handle.close()
    return len(last) == _INDEX_ENTRY_BYTES and not any(last)


def _may_be_one_write(files: Files, directory: str, log: FoundLog) -> bool:
    if not log.torn_bytes:
        return True
    handle = files.open(f"{directory}/{segment_file(log.last_base)}", read_only=True)
    try:
        epoch = log.epochs.last_epoch
        return may_be_one_write(handle, log.position, log.torn_bytes, offset=log.end, epoch=epoch)
    finally:
        handle.close()


def was_being_cut(files: Files, directory: str, held: tuple[EpochStart, ...], found: tuple[EpochStart, ...]) -> bool:
    """Return True if the epochs of the log (`found`) beyond the history (`held`) are those of an interrupted cut.

    These records were never acknowledged as committed and may stay: the leader will have them truncated again.
    """
    path = f"{directory}/{BEFORE_CUT_FILE}"
    if found[: len(held)] != held or not files.exists(path):
        return False
    try:
        before = parse_epochs(read_small_file(files, path), path).entries
    except CorruptFileError:
        return False  # the file is replaced whole before the history is: no interrupted cut leaves it corrupt
    return all(entry in before for entry in found[len(held) :])


def _contradiction(log: FoundLog, offset: Offset, written: Epoch) -> CorruptBatchError:
    start = max((start for start in log.places if start <= offset), default=offset)
    file, position = log.places.get(start, (EPOCH_FILE, 0))
    what = (
        f"the log has epoch {log.epochs.epoch_at(offset)} at offset {offset}, {EPOCH_FILE} has {written}; {REFUSED}. "
        f"If the log was edited on purpose, remove {EPOCH_FILE}: it is then rebuilt"
    )
    return CorruptBatchError(what, position=position, base_offset=start, file=file)
