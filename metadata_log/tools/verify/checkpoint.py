"""Reads a checkpoint, and checks that it is whole and sound by itself.

Decides: the form of a checkpoint file (KIP-630: header first, footer last, offsets from 0, all batches of the epoch in
the name). Must not know: the log in the same directory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from metadata_log.counts import counted
from metadata_log.errors import CorruptBatchError, RecordError, UnknownRecordError
from metadata_log.files.port import Files
from metadata_log.format.batch import batch_records, batch_values
from metadata_log.ids import ReplicaKey
from metadata_log.image import MetadataImage
from metadata_log.image.features import KRAFT_VERSION
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import (
    ControlRecord,
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
    control_or_newer,
)
from metadata_log.records.newer import NewerPart, newer_control, newer_levels
from metadata_log.storage.checkpoint import parse_checkpoint_name
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.findings.advice import DROP_CHECKPOINT, RESTORE_FILE
from metadata_log.tools.findings.facts import ConfigsOfNoTopic, CorruptBatch, ForeignHeader, UnreadableControlRecord
from metadata_log.tools.findings.finding import Severity
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.read.contents import voter_keys
from metadata_log.tools.read.fast_scan import NoOpRun, Seen, walk
from metadata_log.tools.read.scan import Damage, Fault
from metadata_log.tools.rules.forms import RecordForms
from metadata_log.tools.rules.orphaned_configs import LeftConfigs, orphaned_configs, without
from metadata_log.tools.rules.place import Place
from metadata_log.tools.rules.records import RecordRules
from metadata_log.tools.verify.batch_framing import foreign_fields, inner_fault
from metadata_log.tools.verify.depth import Depth

_DAMAGE: Final = ("corrupt_batch", "malformed_record", "checkpoint_incomplete", "checkpoint_malformed")
"""Kinds with another remedy in a checkpoint than in a log. A `bootstrap.checkpoint` can only be restored."""
_BOOTSTRAP_EPOCH: Final = 0
"""The epoch of every batch of `bootstrap.checkpoint`, which precedes any leader."""


class CheckpointReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of reading one checkpoint.

    Attributes:
        end: the snapshot id in its name; None for `bootstrap.checkpoint`.
        image: its metadata without `left`; None if it is not whole, not sound, or was not replayed.
        left: its configs of topics that it does not have.
        misnamed: why its name has the wrong offset or epoch; None if nothing shows that. A misnamed checkpoint proves
            nothing of that offset.
    """

    path: str
    end: OffsetAndEpoch | None
    image: MetadataImage | None
    left: tuple[LeftConfigs, ...] = ()
    misnamed: str | None = None
    is_whole: bool
    voters: tuple[ReplicaKey, ...] | None
    voter_set: VotersRecord | None
    kraft_version: int
    records: int
    last_contained_ms: int | None


def verify_checkpoint(files: Files, path: str, sink: FindingSink, depth: Depth = Depth.REPLAY) -> CheckpointReport:
    """Read a checkpoint to its end, and add its faults to `sink`. The report has an image only at `Depth.REPLAY`.

    Raises:
        OSError: the file cannot be read.
    """
    check = _Check(path, sink, depth)
    handle = files.open(path, read_only=True)
    try:
        check.take(walk(handle), handle.size())
    finally:
        handle.close()
    return check.report()


class ReadCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A whole checkpoint that was verified as it was read for another purpose; its findings are in `sink`."""

    report: CheckpointReport
    sink: FindingSink


NONE_READ: Final[Mapping[str, ReadCheckpoint]] = MappingProxyType({})


def verify_read_checkpoint(
    path: str, batches: Iterable[LocatedBatch], node_id: int | None, depth: Depth
) -> ReadCheckpoint:
    """Verify a checkpoint from its batches, without reading the file. No byte lies between or behind them."""
    sink = FindingSink(node_id)
    check = _Check(path, sink, depth)
    check.take(batches)
    return ReadCheckpoint(report=check.report(), sink=sink)


def unread_checkpoint(path: str) -> CheckpointReport:
    """Return the report on an unreadable checkpoint: only its name is known."""
    end = parse_checkpoint_name(path.rsplit("/", 1)[-1])
    return CheckpointReport(
        path=path,
        end=end,
        image=None,
        is_whole=False,
        voters=None,
        voter_set=None,
        kraft_version=0,
        records=0,
        last_contained_ms=None,
    )


def checkpoint_report(
    files: Files, path: str, sink: FindingSink, depth: Depth, before: Mapping[str, ReadCheckpoint]
) -> CheckpointReport:
    """Return the report on a checkpoint, from `before` if that has it, and add its faults to `sink`.

    An OSError is a finding, too: the report then has only the name.
    """
    read = before.get(path)
    if read is not None:
        sink.take_from(read.sink)
        return read.report
    try:
        return verify_checkpoint(files, path, sink, depth)
    except OSError as error:
        sink.add_unreadable(path, error)
        return unread_checkpoint(path)


class _Check:
    """The state of reading one checkpoint."""

    def __init__(self, path: str, sink: FindingSink, depth: Depth) -> None:
        self._path = path
        self._depth = depth
        self._sink = sink
        self._end = parse_checkpoint_name(path.rsplit("/", 1)[-1])
        self._inner = FindingSink(sink.node_id)
        self._rules = RecordRules(self._inner)
        self._rules.start(MetadataImage.empty(), where=path)
        self._forms = RecordForms(self._inner)
        self._records = 0
        self._expected = 0
        self._batches = 0
        self._header: SnapshotHeaderRecord | None = None
        self._has_header = False
        """True if it has a header. `_header` stays None for one of a later release."""
        self._voters: VotersRecord | None = None
        self._kraft_version = 0
        self._has_footer = False
        self._is_sound = True
        self._misnamed: str | None = None
        self._after_damage = False
        self._epochs: dict[int, tuple[int, int]] = {}
        """By epoch, the position and offset of its first batch."""

    def take(self, every: Iterable[Seen], size: int | None = None) -> None:
        """Check every batch, then the end. `size`: bytes of the file; None if it ends with the last batch."""
        end = 0
        for seen in every:
            if isinstance(seen, NoOpRun):
                self._expected = seen.end_offset
                end = seen.end_position
            elif isinstance(seen, Damage):
                end = seen.end
                if seen.fault is Fault.TORN:
                    self._check_behind_footer(seen.position, seen.size)
                else:
                    facts = CorruptBatch(size=seen.size, fault=seen.what)
                    kind = "unsupported_batch" if seen.fault is Fault.UNSUPPORTED else facts.kind
                    self._found(kind, facts.meaning(), seen.position)
                self._is_sound = False
                self._after_damage = True
            else:
                self._on_batch(seen)
                end = seen.position + seen.header.size_in_bytes
        self._check_epochs()
        size = end if size is None else size
        self._check_behind_footer(end, size - end)
        if not self._has_footer:
            what = "it has no footer: it was never finished, or its end is lost"
            self._found("checkpoint_incomplete", what, size)

    def _check_epochs(self) -> None:
        """Check that all batches are of the epoch in the name. If all share another epoch, the name is wrong."""
        due = _BOOTSTRAP_EPOCH if self._end is None else int(self._end.epoch)
        if self._end is not None and len(self._epochs) == 1 and due not in self._epochs:
            what = f"by its name it is of epoch {due}, and all its batches are of epoch {next(iter(self._epochs))}"
            self._misnamed = what
            self._found("checkpoint_misnamed", what, 0, 0)
            return
        for epoch, (position, offset) in self._epochs.items():
            if epoch != due:
                self._found(
                    "checkpoint_malformed", f"a batch is of epoch {epoch}, where {due} is due", position, offset
                )

    def _check_behind_footer(self, position: int, size: int) -> None:
        """Check that the file ends with its footer. Unlike a log, it has no torn tail and no preallocated space."""
        if self._has_footer and size:
            what = f"behind its footer, where it must end, it has {counted(size, 'byte')} without a batch"
            self._found("checkpoint_malformed", what, position)

    def report(self) -> CheckpointReport:
        """Pass the collected findings to the sink, and return the report."""
        if self._is_sound:
            self._rules.end_checkpoint()
        left = self._left()
        if left and (self._end is None or self._end.offset == 0):
            self._set_on_nothing(left)
        self._sink.take_from(self._inner)
        has_errors = any(found.severity is Severity.ERROR for found in self._inner.findings)
        is_whole = self._is_sound and self._has_footer and self._has_header and not has_errors
        voters = self._voters
        return CheckpointReport(
            path=self._path,
            end=self._end,
            image=self._image(left) if is_whole and self._depth is Depth.REPLAY else None,
            left=left if is_whole else (),
            misnamed=self._misnamed,
            is_whole=is_whole,
            voters=None if voters is None else voter_keys(voters),
            voter_set=voters,
            kraft_version=self._kraft_version,
            records=self._records,
            last_contained_ms=None if self._header is None else self._header.last_contained_log_timestamp,
        )

    def _left(self) -> tuple[LeftConfigs, ...]:
        """Return its configs of topics that it does not have; none if nothing was replayed."""
        image = self._rules.image
        if image is None or not self._rules.loose:
            return ()
        found = []
        for topic, values in orphaned_configs(image).items():
            offset, position = self._rules.loose[topic]
            found.append(LeftConfigs(topic=topic, values=values, offset=offset, position=position))
        return tuple(found)

    def _set_on_nothing(self, left: tuple[LeftConfigs, ...]) -> None:
        """Report configs without a topic in a checkpoint at offset 0: no topic was removed before the first record."""
        for one in left:
            facts = ConfigsOfNoTopic(topic=one.topic, configs=tuple(one.values))
            self._inner.add(facts, file=self._path, position=one.position, offset=one.offset)

    def _image(self, left: tuple[LeftConfigs, ...]) -> MetadataImage | None:
        image = self._rules.image
        if image is None:
            return None
        image = without(image, {one.topic: one.values for one in left})
        end = self._end or OffsetAndEpoch(offset=Offset(0), epoch=Epoch(0))
        return msgspec.structs.replace(
            image,
            offset_and_epoch=end,
            last_contained_timestamp_ms=-1 if self._header is None else self._header.last_contained_log_timestamp,
        )

    def _found(self, kind: str, meaning: str, position: int, offset: int | None = None) -> None:
        self._is_sound = False
        due = self._expected if offset is None else offset
        epoch = None if self._end is None else int(self._end.epoch)
        advice = None
        if kind in _DAMAGE:
            advice = RESTORE_FILE if self._end is None else DROP_CHECKPOINT
        self._sink.add(kind, meaning, file=self._path, position=position, offset=due, epoch=epoch, advice=advice)

    def _on_batch(self, batch: LocatedBatch) -> None:
        header = batch.header
        self._batches += 1
        foreign = foreign_fields(header)
        if foreign is not None:
            self._found(*ForeignHeader(fields=foreign).worded(), batch.position, header.base_offset)
        if self._has_footer:
            what = f"behind its footer it has {counted(header.count, 'record')}"
            self._found("checkpoint_malformed", what, batch.position, header.base_offset)
        if header.base_offset != self._expected and not self._after_damage:
            kind = "offset_gap" if header.base_offset > self._expected else "offset_repeated"
            what = f"offset {self._expected} is due in it, and {header.base_offset} stands there"
            self._found(kind, what, batch.position)
        place = (batch.position, int(header.base_offset))
        self._epochs.setdefault(int(header.partition_leader_epoch), place)
        if header.is_control:
            self._on_control(batch)
        else:
            self._on_data(batch)
        if self._batches == 1 and not self._has_header:
            self._found("checkpoint_malformed", "it does not begin with a snapshot header", batch.position, 0)
        self._expected = header.next_offset
        self._after_damage = False

    def _on_control(self, batch: LocatedBatch) -> None:
        try:
            for raw in batch_records(batch.buffer, batch.header, batch.at):
                self._on_control_record(control_or_newer(raw.key or b"", raw.value or b""), batch.position, raw.offset)
        except (CorruptBatchError, RecordError) as error:
            facts = UnreadableControlRecord(fault=str(error))
            self._found(*facts.worded(), batch.position, batch.header.base_offset)

    def _on_control_record(self, record: ControlRecord | UnknownRecordError, position: int, offset: int) -> None:
        if isinstance(record, UnknownRecordError):
            self._add_newer(newer_control(record), position, offset)
            self._has_header |= record.api_key == SnapshotHeaderRecord.CONTROL_TYPE
            self._has_footer |= record.api_key == SnapshotFooterRecord.CONTROL_TYPE
        elif isinstance(record, SnapshotHeaderRecord):
            self._header, self._has_header = record, True
        elif isinstance(record, SnapshotFooterRecord):
            self._has_footer = True
        elif isinstance(record, VotersRecord):
            self._voters = record
        elif isinstance(record, KRaftVersionRecord):
            self._kraft_version = record.kraft_version
            for part in newer_levels({KRAFT_VERSION: record.kraft_version}):
                self._add_newer(part, position, offset)

    def _add_newer(self, part: NewerPart, position: int, offset: int) -> None:
        self._sink.add_newer(part, file=self._path, position=position, offset=offset)

    def _on_data(self, batch: LocatedBatch) -> None:
        header = batch.header
        self._records += header.count
        if not self._depth.decodes:
            return
        place = Place(
            base_offset=header.base_offset,
            file=self._path,
            position=batch.position,
            epoch=header.partition_leader_epoch,
            offsets_are_own=True,
        )
        try:
            values = batch_values(batch.buffer, header, batch.at)
            fault = inner_fault(batch, values)
        except CorruptBatchError as error:
            fault = error.what
        if fault is not None:
            self._found("malformed_record", fault, batch.position, header.base_offset)
            return
        judge = self._rules if self._depth is Depth.REPLAY else self._forms
        judge.on_values(values, header.base_offset, place)
