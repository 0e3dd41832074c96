"""The states that one replica of the metadata log can still show: its checkpoints, and the log from each of them on.

Decides: from which checkpoint a state is replayed, and at which offsets there is a state. Must not know: other
replicas. It only reads, and takes no lock: the node may be running, and its last batch may be half written.
"""

from __future__ import annotations

import contextlib
import gc
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.format.batch import batch_values
from metadata_log.image import MetadataImage, Replayer
from metadata_log.image.newer_release import known_image_of_checkpoint, newer_features, replay_known
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.records.newer import NOTHING_NEWER, NewerParts
from metadata_log.storage.checkpoint import Checkpoint, checkpoint_name, parse_checkpoint_name, read_checkpoint
from metadata_log.storage.segment import LocatedBatch, segment_bases, segment_file
from metadata_log.tools.read.quorum import Quorum, quorum_of
from metadata_log.tools.read.scan import Damage, Fault, scan
from metadata_log.tools.times import time_text

_TRIES: Final = 4
_FILES: Final = OsFiles()
_T = TypeVar("_T")


class HistoryError(MetadataLogError):
    """The files do not hold the requested state; the message says which offsets they hold."""


class NoStateError(HistoryError):
    """No state ends at the offset; the nearest one before it ends at `nearest`."""

    def __init__(self, path: Path, offset: int, nearest: int) -> None:
        self.nearest = nearest
        super().__init__(
            f"{path} has no state at offset {offset}: the nearest before it is at {nearest} (states end where a batch "
            "does, outside transactions)"
        )


class DamagedLogError(HistoryError):
    """Bytes before the requested end are damaged."""

    def __init__(self, path: Path, damage: Damage, sound_end: int | None) -> None:
        self.sound_end = sound_end
        """Exclusive end offset of the last intact batch before the damage, in the same file."""
        super().__init__(
            f"{path}, position {damage.position}: {damage.what}; kraft log verify says how far the damage reaches"
        )


class RemovedMeanwhileError(MetadataLogError):
    """A running node removed a file after the log was listed."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was removed while the log was read, as a running node does: run this again")


def past_removals(read: Callable[[], _T]) -> _T:
    """Return the result of `read`, which lists a log itself. If a node removed a file meanwhile, call it again.

    Raises:
        RemovedMeanwhileError: each of `_TRIES` attempts met a removed file.
    """
    for _ in range(_TRIES - 1):
        with contextlib.suppress(RemovedMeanwhileError):
            return read()
    return read()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The log up to an offset, replayed. `replayer.image` is the image there, or before an open transaction.

    `passed_over`: metadata records of a later release, which the image lacks.
    """

    replayer: Replayer
    quorum: Quorum
    passed_over: NewerParts = NOTHING_NEWER

    @property
    def image(self) -> MetadataImage:
        return self.replayer.image

    @property
    def end(self) -> int:
        """Return the exclusive end offset of the image, at which its hash or a snapshot of it is valid."""
        return int(self.image.offset_and_epoch.offset)

    @property
    def newer(self) -> NewerParts:
        """Return all records of a later release that the image and the quorum lack."""
        levels = newer_features(self.image.features)
        return NOTHING_NEWER.plus(*levels, *self.quorum.newer.parts, *self.passed_over.parts)

    def after(self, batch: LocatedBatch) -> State:
        """Return the state after the next batch. Records of a later release are skipped.

        Raises:
            ReplayError, MalformedRecordError: the batch's records contradict the image or do not decode.
        """
        control = batch.header.is_control
        values = [] if control else batch_values(batch.buffer, batch.header, batch.at)
        quorum = self.quorum.after(batch) if control else self.quorum
        replayer, passed_over = replay_known(self.replayer, batch.header, values, self.passed_over)
        return State(replayer=replayer, quorum=quorum, passed_over=passed_over)


