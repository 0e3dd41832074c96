"""One pass over one replica's metadata directory, and what it amounts to.

Decides: in which order the checks run, and what one's finding means for the others. Must not know: how each check
works, other replicas, and that a directory may change under the reader.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.batch import batch_values
from metadata_log.directory import QuorumState
from metadata_log.errors import CorruptBatchError
from metadata_log.files import FileHandle, Files, read_file
from metadata_log.ids import NodeId, ReplicaKey, id_text
from metadata_log.image import MetadataImage, UnwritableMetadataError
from metadata_log.image.hash import image_hash
from metadata_log.segment import LocatedBatch, segment_bases, segment_file
from metadata_log.snapshot import BOOTSTRAP_CHECKPOINT, parse_checkpoint_name
from metadata_log.tools.contents import EpochSpan
from metadata_log.tools.finding_sink import FindingSink
from metadata_log.tools.findings import Finding, sort_findings
from metadata_log.tools.image_diff import described, differences
from metadata_log.tools.scan import Damage
from metadata_log.tools.sources import NodeSource
from metadata_log.tools.verify_batch import inner_fault
from metadata_log.tools.verify_chain import ChainCheck, Election, Voting
from metadata_log.tools.verify_checkpoint import CheckpointReport, unread_checkpoint, verify_checkpoint
from metadata_log.tools.verify_index import IndexCheck
from metadata_log.tools.verify_records import Place, RecordRules
from metadata_log.tools.verify_state import LogOutline, check_epoch_file, check_metadata_topic_id, check_quorum_state
from metadata_log.tools.walk import Marks, Quiet, walk

_NO_STOP: Final = 1 << 62
_DEPENDENT: Final = ("offset_gap", "offset_repeated", "missing_segment", "epoch_went_back", "epoch_without_leader")


class LogReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one replica's metadata directory amounts to.

    Attributes:
        findings: what is wrong with it, by itself.
        start_offset, end_offset, epochs: of the records in its segments.
        elections: its LeaderChange records, in order.
        voters: the last voter set in its log, or its newest checkpoint's (offset -1); None where neither names any.
        static_voters: of a quorum-state of version 0.
        checkpoints: those that are whole, by their ends.
        image: at the end of the log; None where what was before is not known.
        rules: knows every topic id that the log ever gave.
        committed_before: all before this offset was committed, since the leader of an epoch that begins there wrote
            metadata records, which it does only then.
        is_sound: nothing is wrong with bytes and order of its batches.
        hashes: of the metadata that replay gives, at those of the offsets asked for that it has.
    """

    directory: str
    findings: tuple[Finding, ...]
    start_offset: int
    end_offset: int
    epochs: tuple[EpochSpan, ...]
    elections: tuple[Election, ...]
    voters: Voting | None
    static_voters: tuple[ReplicaKey, ...]
    checkpoints: tuple[CheckpointReport, ...]
    quorum_state: QuorumState | None
    image: MetadataImage | None
    rules: RecordRules
    committed_before: int
    is_sound: bool
    hashes: dict[int, str]
    segments: tuple[str, ...]
    batches: int
    records: int
    size_in_bytes: int

    @property
    def last_epoch(self) -> int:
        """Of its last record; -1 in an empty log."""
        return self.epochs[-1].epoch if self.epochs else -1


