"""A starting node's newest checkpoint whose name its own log denies.

Decides: what proves that. Must not know: what becomes of the log.

A checkpoint that is of another log than the one beside it replaces that log: it was received, and a crash cut the
installation off. A renamed one looks the same. So nothing is replaced where the log proves that the name is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from metadata_log.errors import CorruptFileError
from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.storage.file_log import FileLog
from metadata_log.storage.loaded_checkpoint import HeldCheckpoint
from metadata_log.storage.record_times import end_before

_WHAT_NOW = (
    "so the checkpoint's name is wrong. From it, the node would load a state that is not the log's. 'kraft check' on "
    "this directory says what the name was, or that the file may be removed"
)


def check_name(
    log: FileLog, checkpoint: HeldCheckpoint, others: Sequence[OffsetAndEpoch], path: str, *, is_of_another_log: bool
) -> None:
    """Let a checkpoint pass that may end where its name says; `others`: the ends of the others.

    Raises:
        CorruptFileError: the log proves that it does not.
    """
    proof = _proof_apart(log, checkpoint, others) if is_of_another_log else _proof_within(log, checkpoint)
    if proof is not None:
        raise CorruptFileError(path, f"{proof}, {_WHAT_NOW}")


def _proof_within(log: FileLog, checkpoint: HeldCheckpoint) -> str | None:
    """Return the proof of a log that has its epoch at its end: no batch ends there, or a later one than its last."""
    end = checkpoint.end.offset
    if not log.start_offset < end <= log.log_end_offset:
        return None
    last = log.header_of(Offset(end - 1))
    if last.next_offset != end:
        return f"no batch of the log ends at offset {end}"
    return _elsewhere(log, checkpoint) if 0 < checkpoint.last_contained_ms < last.max_timestamp else None


def _proof_apart(log: FileLog, checkpoint: HeldCheckpoint, others: Sequence[OffsetAndEpoch]) -> str | None:
    """Return the proof of a log that it would replace: it has the checkpoint's last record elsewhere, or its epoch."""
    end, began = checkpoint.end, _began(log, checkpoint.end)
    if began is not None and began >= end.offset > log.start_offset:
        return f"epoch {end.epoch} of the log began at offset {began}"
    if log.start_offset > 0 and not any(one.offset >= log.start_offset for one in others):
        return f"the log begins at offset {log.start_offset}, without any other checkpoint that ends there"
    return _elsewhere(log, checkpoint)


def _began(log: FileLog, end: OffsetAndEpoch) -> Offset | None:
    return next((entry.start_offset for entry in log.epochs.entries if entry.epoch == end.epoch), None)


def _elsewhere(log: FileLog, checkpoint: HeldCheckpoint) -> str | None:
    """Return where its last record is, by the time in its header, if records of its epoch follow that one."""
    end, said, began = checkpoint.end, checkpoint.last_contained_ms, _began(log, checkpoint.end)
    if said <= 0 or began is None:
        return None
    headers = (header for header, _ in log.iter_from(max(began, log.start_offset)))
    found = end_before(headers, end, said)
    return None if found is None else f"the record that it ends with, of {said} ms, is before offset {found} of the log"