class LogHistory(msgspec.Struct, frozen=True, kw_only=True):
    """One replica's log: `segments` by their first offset, `checkpoints` by their end (those of offset 0 are left out).

    `files` opens them. `misnamed`: checkpoints whose names state a wrong end, with the reason. No state starts from
    them.
    """

    path: Path
    segments: tuple[tuple[int, Path], ...]
    checkpoints: tuple[tuple[OffsetAndEpoch, Path], ...]
    files: OsFiles = _FILES
    misnamed: Mapping[str, str] = msgspec.field(default_factory=dict)

    def left_out(self) -> Iterator[str]:
        """Yield a sentence for each misnamed checkpoint."""
        for name, why in self.misnamed.items():
            yield f"{self.path / name} is left out, since it is misnamed: {why}. kraft check says what to do with it"

    def batches(self, start: int = 0) -> Iterator[LocatedBatch]:
        """Yield the batches from the one at offset `start` on. A torn tail is left out, as log recovery would cut it.

        Raises:
            DamagedLogError: bytes before the end are damaged.
        """
        for index, (_, path) in enumerate(self.segments):
            following = self.segments[index + 1][0] if index + 1 < len(self.segments) else None
            if following is not None and following <= start:
                continue
            for found in batches_of_file(self.files, path, may_be_torn=following is None):
                if found.header.base_offset >= start:
                    yield found

    def readable(self) -> Iterator[LocatedBatch | tuple[Path, Damage]]:
        """Yield the batches and the damaged ranges between them, in order. A torn tail of the log is left out."""
        for index, (_, path) in enumerate(self.segments):
            for found in readable_batches(self.files, path, may_be_torn=index + 1 == len(self.segments)):
                yield (path, found) if isinstance(found, Damage) else found

    @property
    def start_offset(self) -> int:
        """Return the offset of the earliest state: a checkpoint's end, or 0 if the log begins there.

        Raises:
            HistoryError: there is neither.
        """
        if self.segments and self.segments[0][0] == 0:
            return 0
        if not self.checkpoints:
            raise self._unknown_before()
        return int(self.checkpoints[0][0].offset)

    def origin(self, end: int | None = None) -> tuple[OffsetAndEpoch, Path] | None:
        """Return the newest checkpoint up to `end` from which the log goes on, or None if replay begins at offset 0.

        Raises:
            HistoryError: there is no such checkpoint, and the log begins later.
        """
        first = self.segments[0][0] if self.segments else None
        fitting = [
            found
            for found in self.checkpoints
            if (end is None or found[0].offset <= end) and (first is None or first <= found[0].offset)
        ]
        if fitting:
            return fitting[-1]
        if first == 0:
            return None
        if end is not None and self.checkpoints:
            raise HistoryError(f"{self.path} begins at offset {self.start_offset}: there is no state at {end}")
        raise self._unknown_before()

    def _unknown_before(self) -> HistoryError:
        first = self.segments[0][0] if self.segments else None
        said = f"{self.path} begins at offset {first} and has no checkpoint from there on: what was before is not known"
        if first is None:
            said = f"{self.path} has no segment, and no checkpoint that is well named"
        return HistoryError("; ".join([said, *(f"{name} is misnamed" for name in self.misnamed)]))

    def start(self, end: int | None = None) -> State:
        """Return the state from which the one at `end` is replayed."""
        origin = self.origin(end)
        if origin is None:
            return State(replayer=Replayer.start(MetadataImage.empty()), quorum=Quorum())
        return state_of_checkpoint(*origin, self.files)

    def first_state(self) -> State:
        """Return the earliest state in the files."""
        return self.start(self.start_offset)

    def trimmed_state(self) -> State | None:
        """Return the state of the first checkpoint from which the log goes on, or None without such a checkpoint.

        Raises:
            MetadataLogError: the checkpoint is damaged, or removed meanwhile.
        """
        first = self.segments[0][0] if self.segments else 0
        found = next((found for found in self.checkpoints if found[0].offset >= first), None)
        return None if found is None else state_of_checkpoint(*found, self.files)

    def states(self, state: State, end: int | None = None) -> Iterator[State]:
        """Yield the states after each batch from `state` on, up to `end`."""
        for batch in self.batches(int(state.replayer.end.offset)):
            if end is not None and batch.header.next_offset > end:
                return
            state = state.after(batch)
            yield state
            if batch.header.next_offset == end:  # read no further: the rest may be damaged
                return

    def state_at(self, end: int | None = None) -> State:
        """Return the last state that ends at or before `end` (default: the log's end); see `State.end`.

        Raises:
            HistoryError: the files begin later, or are damaged.
        """
        with collector_paused():
            state = self.start(end)
            for later in self.states(state, end):
                state = later
        return state

    def state_from(self, end: int) -> State:
        """Return the first state that ends at or after `end`, or the log's last state if all end before.

        Raises:
            HistoryError: see `state_at`.
        """
        state = self.start(end)
        if state.end < end:
            for later in self.states(state):
                state = later
                if state.end >= end:
                    break
        return state

    def exact(self, end: int) -> State:
        """Return the state that ends exactly at `end`.

        Raises:
            HistoryError: no batch ends there outside a transaction, or the log is shorter.
        """
        state = self.state_at(end)
        if state.end != end:
            raise NoStateError(self.path, end, state.end)
        return state

    def end_at(self, time_ms: int) -> int:
        """Return the end of the last batch written at or before `time_ms` (since 1970).

        Raises:
            HistoryError: every batch here was written later, but the log does not go back to its first record.
        """
        origin = self.origin(self.start_offset)
        begin = end = 0 if origin is None else int(origin[0].offset)
        for batch in self.batches():
            if batch.header.max_timestamp > time_ms:
                break
            end = max(end, batch.header.next_offset)
        if end == begin > 0:
            written_ms = self.state_at(end).image.last_contained_timestamp_ms
            if written_ms > time_ms:
                raise HistoryError(
                    f"{self.path} begins at offset {begin} with what was written until {time_text(written_ms)}: there "
                    f"is no state at {time_text(time_ms)}"
                )
        return end


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the search for reference cycles. Images have none, and the search takes half of a long replay."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def open_history(metadata: Path) -> LogHistory:
    """Return the history in a metadata directory.

    Raises:
        HistoryError: the directory holds neither segments nor checkpoints of an image.
    """
    names = [child.name for child in metadata.iterdir()]
    ends = sorted(
        (end for name in names if (end := parse_checkpoint_name(name)) is not None and end.offset > 0),
        key=lambda end: (end.offset, end.epoch),
    )
    history = LogHistory(
        path=metadata,
        segments=tuple((int(base), metadata / segment_file(base)) for base in segment_bases(names)),
        checkpoints=tuple((end, metadata / checkpoint_name(end)) for end in ends),
    )
    if not history.segments and not history.checkpoints:
        raise HistoryError(f"{metadata} holds neither a segment nor a checkpoint")
    return history


