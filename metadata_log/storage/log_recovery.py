"""Opening a log after a possible crash: a torn tail is cut, and corruption raises.

A write that a crash interrupted leaves a last batch that is incomplete or fails its checksum, or zeros, and no sound
batch after it. It was never acknowledged, so it is cut and reported. Anything else may destroy acknowledged records:

- a bad batch that a sound one follows, a sound batch in the wrong place, a missing segment;
- an epoch that the epoch history lacks, although the history is durable before the first batch of an epoch;
- a log that ends before its history, or before the indexes that its node closed.

That raises an error with file, position and offset, and nothing is changed. `recovered_epochs` judges the history,
`recovered_indexes` the indexes.
"""

from __future__ import annotations

import msgspec

from metadata_log.counts import counted
from metadata_log.errors import CorruptBatchError
from metadata_log.files.port import FileHandle, Files, replace_file
from metadata_log.format.batch import BatchHeader
from metadata_log.format.epoch_file import BEFORE_CUT_FILE, EPOCH_FILE, format_epochs
from metadata_log.format.epochs import EpochHistory
from metadata_log.offsets import Offset
from metadata_log.storage.log_writer import remove_indexes, remove_segment
from metadata_log.storage.recovered_epochs import REFUSED, FoundLog, check_epochs
from metadata_log.storage.recovered_indexes import check_indexes, torn_indexes
from metadata_log.storage.segment import (
    Expected,
    Segment,
    SegmentIndex,
    TooManyCandidatesError,
    next_sealed_batch,
    only_zeros,
    read_batches,
    segment_bases,
)
from metadata_log.storage.segment import segment_file as file_of


