"""Rebuild index files and the epoch history from the segments.

Decides: which files are rebuilt. Must not know: how they are written. A node rebuilds a missing index by itself, but
may trust a wrong one. An index is right if each of its entries is, however far apart these are: Kafka adds one for
each append, and when it closes a segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.errors import CorruptFileError
from metadata_log.files.port import Files, read_file, read_small_file
from metadata_log.format.epoch_file import EPOCH_FILE, format_epochs, parse_epochs
from metadata_log.offsets import Offset
from metadata_log.storage.checkpoint import is_all_in_checkpoint
from metadata_log.storage.segment import SegmentIndex, segment_file
from metadata_log.tools.prefix.prefix_parts import SegmentPart
from metadata_log.tools.read.log_reader import LogReader
from quorum.recovery.advice.commands import check_and_start, cut_line
from quorum.recovery.advice.faults import trim_line
from quorum.recovery.advice.newer_release import not_checked, refuse_newer_files
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.log_extent import suspects_of
from quorum.recovery.evidence.repair_evidence import evidence_of
from quorum.recovery.guards.request import Proposal, refuse_damaged
from quorum.recovery.journal.changes import Content, FileChange, Rewrite
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError
from quorum.recovery.journal.log_directories import find_target
from quorum.recovery.journal.repair_record import refuse_pending
from quorum.recovery.repairs.audit_facts import facts_of
from quorum.recovery.repairs.new_log import epochs_of

_INTERVAL_BYTES: Final = 4096
_INDEX: Final = ".index"
_TIME_INDEX: Final = ".timeindex"


def propose_rebuild_indexes(files: Files, target: str) -> Proposal:
    """Rebuild `.index`, `.timeindex` and `leader-epoch-checkpoint` where they differ from the log.

    Raises:
        RefusedError: the log itself is damaged.
        AlreadyDoneError: the files agree with the log.
        OSError: something cannot be read.
    """
    place = find_target(files, target)
    refuse_pending(files, place.log_dir)
    own = read_copy(files, place)
    refuse_newer_files(own)
    known = evidence_of([own])
    refuse_damaged(known, own)
    if own.passed_over is not None:
        raise RefusedError(f"{own.label} is damaged at {own.passed_over}. First: {trim_line(own)}")
    if own.stop is not None:
        raise RefusedError(f"{own.label} ends in a torn write. First: {cut_line(known, own)}")
    if own.short is not None:
        raise RefusedError(
            f"{own.label}: {own.short}. A rebuilt index would no longer show that. See what other copies hold "
            f"(kraft recover inspect). If the records are lost for good: `kraft recover truncate --dir {place.log_dir} "
            f"--to {own.end.offset} --missing rest --accept-data-loss` first"
        )
    changes = tuple(_changes(files, own))
    if not changes:
        raise AlreadyDoneError(f"{own.label}: its indexes and {EPOCH_FILE} already agree with the log")
    rewrite = Rewrite(
        action="rebuild-indexes",
        log_dir=place.log_dir,
        changes=changes,
        facts=facts_of(evidence_of([own]), own),
    )
    return Proposal(
        action="rebuild-indexes",
        rewrites=(rewrite,),
        says=(
            f"found: beside the log of {own.label}, {_said(changes)} {'disagree' if len(changes) > 1 else 'disagrees'} "
            "with the log",
            f"changes: {'they are' if len(changes) > 1 else 'it is'} rebuilt from the log",
        ),
        keeps="every byte of the log, its checkpoints, and the node's vote",
        warnings=not_checked([own]),
        steps=check_and_start(known, own, "Start the node"),
    )


def _said(changes: Sequence[FileChange]) -> str:
    names = [change.name.rpartition("/")[2] for change in changes]
    indexes = [name for name in names if name != EPOCH_FILE]
    said = [f"{len(indexes)} index file{'s' if len(indexes) > 1 else ''}"] if indexes else []
    return " and ".join([*said, *(name for name in names if name == EPOCH_FILE)])


def _changes(files: Files, own: Copy) -> Iterator[FileChange]:
    wrong = suspects_of(files, own.place)
    for part in own.prefix.segments:
        names = {suffix: segment_file(part.base, suffix) for suffix in (_INDEX, _TIME_INDEX)}
        if wrong.isdisjoint(f"{own.place.metadata}/{name}" for name in names.values()):
            continue
        for suffix, data in _indexes(files, own, part):
            path = f"{own.place.metadata}/{names[suffix]}"
            if path in wrong and not _is_as(files, path, data):
                yield FileChange(name=f"{METADATA_DIRECTORY}/{names[suffix]}", content=Content(data=data))
    if not _has_epochs(files, own):
        data = format_epochs(epochs_of(own))
        yield FileChange(name=f"{METADATA_DIRECTORY}/{EPOCH_FILE}", content=Content(data=data))


def _indexes(files: Files, own: Copy, part: SegmentPart) -> list[tuple[str, bytes]]:
    index = SegmentIndex(Offset(part.base), _INTERVAL_BYTES)
    path = f"{own.place.metadata}/{part.name}"
    for batch in LogReader(files, [path], end=part.valid_size).batches():
        index.on_batch(batch.header, batch.position)
    return [(_INDEX, index.index_bytes()), (_TIME_INDEX, index.time_index_bytes())]


def _is_as(files: Files, path: str, data: bytes) -> bool:
    """Return True if a file has this data, and only zeros behind it as Kafka preallocates it, or is missing."""
    if not files.exists(path):
        return True  # the node rebuilds it at its start
    held = read_file(files, path)
    return held.startswith(data) and not any(held[len(data) :])


def _has_epochs(files: Files, own: Copy) -> bool:
    """Return True if the epoch history agrees with the log.

    It may begin later than the log, since Kafka trims it to a checkpoint. If no batch follows the checkpoint, it may be
    empty or begin at the log's end.
    """
    path = f"{own.place.metadata}/{EPOCH_FILE}"
    if not files.exists(path):
        return not own.spans
    try:
        known = parse_epochs(read_small_file(files, path), path)
    except CorruptFileError:
        return False
    if not known.entries or not own.spans:
        return not own.spans or is_all_in_checkpoint(files, own.place.metadata, own.end.offset)
    found = epochs_of(own).trim_to(known.entries[0].start_offset).truncate_to(own.end.offset)
    return known.truncate_to(own.end.offset).entries == found.entries