class Verification:
    """One pass over one directory."""

    def __init__(
        self, files: Files, directory: str, source: NodeSource, *, with_records: bool, probes: frozenset[int]
    ) -> None:
        self._files = files
        self._directory = directory
        self._source = source
        self._with_records = with_records
        self._sink = FindingSink(source.node_id)
        self._chain = ChainCheck(self._sink)
        self._rules = RecordRules(self._sink)
        self._checkpoints: dict[str, CheckpointReport] = {}
        self._ends: dict[int, list[str]] = {}
        """Checkpoints that the walk is yet to come to, by their end offset."""
        self._probes = probes
        self._hashes: dict[int, str] = {}
        self._next_stop = -1
        self._segments: list[str] = []
        self._size = 0

    def run(self) -> LogReport:
        """Check all."""
        names = self._files.listdir(self._directory)
        for name in names:
            end = parse_checkpoint_name(name)
            if end is not None:
                self._ends.setdefault(int(end.offset), []).append(name)
        bases = segment_bases(names)
        self.read_segments([int(base) for base in bases])
        for pending in sorted(self._ends):
            for name in self._ends[pending]:
                self.read_checkpoint(name)
        self._check_ends(bool(bases))
        log = self._outline()
        check_epoch_file(self._files, self._directory, log, self._sink)
        state = check_quorum_state(self._files, self._directory, log, self._sink)
        check_metadata_topic_id(self._files, self._directory, self._sink)
        self._check_bootstrap()
        return self.report(state)

    def report(self, state: QuorumState | None) -> LogReport:
        """What was found so far."""
        chain, log = self._chain, self._outline()
        whole = sorted(
            (found for found in self._checkpoints.values() if found.image is not None and found.end is not None),
            key=lambda found: (found.end.offset, found.end.epoch) if found.end is not None else (-1, -1),
        )
        static = () if state is None else state.current_voters or ()
        return LogReport(
            directory=self._directory,
            findings=sort_findings(self._sink.findings),
            start_offset=chain.start or 0,
            end_offset=chain.end,
            epochs=tuple(chain.spans),
            elections=tuple(chain.elections),
            voters=chain.voters or _voters_of(whole),
            static_voters=tuple(ReplicaKey(node_id=NodeId(voter)) for voter in static),
            checkpoints=tuple(whole),
            quorum_state=state,
            image=self._image(whole),
            rules=self._rules,
            committed_before=_committed_before(chain),
            is_sound=log.is_sound,
            hashes=self._hashes,
            segments=tuple(self._segments),
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
        """Walk them in order."""
        if bases and bases[0] == 0 and self._with_records:
            self._rules.start(MetadataImage.empty(), where="offset 0", is_complete=True)
        for number, base in enumerate(bases):
            self._read_segment(base, is_last=number == len(bases) - 1)
        self._pass_checkpoints(self._chain.end)

    def _read_segment(self, base: int, *, is_last: bool) -> None:
        path = f"{self._directory}/{segment_file(base)}"
        index = IndexCheck(self._sink, base, self._beside(base, ".index"), self._beside(base, ".timeindex"))
        handle: FileHandle | None = None
        try:
            handle = self._files.open(path, read_only=True)
            first = handle.pread(8, 0)
            claimed = int.from_bytes(first, "big") if len(first) == 8 else None
            if not self._chain.begin_file(path, base, claimed, is_last=is_last):
                self._rules.distrust()
            self._walk_segment(handle, path, index)
            self._segments.append(path)
        except OSError as error:
            self._unreadable(path, error)
            self._chain.on_unread(base)
            self._rules.distrust()
        finally:
            if handle is not None:
                handle.close()

    def _walk_segment(self, handle: FileHandle, path: str, index: IndexCheck) -> None:
        chain, end_position = self._chain, 0
        self._size += handle.size()
        for seen in walk(handle, offset=chain.expected, epoch=chain.epoch, marks=self._marks(index.marks)):
            if isinstance(seen, LocatedBatch):
                self._pass_checkpoints(int(seen.header.base_offset))
                in_order = self._on_batch(seen, path)
                end_position = seen.position + seen.header.size_in_bytes
            else:
                in_order = self._on_other(seen)
                end_position = seen.end_position if isinstance(seen, Quiet) else end_position
            if in_order:
                index.on_seen(seen)
            else:
                index.stop()
        index.finish(end_position)

    def _beside(self, base: int, suffix: str) -> tuple[str, bytes] | None:
        """An index and its content; None where there is none to read."""
        path = f"{self._directory}/{segment_file(base, suffix)}"
        if not self._files.exists(path):
            return None
        try:
            return path, read_file(self._files, path)
        except OSError as error:
            self._unreadable(path, error)
            return None

    def _marks(self, marks: Marks) -> Marks:
        stops = {*self._ends, *self._probes}
        return Marks(positions=marks.positions, offsets=sorted({*marks.offsets, *stops})) if stops else marks

    def _on_other(self, seen: Quiet | Damage) -> bool:
        """A run of NoOps, or damage; whether the log goes on in order."""
        if isinstance(seen, Quiet):
            self._pass_checkpoints(seen.base_offset)
            self._rules.records += seen.count
        in_order = self._chain.on_seen(seen)
        if not in_order:
            self._rules.distrust()
        return in_order

    def _on_batch(self, batch: LocatedBatch, path: str) -> bool:
        """A batch; whether it stands in order."""
        in_order = self._chain.on_seen(batch)
        if not in_order:
            self._rules.distrust()
        self._judge_records(batch, path)
        return in_order

    def _judge_records(self, batch: LocatedBatch, path: str) -> None:
        header = batch.header
        if header.is_control:
            self._rules.records += header.count
            return
        if not self._with_records:
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
            self._sink.add(
                "malformed_record",
                fault,
                file=path,
                position=batch.position,
                offset=header.base_offset,
                epoch=header.partition_leader_epoch,
            )
            self._rules.distrust()
            return
        self._rules.on_values(values, header.base_offset, place)

    def _pass_checkpoints(self, until: int) -> None:
        """Compare the checkpoints that end before the batch at `until`, or where it begins, with what was replayed."""
        if until < self._next_stop:
            return
        for end in sorted(offset for offset in self._ends if offset <= until):
            for name in self._ends.pop(end):
                report = self.read_checkpoint(name)
                if end in (until, self._chain.end):
                    self._compare(report)
                elif (self._chain.start or 0) < end < self._chain.last_seen:
                    self._disagrees(report, f"it ends at offset {end}, within a batch of the log")
        if until in self._probes and not self._rules.in_transaction:
            image = self._rules.image
            found = None if image is None else metadata_hash(image)
            if found is not None:
                self._hashes[until] = found
        self._next_stop = min((stop for stop in {*self._ends, *self._probes} if stop > until), default=_NO_STOP)

    def read_checkpoint(self, name: str) -> CheckpointReport:
        """Check one by itself."""
        path = f"{self._directory}/{name}"
        try:
            report = verify_checkpoint(self._files, path, self._sink)
        except OSError as error:
            self._unreadable(path, error)
            report = unread_checkpoint(path)
        self._checkpoints[name] = report
        return report

    def _unreadable(self, path: str, error: OSError) -> None:
        self._sink.add("unreadable_file", f"it cannot be read: {error.strerror or error}", file=path)

    def _compare(self, report: CheckpointReport) -> None:
        """A checkpoint at the very end of what was replayed: it must say the same, or is where replay begins."""
        chain, end = self._chain, report.end
        if end is None or report.image is None or end.offset == 0:
            return
        if chain.spans and chain.end == end.offset and chain.epoch != end.epoch:
            self._disagrees(report, f"its name says epoch {end.epoch}, but the log has epoch {chain.epoch} before it")
        if chain.voters is not None and report.voters is not None and set(report.voters) != set(chain.voters.voters):
            self._disagrees(report, "its voters are not those of the log")
        if not self._with_records:
            return
        if not self._rules.is_trusted:
            self._rules.start(report.image, where=report.path)
            return
        image = self._rules.image
        if image is not None and not self._rules.in_transaction and not image.says_the_same_as(report.image):
            text, topic_id = described(differences(report.image, image, ("in the checkpoint", "by the log")))
            self._disagrees(report, text, None if topic_id is None else topic_id)

    def _disagrees(self, report: CheckpointReport, meaning: str, topic_id: bytes | None = None) -> None:
        end = report.end
        self._sink.add(
            "checkpoint_disagrees",
            meaning,
            file=report.path,
            offset=None if end is None else int(end.offset),
            epoch=None if end is None else int(end.epoch),
            topic_id=None if topic_id is None else id_text(topic_id),
        )

    def _check_ends(self, has_segments: bool) -> None:
        """The log goes back to offset 0 or to a checkpoint, and reaches its newest one."""
        chain = self._chain
        covering = [
            report.end.offset
            for report in self._checkpoints.values()
            if report.image is not None and report.end is not None and report.end.offset > 0
        ]
        if chain.start and max(covering, default=0) < chain.start:
            what = f"the log starts at offset {chain.start}, and no whole checkpoint covers what was before it"
            first = self._segments[0] if self._segments else self._directory
            self._sink.add("missing_checkpoint", what, file=first, offset=chain.start)
        newest = max(covering, default=0)
        if has_segments and newest > chain.end:
            what = f"the log ends at offset {chain.end}, but its newest checkpoint at {newest}"
            last = self._segments[-1] if self._segments else self._directory
            self._sink.add("log_behind_checkpoint", what, file=last, offset=chain.end)

    def _check_bootstrap(self) -> None:
        disk = self._source.metadata.parent if self._source.metadata is not None else None
        path = f"{disk}/{BOOTSTRAP_CHECKPOINT}"
        if disk is None or not self._files.exists(path):
            return
        try:
            verify_checkpoint(self._files, path, self._sink)
        except OSError as error:
            self._unreadable(path, error)


def metadata_hash(image: MetadataImage) -> str | None:
    """The hash of an image without its quorum; None where it has none: not bootstrapped, or at an impossible level."""
    try:
        return image_hash(image, 0, None).hex
    except UnwritableMetadataError:
        return None


def _voters_of(checkpoints: list[CheckpointReport]) -> Voting | None:
    for report in reversed(checkpoints):
        if report.voters is not None:
            return Voting(offset=-1, voters=report.voters)
    return None


def _committed_before(chain: ChainCheck) -> int:
    return next((span.start_offset for span in chain.spans if span.epoch == chain.last_data_epoch), 0)