class TornTail(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A torn tail, cut only with `repair`: `size` bytes from `position` on, where `offset` was expected."""

    file: str
    position: int
    size: int
    offset: Offset
    what: str

    def __str__(self) -> str:
        size = counted(self.size, "byte")
        return f"{self.file}: {size} from position {self.position} on (offset {self.offset}): {self.what}"


class RecoveryReport(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The findings of opening a log. `warnings` are the lines for its caller to log."""

    log_end_offset: Offset
    batches: int = 0
    torn_tail: TornTail | None = None
    removed_segments: tuple[str, ...] = ()
    epochs_rebuilt: str | None = None
    torn_indexes: tuple[str, ...] = ()
    repaired: bool = True
    notes: tuple[str, ...] = ()
    """Further repairs by the caller, each a line."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """One line for each difference from a clean stop."""
        done = "cut" if self.repaired else "not read"
        lines = [f"torn tail {done}: {self.torn_tail}"] if self.torn_tail else []
        lines += [f"segment without a sound batch, {done}: {name}" for name in self.removed_segments]
        lines += [f"{EPOCH_FILE} rebuilt from the log: {self.epochs_rebuilt}"] if self.epochs_rebuilt else []
        made = "rebuilt" if self.repaired else "not read"
        lines += [f"index of a closed segment torn, {made}: {name}" for name in self.torn_indexes]
        return (*lines, *self.notes)


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """A log's memory, as read from its files."""

    segments: list[Segment]
    epochs: EpochHistory
    report: RecoveryReport


def recover_log(files: Files, directory: str, *, index_interval_bytes: int, repair: bool) -> Recovered:
    """Read every batch of every segment.

    With `repair`, cut a torn tail and make everything that was found durable; otherwise change nothing.

    Raises:
        CorruptBatchError: the log is corrupt; the error names file, position and offset.
        UnsupportedBatchError: a batch is compressed.
        OSError: the directory cannot be read or, with `repair`, written.
    """
    scan = _Scan(files, directory, index_interval_bytes)
    bases = segment_bases(files.listdir(directory))
    for index, base in enumerate(bases):
        torn = scan.read_segment(base)
        if torn is not None:
            scan.refuse_if_followed(torn, bases[index + 1 :])
            scan.torn, scan.removed = torn, tuple(reversed(bases[index + 1 :]))
            break
    found = scan.found()
    in_order, complaint = check_epochs(files, directory, found)
    for last in scan.segments[-1:]:
        check_indexes(files, directory, found, last)
    indexes = dict(torn_indexes(files, directory, scan.segments[:-1]))
    if repair:
        if not in_order:
            replace_file(files, f"{directory}/{EPOCH_FILE}", format_epochs(scan.epochs))
        _repair(files, directory, scan)
        _make_durable(files, directory, scan)
        for name, data in indexes.items():
            replace_file(files, f"{directory}/{name}", data)
    report = RecoveryReport(
        log_end_offset=scan.next_offset,
        batches=scan.batches,
        torn_tail=scan.torn,
        removed_segments=tuple(file_of(base) for base in scan.removed),
        epochs_rebuilt=complaint,
        torn_indexes=tuple(indexes),
        repaired=repair,
    )
    return Recovered(segments=scan.segments, epochs=scan.epochs, report=report)


class _Scan:
    """The segments, epochs and the end of the log, as far as they are read."""

    def __init__(self, files: Files, directory: str, index_interval_bytes: int) -> None:
        self._files = files
        self._directory = directory
        self._interval = index_interval_bytes
        self.segments: list[Segment] = []
        self.epochs = EpochHistory()
        self.epoch_places: dict[Offset, tuple[str, int]] = {}
        self.next_offset = Offset(0)
        self.batches = 0
        self.torn: TornTail | None = None
        self.removed: tuple[Offset, ...] = ()

    def read_segment(self, base: Offset) -> TornTail | None:
        """Read a segment; return a torn tail, and raise CorruptBatchError for any other fault."""
        if not self.segments:
            self.next_offset = base
        elif base != self.next_offset:
            raise CorruptBatchError(
                f"the segment before it ends at offset {self.next_offset}: what was between is missing; {REFUSED}",
                position=0,
                base_offset=self.next_offset,
                file=file_of(base),
            )
        segment = Segment(base, SegmentIndex(base, self._interval))
        self.segments.append(segment)
        handle = self._open(base)
        try:
            self._read_batches(handle, segment)
        except CorruptBatchError as fault:
            return self._torn(handle, segment, fault)
        finally:
            handle.close()
        return None

    def found(self) -> FoundLog:
        """Return the log's data for the comparison with the epoch history and the indexes."""
        last = self.segments[-1] if self.segments else None
        return FoundLog(
            epochs=self.epochs,
            places=self.epoch_places,
            start=self.segments[0].base_offset if self.segments else None,
            end=self.next_offset,
            last_base=last.base_offset if last else Offset(0),
            position=last.size if last else 0,
            torn_bytes=self.torn.size if self.torn else 0,
        )

    def _open(self, base: Offset) -> FileHandle:
        return self._files.open(f"{self._directory}/{file_of(base)}", read_only=True)

    def _read_batches(self, handle: FileHandle, segment: Segment) -> None:
        name = file_of(segment.base_offset)
        expected = Expected(offset=self.next_offset, epoch=self.epochs.last_epoch)
        for batch in read_batches(handle, name, expected=expected):
            header = batch.header
            if header.partition_leader_epoch != self.epochs.last_epoch:
                self.epochs = self.epochs.assign(header.partition_leader_epoch, header.base_offset)
                self.epoch_places[header.base_offset] = (name, batch.position)
            segment.index.on_batch(header, batch.position)
            segment.size = batch.position + header.size_in_bytes
            self.next_offset = header.next_offset
            self.batches += 1

    def _torn(self, handle: FileHandle, segment: Segment, fault: CorruptBatchError) -> TornTail:
        size = handle.size()
        found = _follower(fault, handle, segment.size)
        if found is not None:
            raise _refusal(fault, f"position {found[0]} holds a sound batch of offset {found[1].base_offset}")
        zeros = only_zeros(handle, segment.size, size)
        return TornTail(
            file=file_of(segment.base_offset),
            position=segment.size,
            size=size - segment.size,
            offset=self.next_offset,
            what="zeros" if zeros else fault.what,
        )

    def refuse_if_followed(self, torn: TornTail, later: list[Offset]) -> None:
        """Raise CorruptBatchError if a later segment has a sound batch: the fault is then no torn tail."""
        for base in later:
            handle = self._open(base)
            try:
                fault = CorruptBatchError(torn.what, position=torn.position, base_offset=torn.offset, file=torn.file)
                found = _follower(fault, handle, 0)
            finally:
                handle.close()
            if found is not None:
                raise _refusal(fault, f"{file_of(base)} holds a sound batch of offset {found[1].base_offset}")


def _follower(fault: CorruptBatchError, handle: FileHandle, start: int) -> tuple[int, BatchHeader] | None:
    """Return position and header of a sound batch after a fault, or None.

    Raises:
        CorruptBatchError: the search was given up after too many candidates.
    """
    try:
        return next_sealed_batch(handle, start, handle.size())
    except TooManyCandidatesError as error:
        raise _refusal(fault, str(error)) from error


def _refusal(fault: CorruptBatchError, follower: str) -> CorruptBatchError:
    what = f"{fault.what}; {follower}, so {REFUSED}"
    return CorruptBatchError(what, position=fault.position, base_offset=fault.base_offset, file=fault.file)


def _make_durable(files: Files, directory: str, scan: _Scan) -> None:
    """Sync the last segment and the directory.

    After a process was killed, the next one reads bytes and names that are not on the disk yet. Older segments were
    synced before the next one was made. The names include quorum-state and the epoch history.
    """
    for segment in scan.segments[-1:]:
        handle = files.open(f"{directory}/{file_of(segment.base_offset)}")
        try:
            handle.fdatasync()
        finally:
            handle.close()
        # Remove the indexes durably before any other write. Later appends make them wrong, and after a truncation they
        # would prove that the log has lost records. A clean stop writes them again.
        remove_indexes(files, directory, segment.base_offset)
    if files.exists(f"{directory}/{BEFORE_CUT_FILE}"):
        files.unlink(f"{directory}/{BEFORE_CUT_FILE}")
    files.fsync_dir(directory)


def _repair(files: Files, directory: str, scan: _Scan) -> None:
    if scan.torn is None:
        return
    for base in scan.removed:
        remove_segment(files, directory, base)
    handle = files.open(f"{directory}/{scan.torn.file}")
    try:
        handle.truncate(scan.torn.position)
        handle.fdatasync()
    finally:
        handle.close()
