"""The states that one copy of the metadata log can still show: its checkpoints, and the log from each of them on.

Decides: from which checkpoint a state is replayed, and at which offsets there is a state. Must not know: who asks, and
other replicas. Reads only and takes no lock: the node may be running, and its last batch may be half written.
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
    """The files do not hold what was asked for; the message says what they hold."""


class NoStateError(HistoryError):
    """No state ends at an offset; the nearest before it does at `nearest`."""

    def __init__(self, path: Path, offset: int, nearest: int) -> None:
        self.nearest = nearest
        super().__init__(
            f"{path} has no state at offset {offset}: the nearest before it is at {nearest} (states end where a batch "
            "does, outside transactions)"
        )


class DamagedLogError(HistoryError):
    """Bytes before the end are damaged."""

    def __init__(self, path: Path, damage: Damage, sound_end: int | None) -> None:
        self.sound_end = sound_end
        """Exclusive end of the last sound batch before it in its file."""
        super().__init__(
            f"{path}, position {damage.position}: {damage.what}; kraft log verify says how far the damage reaches"
        )


class RemovedMeanwhileError(MetadataLogError):
    """A running node removed a file since the log was listed."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was removed while the log was read, as a running node does: run this again")


def past_removals(read: Callable[[], _T]) -> _T:
    """What `read` makes of a log that it lists itself; again where a running node removed a file of it meanwhile.

    Raises:
        RemovedMeanwhileError: it was so every time.
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
        """Exclusive end of the image: where a hash or a snapshot of it may stand."""
        return int(self.image.offset_and_epoch.offset)

    @property
    def newer(self) -> NewerParts:
        """All that a later release has written, and the image or the quorum does not show."""
        levels = newer_features(self.image.features)
        return NOTHING_NEWER.plus(*levels, *self.quorum.newer.parts, *self.passed_over.parts)

    def after(self, batch: LocatedBatch) -> State:
        """After the next batch. Records of a later release are passed over.

        Raises:
            ReplayError, MalformedRecordError: its records make no sense or cannot be read.
        """
        control = batch.header.is_control
        values = [] if control else batch_values(batch.buffer, batch.header, batch.at)
        quorum = self.quorum.after(batch) if control else self.quorum
        replayer, passed_over = replay_known(self.replayer, batch.header, values, self.passed_over)
        return State(replayer=replayer, quorum=quorum, passed_over=passed_over)


class LogHistory(msgspec.Struct, frozen=True, kw_only=True):
    """One copy of a log: `segments` by their first offset, `checkpoints` by their end (those of offset 0 left out).

    `files` opens them. `misnamed`: by name, why a further checkpoint does not end there, so that no state is its.
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
        """Whole batches from the one at offset `start` on; a torn tail is left out, as a node would.

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
        """Whole batches, past what is damaged, which stands between them; a torn tail of the log is left out."""
        for index, (_, path) in enumerate(self.segments):
            for found in readable_batches(self.files, path, may_be_torn=index + 1 == len(self.segments)):
                yield (path, found) if isinstance(found, Damage) else found

    @property
    def start_offset(self) -> int:
        """Of the first state that can be shown: a checkpoint's end, or 0 where the log begins there.

        Raises:
            HistoryError: neither is there.
        """
        if self.segments and self.segments[0][0] == 0:
            return 0
        if not self.checkpoints:
            raise self._unknown_before()
        return int(self.checkpoints[0][0].offset)

    def origin(self, end: int | None = None) -> tuple[OffsetAndEpoch, Path] | None:
        """The newest checkpoint up to `end` from which the log goes on; None: replay begins at offset 0.

        Raises:
            HistoryError: neither is there.
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
        """The state from which the one at `end` is replayed."""
        origin = self.origin(end)
        if origin is None:
            return State(replayer=Replayer.start(MetadataImage.empty()), quorum=Quorum())
        return state_of_checkpoint(*origin, self.files)

    def first_state(self) -> State:
        """The earliest state that the files still hold."""
        return self.start(self.start_offset)

    def trimmed_state(self) -> State | None:
        """Return the state of the first checkpoint that the log goes on from; None where no checkpoint does.

        Raises:
            MetadataLogError: the checkpoint is not sound, or gone.
        """
        first = self.segments[0][0] if self.segments else 0
        found = next((found for found in self.checkpoints if found[0].offset >= first), None)
        return None if found is None else state_of_checkpoint(*found, self.files)

    def states(self, state: State, end: int | None = None) -> Iterator[State]:
        """The states after each batch from `state` on, up to `end`."""
        for batch in self.batches(int(state.replayer.end.offset)):
            if end is not None and batch.header.next_offset > end:
                return
            state = state.after(batch)
            yield state
            if batch.header.next_offset == end:  # what follows may be damaged
                return

    def state_at(self, end: int | None = None) -> State:
        """The last state that ends at `end` or before (the log's end by default): see `State.end`.

        Raises:
            HistoryError: the files do not reach back so far, or are damaged.
        """
        with collector_paused():
            state = self.start(end)
            for later in self.states(state, end):
                state = later
        return state

    def state_from(self, end: int) -> State:
        """The first state that ends at `end` or after; the log's last where it ends before.

        Raises:
            HistoryError: as `state_at`.
        """
        state = self.start(end)
        if state.end < end:
            for later in self.states(state):
                state = later
                if state.end >= end:
                    break
        return state

    def exact(self, end: int) -> State:
        """The state at exactly `end`.

        Raises:
            HistoryError: no batch ends there outside a transaction, or the log is shorter.
        """
        state = self.state_at(end)
        if state.end != end:
            raise NoStateError(self.path, end, state.end)
        return state

    def end_at(self, time_ms: int) -> int:
        """The end of the last batch that was written at `time_ms` (since 1970) or before.

        Raises:
            HistoryError: all that is here was written later, and there was something before.
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
    """Pause the search for cycles: an image has none, and looking through it as it grows is half of a long replay."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def open_history(metadata: Path) -> LogHistory:
    """The history in a metadata directory.

    Raises:
        HistoryError: it holds neither segments nor checkpoints of an image.
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
    """The batches of one segment or checkpoint; a torn tail is left out where there may be one.

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
    """The same, with what is damaged between them.

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
    """The history that one segment or checkpoint holds.

    Raises:
        HistoryError: its name says neither.
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
    """The state that a checkpoint holds.

    Raises:
        CorruptBatchError, CorruptFileError, ReplayError, RecordError: it is not sound.
        RemovedMeanwhileError: it is gone.
    """
    try:
        checkpoint = read_checkpoint(files, str(path))
    except FileNotFoundError as error:
        raise RemovedMeanwhileError(path) from error
    return state_of(checkpoint, end)


def state_of(checkpoint: Checkpoint, end: OffsetAndEpoch) -> State:
    """Return the state that a whole checkpoint holds; `end`: by its name.

    Raises:
        ReplayError, MalformedRecordError: it is not sound.
    """
    timestamp_ms = checkpoint.header.last_contained_log_timestamp
    values = checkpoint.values
    image, passed_over = known_image_of_checkpoint(values, end=end, last_contained_timestamp_ms=timestamp_ms)
    return State(replayer=Replayer.start(image), quorum=quorum_of(checkpoint), passed_over=passed_over)
