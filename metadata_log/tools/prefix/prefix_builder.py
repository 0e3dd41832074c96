"""The valid prefix of one metadata log, built from the events of a pass over its segments.

Decides: where a log stops being usable, and from which checkpoint its metadata is replayed. Must not know: other logs,
and what else listens to the pass.

The prefix begins with the log, or with a whole checkpoint, and has no gap and no damage. Its epochs never decrease, and
each begins with its leader's record. Damage before the end of a whole checkpoint is skipped if the log goes on intact
from that end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.files.port import Files
from metadata_log.format.batch import BatchHeader
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.storage.checkpoint import Checkpoint, checkpoint_name, parse_checkpoint_name
from metadata_log.storage.segment import LocatedBatch, segment_bases, segment_file
from metadata_log.tools.prefix.checkpoints import damage_of, load_checkpoint
from metadata_log.tools.prefix.named_nodes import NamedNodes
from metadata_log.tools.prefix.prefix_parts import (
    NONE_MISNAMED,
    CheckpointFile,
    Epochs,
    PassedOver,
    SegmentPart,
    Stop,
    opens_repair,
    stop_before,
)
from metadata_log.tools.prefix.replay import PrefixReplay
from metadata_log.tools.prefix.valid_prefix import ValidPrefix
from metadata_log.tools.read.batch_sums import BatchSums
from metadata_log.tools.read.commit_proof import is_proof
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.read.control_facts import Election, Voting
from metadata_log.tools.read.fast_scan import Marks, NoOpRun
from metadata_log.tools.read.log_reader import LogEvent, LogReader, SegmentFound, SegmentOpened, SegmentUnreadable
from metadata_log.tools.read.scan import Damage, Fault


class PrefixBuilder:
    """Builds the prefix from one directory's files and the events of a pass over its segments; see `LogListener`.

    `until`: build as if the log ended at that offset. `misnamed`: checkpoints whose names state a wrong end, with the
    reason. They are no origin, and prove no epoch. `denied`: checkpoints whose content the log itself denies, with the
    reason; they count as damaged. `on_checkpoint` receives each whole checkpoint that was read.
    """

    def __init__(
        self,
        files: Files,
        directory: str,
        epochs: Epochs,
        until: int | None = None,
        misnamed: Mapping[str, str] = NONE_MISNAMED,
        on_checkpoint: Callable[[str, Checkpoint], None] = lambda path, whole: None,
        denied: Mapping[str, str] = NONE_MISNAMED,
    ) -> None:
        self._files, self._directory, self._denied = files, directory, denied
        self._misnamed, self._on_checkpoint = misnamed, on_checkpoint
        self._names = files.listdir(directory) if files.exists(directory) else []
        self._until, self._epochs, self._replay = until, epochs, PrefixReplay()
        self._checkpoints: list[CheckpointFile] = []
        self._origin: CheckpointFile | None = None
        self._path, self._base, self._valid_size, self._skipped = "", 0, 0, 0
        """Path, base, valid size and skipped size of the segment that is being read."""
        self._parts: list[SegmentPart] = []
        self._spans: list[EpochSpan] = []
        self._stop: Stop | None = None
        self._passed_over: PassedOver | None = None
        self._is_cut = False
        self._start: int | None = None
        self._end = 0
        self._epoch = self._greatest_epoch = self._timestamp = -1
        self._began = self._committed_before = 0
        self._proofs = 0
        """Number of metadata batches in the last epoch, since the last `_settle`."""
        self._failed: BatchHeader | None = None
        self._sums, self._behind = BatchSums(files), NamedNodes()
        self._repair: OffsetAndEpoch | None = None
        self._choose_checkpoint()

    def _choose_checkpoint(self) -> None:
        """Read checkpoints, the newest first, until one is whole. Replay begins there."""
        ends = [end for name in self._names if (end := parse_checkpoint_name(name)) is not None]
        ends.sort(key=lambda end: (end.offset, end.epoch), reverse=True)
        first = min((int(base) for base in segment_bases(self._names)), default=None)
        for end in ends:
            found = CheckpointFile(end=end, size=self._size_of(checkpoint_name(end)))
            if found.name in self._misnamed:
                why = f"it is misnamed: {self._misnamed[found.name]}"
                self._checkpoints.append(msgspec.structs.replace(found, problem=why, was_read=True, is_misnamed=True))
                continue
            self._greatest_epoch = max(self._greatest_epoch, int(end.epoch))
            is_due = self._origin is None and (self._until is None or end.offset <= self._until)
            if is_due and (end.offset > 0 or first in (0, None)):
                found = self._read_checkpoint(found)
            self._checkpoints.append(found)
        reached = frozenset(int(found.end.epoch) for found in self._checkpoints if not found.is_misnamed)
        own = msgspec.structs.replace(self._epochs.own, reached=reached)
        self._epochs = msgspec.structs.replace(self._epochs, own=own)
        if self._origin is None and first == 0:
            self._replay.begin_empty()
        elif self._origin is None and (first is not None or self._misnamed):
            begins = "no segment is left" if first is None else f"its log begins at offset {first}"
            misnamed = "".join(f"; {name} is misnamed: {why}" for name, why in self._misnamed.items())
            self._replay.problem = f"{begins}, and no whole checkpoint holds what was before{misnamed}"

    def _size_of(self, name: str) -> int:
        with closing(self._files.open(f"{self._directory}/{name}", read_only=True)) as handle:
            return handle.size()

    def _read_checkpoint(self, found: CheckpointFile) -> CheckpointFile:
        path = f"{self._directory}/{found.name}"
        if found.name in self._denied:
            return msgspec.structs.replace(found, problem=self._denied[found.name], was_read=True)
        try:
            whole, state = load_checkpoint(self._files, path, found.end)
        except (MetadataLogError, OSError) as error:
            return msgspec.structs.replace(found, problem=str(error), was_read=True)
        found = msgspec.structs.replace(found, was_read=True)
        self._on_checkpoint(path, whole)
        self._replay.state = state
        if found.end.offset == 0:  # no origin: it holds the first voters, which the first leader writes into the log
            return found
        self._origin = found
        self._timestamp = int(whole.header.last_contained_log_timestamp)
        return found

    def _looked_at(self, found: CheckpointFile, suspects: frozenset[str]) -> CheckpointFile:
        """Return the checkpoint, read if it is suspect. It is not the origin, so a node removes it in time unless it is
        damaged."""
        path = f"{self._directory}/{found.name}"
        if found.was_read or path not in suspects:
            return found
        return msgspec.structs.replace(found, problem=damage_of(self._files, path, found.end), was_read=True)

    def read_segments(self) -> None:
        """Read the segments in a pass of their own.

        Raises:
            OSError: a segment cannot be read.
        """
        paths = [f"{self._directory}/{segment_file(int(base))}" for base in segment_bases(self._names)]
        reader = LogReader(self._files, paths)
        for event in reader.events():
            self.on_event(event)
            if isinstance(event, SegmentOpened):
                reader.expect(offset=-1, epoch=-1, time_ms=-1, marks=Marks(offsets=sorted(self.stops)))

    def on_event(self, event: LogEvent) -> None:
        """Take the next event of a pass. After a stop, a batch still counts for its epoch, and shows that the stop is
        not torn.

        Raises:
            OSError: a segment cannot be read.
        """
        if isinstance(event, LocatedBatch):
            self._on_batch(event)
        elif isinstance(event, NoOpRun):
            self._on_run(event)
        elif isinstance(event, Damage):
            self._on_damage(event)
        elif isinstance(event, SegmentFound):
            self._path, self._base = event.file, event.base_offset
        elif isinstance(event, SegmentOpened):
            self._begin_segment(event.size)
        elif isinstance(event, SegmentUnreadable):
            raise event.error
        else:
            part = SegmentPart(base=self._base, size=event.size, valid_size=self._valid_size, skipped=self._skipped)
            self._parts.append(part)

    def _begin_segment(self, size: int) -> None:
        base, path = self._base, self._path
        self._valid_size = self._skipped = 0
        self._sums.begin_segment(path)
        if self._start is None:
            self._begin_at(base, path)
        elif self._is_open and base != self._end:
            what = f"this segment begins at {base}, where {self._end} is due"
            # An empty segment further on proves that the log once reached it, and Kafka does not start beside it.
            self._stop_at(path, 0, what, is_torn=size == 0 and base < self._end)

    def _on_batch(self, found: LocatedBatch) -> None:
        end, path = found.position + found.header.size_in_bytes, self._path
        resumed = self._resumes_at(found, path)
        if resumed is not None:
            self._skipped = self._valid_size = resumed
        if resumed != end and self._takes(found, path):
            self._valid_size = end

    @property
    def stops(self) -> frozenset[int]:
        """Return the offsets at which a NoOp run must be split: the valid prefix may begin or end there."""
        begin = None if self._origin is None else int(self._origin.end.offset)
        return frozenset(offset for offset in (begin, self._until) if offset is not None)

    def _on_run(self, run: NoOpRun) -> None:
        """Take a run of NoOps. It continues the batch before it, so it belongs to the valid prefix if that batch
        does."""
        if self._resumes_behind(run.end_offset, run.epoch):
            self._skipped = self._valid_size = run.end_position
            return
        self._greatest_epoch = max(self._greatest_epoch, run.epoch)
        if self._stop is not None:
            self._stop = msgspec.structs.replace(self._stop, is_torn=False)
        elif self._is_cut or (self._until is not None and run.end_offset > self._until):
            self._is_cut = True
        else:
            self._extend(run.epoch, run.base_offset, run.end_offset, run.max_timestamp)
            self._sums.on_run(run)
            self._proofs += run.count
            self._replay.on_run(run)
            self._valid_size = run.end_position

    def _begin_at(self, base: int, path: str) -> None:
        """Begin the first segment. It starts at or before the checkpoint's end, unless segments between them are
        missing."""
        origin = self._origin
        self._start = self._end = base
        if origin is None or base <= origin.end.offset:
            return
        if any(found.problem is not None and found.end.offset >= base for found in self._checkpoints):
            return  # the log begins with a damaged checkpoint: no segment between is missing
        self._start = self._end = int(origin.end.offset)
        self._stop_at(path, 0, f"this segment begins at {base}, where {self._end} is due", is_torn=False)

    def _resumes_at(self, found: LocatedBatch, path: str) -> int | None:
        """Return the position from which the log goes on at the checkpoint's end, after damage before that end, or
        None."""
        header, end = found.header, found.position + found.header.size_in_bytes
        if self._resumes_behind(int(header.next_offset), int(header.partition_leader_epoch)):
            return end
        origin, stop = self._origin, self._stop
        if origin is None or stop is None or stop.offset >= origin.end.offset:
            return None
        if stop_before(found, path, int(origin.end.offset), int(origin.end.epoch), self._epochs) is not None:
            return None
        self._resume(stop, origin)
        return found.position

    def _resumes_behind(self, end: int, epoch: int) -> bool:
        """Return True if a batch with this end shows that the log goes on intact at the checkpoint's end, after
        damage."""
        origin, stop = self._origin, self._stop
        if origin is None or stop is None or stop.offset >= origin.end.offset:
            return False
        if (end, epoch) != (origin.end.offset, origin.end.epoch):
            return False
        self._resume(stop, origin)
        return True

    def _resume(self, stop: Stop, origin: CheckpointFile) -> None:
        self._passed_over = PassedOver(stop=stop, held_by=origin.name)
        self._stop, self._behind = None, NamedNodes()
        self._drop_parts()
        self._start = self._end = int(origin.end.offset)
        self._epoch = int(origin.end.epoch)

    def _drop_parts(self) -> None:
        """Drop all segments so far: they lie before the valid prefix."""
        self._settle()
        self._spans, self._sums, self._began = [], BatchSums(self._files), 0
        self._sums.begin_segment(self._path)
        self._parts = [msgspec.structs.replace(part, valid_size=0, skipped=0) for part in self._parts]

    @property
    def _is_open(self) -> bool:
        return self._stop is None and not self._is_cut

    def _on_damage(self, found: Damage) -> None:
        if self._is_open:
            self._stop_at(self._path, found.position, found.what, is_torn=found.fault is Fault.TORN)

    def _takes(self, found: LocatedBatch, path: str) -> bool:
        """Return True if the batch belongs to the valid prefix."""
        header = found.header
        stop = stop_before(found, path, self._end, self._epoch, self._epochs) if self._is_open else None
        if stop is None or stop.false_epoch is None:
            self._greatest_epoch = max(self._greatest_epoch, int(header.partition_leader_epoch))
        if self._stop is not None:
            self._stop = msgspec.structs.replace(self._stop, is_torn=False)
            self._behind = self._behind.after(found)
            return False
        if self._is_cut or (self._until is not None and header.next_offset > self._until):
            self._is_cut = True
            return False
        if stop is not None:
            self._stop = stop
            self._behind = self._behind if stop.false_epoch is None else self._behind.after(found)
            return False
        self._take(found)
        return True

    def _stop_at(self, path: str, position: int, what: str, *, is_torn: bool) -> None:
        self._stop = Stop(file=path, position=position, offset=self._end, what=what, is_torn=is_torn)

    def _take(self, batch: LocatedBatch) -> None:
        header = batch.header
        epoch, start = int(header.partition_leader_epoch), int(header.base_offset)
        if not self._spans or self._spans[-1].epoch != epoch:
            self._settle()
            # After `_settle`, which still needs the `_began` of the epoch whose metadata it judges.
            self._began = self._proved_by_metadata(header, start)
        self._extend(epoch, start, int(header.next_offset), int(header.max_timestamp))
        self._sums.on_batch(header, batch.position)
        self._replay.on_batch(batch)
        if not header.is_control:
            self._proofs += 1
        elif header.base_offset > 0 and opens_repair(batch):
            self._repair = OffsetAndEpoch(offset=header.base_offset, epoch=header.partition_leader_epoch)

    def _settle(self) -> None:
        """Replay all batches so far, and decide what the metadata of the last epoch proves.

        A batch that cannot be replayed proves nothing; the batches after it are not replayed.
        """
        self._replay.finish()
        failed = self._replay.failed
        if failed is not None and not failed.is_control and self._failed is None:
            self._proofs -= 1
        self._failed = failed
        if is_proof(self._proofs):
            self._committed_before = self._began
        self._proofs = 0

    def _extend(self, epoch: int, start: int, end: int, time_ms: int) -> None:
        if self._spans and self._spans[-1].epoch == epoch:
            start = self._spans.pop().start_offset
        self._spans.append(EpochSpan(epoch=epoch, start_offset=start, end_offset=end))
        self._epoch, self._end, self._timestamp = epoch, end, max(self._timestamp, time_ms)

    def _proved_by_metadata(self, header: BatchHeader, start: int) -> int:
        """Return the offset before which all is committed if the leader of a new epoch goes on to write metadata.

        A controller becomes active once its LeaderChange is committed. The first leader of Kafka 3.3 to 3.5 does not
        wait: it writes metadata first. So its epoch proves nothing.
        """
        if not self._spans and start > 0:  # the log need not begin with the first batch of its epoch
            return start
        return int(header.next_offset) if header.is_control else self._committed_before

    def finish(self) -> None:
        """Set the end of the valid prefix: a checkpoint may reach beyond the log."""
        self._settle()
        self._sums.finish()
        origin = self._origin
        if origin is not None and origin.end.offset >= self._end:
            if origin.end.offset > self._end:
                self._start = int(origin.end.offset)
                self._drop_parts()
            self._end, self._epoch = int(origin.end.offset), int(origin.end.epoch)

    def _believed(self, elections: Iterable[Election]) -> Iterator[Election]:
        stop = self._stop
        for one in elections:
            if self._epochs.believes(one) and (stop is None or stop.offset != one.offset):
                yield one

    def prefix(
        self,
        elections: Iterable[Election] = (),
        voter_sets: Iterable[Voting] = (),
        suspects: frozenset[str] = frozenset(),
    ) -> ValidPrefix:
        """Return the prefix.

        `elections`, `voter_sets`: all of the log; `suspects`: files for which a check has findings.
        """
        return ValidPrefix(
            start=Offset(self._start or 0),
            end=OffsetAndEpoch(offset=Offset(self._end), epoch=Epoch(self._epoch)),
            origin=self._origin,
            stop=self._stop,
            state=self._replay.state,
            before=self._replay.before,
            quorum=self._replay.quorum,
            unplayed=None if self._failed is None else int(self._failed.base_offset),
            problem=self._replay.problem,
            passed_over=self._passed_over,
            segments=tuple(self._parts),
            spans=tuple(self._spans),
            checkpoints=tuple(self._looked_at(found, suspects) for found in self._checkpoints),
            misnamed=self._misnamed,
            elections=tuple(self._believed(elections)),
            voter_sets=tuple(voter_sets),
            greatest_epoch=self._greatest_epoch,
            committed_before=self._committed_before,
            last_timestamp_ms=self._timestamp,
            sums=self._sums,
            repair=self._repair,
            behind=self._behind,
        )