def batches_of_file(files: Files, path: Path, *, may_be_torn: bool = True) -> Iterator[LocatedBatch]:
    """Yield the batches of one segment or checkpoint. If `may_be_torn`, a torn tail is left out.

    Raises:
        DamagedLogError: bytes are damaged.
    """
    end = None
    for found in readable_batches(files, path, may_be_torn=may_be_torn):
        if isinstance(found, Damage):
            raise DamagedLogError(path, found, end)
        yield found
        end = found.header.next_offset


def readable_batches(files: Files, path: Path, *, may_be_torn: bool = True) -> Iterator[LocatedBatch | Damage]:
    """Yield the batches of one segment or checkpoint, and the damaged ranges between them. If `may_be_torn`, a torn
    tail is left out.

    Raises:
        RemovedMeanwhileError: the file is gone.
    """
    try:
        handle = files.open(str(path), read_only=True)
    except FileNotFoundError as error:
        raise RemovedMeanwhileError(path) from error
    try:
        for found in scan(handle):
            if isinstance(found, Damage) and found.fault is Fault.TORN and may_be_torn and found.position > 0:
                return
            yield found
    finally:
        handle.close()


def file_history(path: Path) -> LogHistory:
    """Return the history in a single segment or checkpoint.

    Raises:
        HistoryError: the name is neither a segment's nor a checkpoint's.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise HistoryError(f"{path} is no file: a pipe cannot be read twice, so save it first")
    end = parse_checkpoint_name(path.name)
    if end is not None:
        return LogHistory(path=path, segments=(), checkpoints=((end, path),))
    bases = segment_bases([path.name])
    if not bases:
        raise HistoryError(f"{path} is neither a segment nor a checkpoint of a log by its name")
    return LogHistory(path=path, segments=((int(bases[0]), path),), checkpoints=())


def state_of_checkpoint(end: OffsetAndEpoch, path: Path, files: Files = _FILES) -> State:
    """Return the state in a checkpoint file.

    Raises:
        CorruptBatchError, CorruptFileError, ReplayError, RecordError: the checkpoint is damaged.
        RemovedMeanwhileError: the file is gone.
    """
    try:
        checkpoint = read_checkpoint(files, str(path))
    except FileNotFoundError as error:
        raise RemovedMeanwhileError(path) from error
    return state_of(checkpoint, end)


def state_of(checkpoint: Checkpoint, end: OffsetAndEpoch) -> State:
    """Return the state in a whole checkpoint; `end` is the one in its name.

    Raises:
        ReplayError, MalformedRecordError: the records do not make an image.
    """
    timestamp_ms = checkpoint.header.last_contained_log_timestamp
    values = checkpoint.values
    image, passed_over = known_image_of_checkpoint(values, end=end, last_contained_timestamp_ms=timestamp_ms)
    return State(replayer=Replayer.start(image), quorum=quorum_of(checkpoint), passed_over=passed_over)
