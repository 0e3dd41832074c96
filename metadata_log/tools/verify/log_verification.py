"""One pass over one replica's metadata directory: the order of the checks, and what each means for the others.

Must not know: how each check works, other replicas, and that a directory may change under the reader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from metadata_log.directory import COMMITTED_STATE_FILE, QuorumState
from metadata_log.directory.clean_shutdown import registered_end
from metadata_log.errors import CorruptBatchError
from metadata_log.files.port import FileHandle, Files
from metadata_log.format.batch import batch_values
from metadata_log.format.epochs import EpochStart
from metadata_log.image import MetadataImage
from metadata_log.image.older_release import why_older
from metadata_log.storage.segment import LocatedBatch, segment_bases, segment_file
from metadata_log.tools.findings.finding import sort_findings
from metadata_log.tools.findings.kinds import OLDER_RELEASE_NOTE
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.read.batch_sums import BatchSums
from metadata_log.tools.read.fast_scan import NoOpRun
from metadata_log.tools.read.log_reader import (
    LogEvent,
    LogListener,
    LogReader,
    SegmentClosed,
    SegmentFound,
    SegmentOpened,
)
from metadata_log.tools.read.scan import Damage, Fault, judged_tail
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.rules.forms import RecordForms
from metadata_log.tools.rules.place import Place
from metadata_log.tools.rules.records import RecordRules
from metadata_log.tools.verify.batch_framing import inner_fault
from metadata_log.tools.verify.bootstrap_checkpoint import check_bootstrap
from metadata_log.tools.verify.chain import ChainCheck
from metadata_log.tools.verify.checkpoint import NONE_READ, CheckpointReport, ReadCheckpoint
from metadata_log.tools.verify.checkpoint_against_log import PassedCheckpoints
from metadata_log.tools.verify.clock import ClockCheck
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.file_names import check_file_names, is_beyond_offsets
from metadata_log.tools.verify.index_files import Claim, IndexCheck, read_indexes
from metadata_log.tools.verify.lagged_image import SettledImage
from metadata_log.tools.verify.log_extent import (
    LogEnd,
    Proof,
    check_emptied,
    check_own_state,
    check_reach,
    check_start,
    epochs_beside,
    proofs_beside,
)
from metadata_log.tools.verify.log_facts import LogFacts, voters_of
from metadata_log.tools.verify.producer_state import PRODUCERS_SUFFIX, check_producers
from metadata_log.tools.verify.sidecar_files import (
    LogOutline,
    check_committed_state,
    check_epoch_file,
    check_metadata_topic_id,
    check_quorum_state,
    check_votes_cluster,
)

_DEPENDENT: Final = ("offset_gap", "offset_repeated", "missing_segment", "epoch_went_back", "epoch_without_leader")


class Verification:
    """One pass over one directory. `denied`: checkpoints that prove nothing, for other logs deny their names."""

    _reader: LogReader
    _segment: SegmentFound
    _handle: FileHandle
    _index: IndexCheck

    def __init__(
        self,
        files: Files,
        directory: str,
        source: NodeSource,
        *,
        depth: Depth,
        probes: frozenset[int],
        listeners: Sequence[LogListener] = (),
        read: Mapping[str, ReadCheckpoint] = NONE_READ,
        denied: Collection[str] = (),
    ) -> None:
        self._files, self._directory, self._source = files, directory, source
        self._depth, self._read, self._denied = depth, read, denied
        self._sink = FindingSink(source.node_id)
        self._chain = ChainCheck(self._sink)
        self._rules = RecordRules(self._sink)
        self._clock, self._forms = ClockCheck(self._sink), RecordForms(self._sink)
        self._settled = SettledImage()
        self._proofs: list[Proof] = []
        self._epochs: tuple[EpochStart, ...] = ()
        self._claims: list[Claim] = []
        self._probes, self._listeners = probes, listeners
        self._checkpoints = self._passed([])
        self._proved_end = self._kept_committed = 0
        self._began: int | None = None
        """The base of a lost segment before the first one, by the index that it left; None without one."""
        self._segments: list[str] = []
        self._sums = BatchSums(files)
        self._is_unread, self._size, self._end_position = False, 0, 0

    def run(self) -> LogFacts:
        """Run all checks, and return the report."""
        every = self._files.listdir(self._directory)
        names = [name for name in every if not is_beyond_offsets(name) and name not in self._denied]
        self._checkpoints = self._passed(names)
        bases = segment_bases(names)
        # Read it before the log. A running node writes the log first, so the log read later holds all that it names.
        self._kept_committed = check_committed_state(self._files, self._directory, names, self._sink)
        self._proofs = proofs_beside(self._files, self._directory, names)
        self._epochs = epochs_beside(self._files, self._directory, names)
        self._began = check_start(self._directory, names, bases, self._sink)
        self.read_segments([int(base) for base in bases])
        self._checkpoints.finish()
        self._rules.check_end(self._chain.end)
        log = self._outline()
        has_misnamed = bool(self._denied or self._checkpoints.misnamed)
        check_epoch_file(self._files, self._directory, log, self._sink, has_misnamed=has_misnamed)
        state = check_quorum_state(self._files, self._directory, log, self._sink)
        self._check_ends(state)
        check_producers(self._files, self._directory, names, self._sink)
        check_file_names(self._directory, every, self._sink)
        cluster_id = None if self._source.identity is None else self._source.identity.cluster_id
        check_votes_cluster(state, cluster_id, self._directory, self._sink)
        check_metadata_topic_id(self._files, self._directory, log, self._sink)
        if self._source.metadata is not None:
            needed = not (log.is_sound and log.end and state)
            check_bootstrap(self._files, self._source.metadata.parent, self._sink, self._depth, is_needed=needed)
        report = self.report(state)
        older = None if report.image is None or report.newer.parts else why_older(report.image)
        if older is None:
            return report
        self._sink.add(OLDER_RELEASE_NOTE, older, file=self._directory)
        return msgspec.structs.replace(report, findings=sort_findings(self._sink.findings))

    def _passed(self, names: list[str]) -> PassedCheckpoints:
        return PassedCheckpoints(
            self._files,
            self._directory,
            names,
            self._chain,
            self._rules,
            self._sink,
            depth=self._depth,
            probes=self._probes,
            read=self._read,
        )

    def read_checkpoint(self, name: str) -> None:
        """Verify a checkpoint by itself."""
        self._checkpoints.read(name)
        self._checkpoints.say_left()

    def report(self, state: QuorumState | None) -> LogFacts:
        """Return the report on all checks that have run so far."""
        chain, log = self._chain, self._outline()
        whole = sorted(
            (found for found in self._checkpoints.reports.values() if found.is_whole and found.end is not None),
            key=lambda found: (found.end.offset, found.end.epoch) if found.end is not None else (-1, -1),
        )
        return LogFacts(
            directory=self._directory,
            findings=sort_findings(self._sink.findings),
            start_offset=chain.start or 0,
            end_offset=chain.end,
            gaps=tuple(chain.gaps),
            epochs=tuple(chain.spans),
            elections=tuple(chain.elections),
            false_starts=tuple(chain.false_starts),
            voters=None if chain.has_newer_voters else chain.voters or voters_of(whole),
            known_voters=frozenset(chain.known_voters).union(*(found.voters or () for found in whole)),
            quorum_changes=tuple(chain.quorum_changes),
            static_voters=() if state is None else state.static_voters,
            checkpoints=tuple(whole),
            misnamed=self._checkpoints.misnamed,
            quorum_state=state,
            image=self._image(whole),
            settled=self._settled.image,
            rules=self._rules,
            committed_before=chain.committed_before,
            kept_committed=self._kept_committed,
            proved_end=max(self._proved_end, chain.end),
            is_sound=log.is_sound,
            is_unread=self._is_unread,
            newer=self._sink.newer,
            probed=self._checkpoints.probed,
            times=self._checkpoints.times,
            segments=tuple(self._segments),
            sums=self._sums,
            batches=chain.batches,
            records=self._rules.records,
            size_in_bytes=self._size,
        )

    def _image(self, whole: list[CheckpointReport]) -> MetadataImage | None:
        newest = whole[-1] if whole else None
        if newest is not None and newest.end is not None and newest.end.offset >= self._chain.end:
            return newest.image if newest.end.offset > 0 else self._rules.image
        return self._rules.image

    def _outline(self) -> LogOutline:
        chain = self._chain
        return LogOutline(
            end=chain.end,
            spans=chain.spans,
            elections=chain.elections,
            starts=chain.starts,
            is_sound=not self._sink.has("corrupt_batch", "unsupported_batch", "unreadable_file", *_DEPENDENT),
        )

    def read_segments(self, bases: list[int]) -> None:
        """Read and check the segments of these base offsets, in order."""
        if bases and bases[0] == 0 and self._depth is Depth.REPLAY:
            self._rules.start(MetadataImage.empty(), where="offset 0", is_complete=True)
        self._reader = LogReader(self._files, [f"{self._directory}/{segment_file(base)}" for base in bases])
        self._reader.read(self, *self._listeners)
        self._sums.finish()
        self._checkpoints.come_to(self._chain.end)

    def on_event(self, event: LogEvent) -> None:
        """Take the next event of the pass over the segments."""
        if isinstance(event, LocatedBatch):
            self._checkpoints.come_to(int(event.header.base_offset))
            self._index.on_seen(event, in_order=self._on_batch(event, self._segment.file))
            self._sums.on_batch(event.header, event.position)
        elif isinstance(event, NoOpRun):
            self._sums.on_run(event)
            self._index.on_seen(event, in_order=self._on_other(event))
        elif isinstance(event, Damage):
            self._index.on_seen(event, in_order=self._on_other(self._judged(event)))
            self._sums.on_damage(event, self._handle)
        elif isinstance(event, SegmentFound):
            indexes = read_indexes(self._files, self._directory, event.base_offset, self._sink)
            self._index = IndexCheck(self._sink, event.base_offset, *indexes, is_last=event.is_last)
            self._segment = event
        elif isinstance(event, SegmentOpened):
            self._begin_segment(event)
        elif isinstance(event, SegmentClosed):
            self._end_segment(event)
        else:
            self._sink.add_unreadable(event.file, event.error)
            self._is_unread = True
            self._chain.on_unread(event.base_offset)
            self._rules.distrust()

    def _begin_segment(self, opened: SegmentOpened) -> None:
        chain, found = self._chain, self._segment
        self._handle = opened.handle
        self._sums.begin_segment(found.file)
        if not chain.begin_file(found.file, found.base_offset, opened.first_offset, is_last=found.is_last):
            self._rules.distrust()
        self._size += opened.size
        marks = self._checkpoints.marks(self._index.marks)
        self._reader.expect(offset=chain.expected, epoch=chain.epoch, time_ms=self._clock.time_ms, marks=marks)

    def _end_segment(self, closed: SegmentClosed) -> None:
        if closed.read_end < closed.size:  # zeros up to the file's end, which `fast_scan` skips
            zeros = Damage(position=closed.read_end, size=closed.size - closed.read_end, fault=Fault.TORN, what="zeros")
            self._on_other(self._judged(zeros))
        self._claims = self._index.finish(self._chain.end, closed.sound_end)
        self._end_position = closed.sound_end
        self._segments.append(closed.file)

    def _judged(self, damage: Damage) -> Damage:
        """Return the damage with its final fault: it is a torn tail only if nothing proves that records are lost."""
        due, epoch = self._chain.expected, self._chain.epoch
        proven = max((self._index.closed_reach(due, damage.position), *(proof.reach for proof in self._proofs)))
        is_last = self._segment.is_last
        return judged_tail(self._handle, damage, due, epoch, may_be_torn=is_last and proven <= due, is_last=is_last)

    def _on_other(self, seen: NoOpRun | Damage) -> bool:
        """Check a NoOp run or damage; return True if the log continues in order."""
        if isinstance(seen, NoOpRun):
            self._checkpoints.come_to(seen.base_offset)
            self._settled.on_batch(seen.max_timestamp, self._rules.image)
            self._rules.records += seen.count
            self._clock.on_run(seen.last_timestamp, seen.epoch)
        in_order = self._chain.on_seen(seen)
        if not in_order:
            self._rules.distrust()
        if isinstance(seen, NoOpRun) and in_order:
            self._checkpoints.on_batches(seen.end_offset, seen.last_timestamp)
        return in_order

    def _on_batch(self, batch: LocatedBatch, path: str) -> bool:
        """Check a batch; return True if it is in order."""
        in_order = self._chain.on_seen(batch)
        if not in_order:
            self._rules.distrust()
        header = batch.header
        self._settled.on_batch(header.max_timestamp, self._rules.image)
        known = self._sink.counted
        self._judge_records(batch, path)
        if in_order:
            # A batch that no controller writes proves no commit.
            if not header.is_control and self._sink.counted == known:
                self._chain.on_metadata(int(header.partition_leader_epoch))
            self._checkpoints.on_batches(int(header.next_offset), header.max_timestamp)
            epoch, offset = int(header.partition_leader_epoch), int(header.base_offset)
            self._clock.on_batch(header.max_timestamp, epoch, offset, path, batch.position)
        return in_order

    def _judge_records(self, batch: LocatedBatch, path: str) -> None:
        header = batch.header
        if header.is_control or not self._depth.decodes:
            self._rules.records += header.count
            return
        place = Place(
            base_offset=header.base_offset, file=path, position=batch.position, epoch=header.partition_leader_epoch
        )
        try:
            values = batch_values(batch.buffer, header, batch.at)
            fault = inner_fault(batch, values)
        except CorruptBatchError as error:
            fault = error.what
        if fault is not None:
            offset, epoch = header.base_offset, header.partition_leader_epoch
            self._sink.add("malformed_record", fault, file=path, position=batch.position, offset=offset, epoch=epoch)
            self._rules.distrust()
            return
        if self._depth is Depth.REPLAY:
            self._rules.on_values(values, header.base_offset, place)
        else:
            self._rules.records += header.count
            self._forms.on_values(values, header.base_offset, place)

    def _check_ends(self, state: QuorumState | None) -> None:
        """Check that the log begins at offset 0 or within a checkpoint, and reaches its newest one and every proof."""
        chain = self._chain
        covering = [
            report.end.offset
            for report in self._checkpoints.reports.values()
            if report.is_whole and report.end is not None and report.end.offset > 0
        ]
        start = chain.start if self._began is None else self._began  # a lost segment is no missing checkpoint
        if chain.start and start and max(covering, default=0) < start:
            what = f"the log starts at offset {chain.start}, and no whole checkpoint covers what was before it"
            what += f": the newest ends at {max(covering)}, too early" if covering else ""
            first = self._segments[0] if self._segments else self._directory
            self._sink.add("missing_checkpoint", what, file=first, offset=chain.start)
        newest = max(covering, default=0)
        if self.check_reach(state) or not self._segments:
            return
        if newest > chain.end:
            what = f"the log ends at offset {chain.end}, but its newest checkpoint at {newest}"
            last = self._segments[-1] if self._segments else self._directory
            self._sink.add("log_behind_checkpoint", what, file=last, offset=chain.end)

    def check_reach(self, state: QuorumState | None) -> bool:
        """Compare the log's end with the proofs; return True if a finding says that it ends too early."""
        chain = self._chain
        has_segments = bool(self._segments) or self._sink.has("unreadable_file")
        proofs = self._proofs
        if not has_segments:
            proofs = [*proofs, *(Proof(file=path, reach=end) for path, end in self._covered())]
        if self._kept_committed > max((end for _, end in self._covered()), default=0):
            path = f"{self._directory}/{COMMITTED_STATE_FILE}"
            proofs = [*proofs, Proof(file=path, reach=self._kept_committed)]
        file = self._segments[-1] if self._segments else self._directory if has_segments else None
        end = LogEnd(offset=chain.end, last_epoch=chain.epoch, file=file, position=self._end_position)
        ahead = state is not None and state.leader_epoch > chain.epoch
        if has_segments and self._sink.has("unreadable_file"):
            return False
        self._proved_end = check_reach(
            end, proofs, self._claims, self._directory, self._sink, ahead=ahead, committed=self._committed()
        )
        if self._sink.has("log_cut", "log_missing"):
            return True
        check_emptied(self._epochs, end, self._sink)
        if not self._sink.has("log_cut"):
            is_sound = self._outline().is_sound
            closed_at = {proof.reach for proof in self._proofs if proof.file.endswith(PRODUCERS_SUFFIX)}
            was_closed = chain.end in closed_at
            node_id, directory = self._source.node_id, self._directory
            check_own_state(state, node_id, end, is_sound, directory, self._sink, was_closed=was_closed)
        return False

    def _committed(self) -> int:
        """Return the end of the committed records, by checkpoints, a broker's clean stop and `committed-state`."""
        disks = {str(disk.path) for disk in self._source.log_directories}
        if self._source.metadata is not None:
            disks.add(str(self._source.metadata.parent))
        covered = (end for _, end in self._covered())
        return max(registered_end(self._files, sorted(disks)), self._kept_committed, *covered)

    def _covered(self) -> Iterator[tuple[str, int]]:
        for report in self._checkpoints.reports.values():
            if report.end is not None and report.end.offset > 0 and report.misnamed is None:
                yield report.path, int(report.end.offset)
