"""Checks that a log's batches follow one another: offsets, epochs, the LeaderChange that begins each epoch.

Decides: which batch is out of order, and what a control batch must hold. Must not know: metadata records, indexes,
other replicas. Each fault is one finding: after a gap, a repeated batch or a wrong epoch, the check goes on from there.
"""

from __future__ import annotations

from typing import Final

from metadata_log.counts import counted
from metadata_log.errors import CorruptBatchError, RecordError, UnknownRecordError
from metadata_log.format.batch import batch_records
from metadata_log.ids import ReplicaKey
from metadata_log.image.features import KRAFT_VERSION
from metadata_log.records import (
    ControlRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
    control_or_newer,
)
from metadata_log.records.newer import NewerPart, newer_control, newer_levels
from metadata_log.storage.epoch_starts import unled_epoch
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.findings.epoch_facts import EpochWentBack
from metadata_log.tools.findings.facts import (
    CompressedBatch,
    CorruptBatch,
    Facts,
    ForeignHeader,
    TornTail,
    UnreadableControlRecord,
)
from metadata_log.tools.findings.sink import FindingSink, Taken
from metadata_log.tools.read.commit_proof import ProvedEpochs
from metadata_log.tools.read.contents import EpochSpan, voter_keys
from metadata_log.tools.read.control_facts import Election, QuorumChange, Voting
from metadata_log.tools.read.fast_scan import NoOpRun, Seen
from metadata_log.tools.read.gaps import Gap
from metadata_log.tools.read.scan import Damage, Fault
from metadata_log.tools.verify.batch_framing import foreign_fields, record_fault
from metadata_log.tools.verify.displaced import Displaced, gap_or_offset
from metadata_log.tools.verify.voter_steps import (
    election_of,
    electorate_fault,
    voter_addresses_fault,
    voter_ids_fault,
    voters_step_fault,
    votes_faults,
)
from metadata_log.tools.words import missing_records

_NO_SPAN: Final = (EpochSpan(epoch=-1, start_offset=0, end_offset=0),)


class ChainCheck:
    """The state of one pass over a log's batches, fed with the events of `fast_scan`, segment by segment."""

    def __init__(self, sink: FindingSink) -> None:
        self._sink = sink
        self._file = ""
        self._is_last = False
        self.start: int | None = None
        self.gaps: list[Gap] = []
        self.expected = 0
        self.epoch = -1
        self.spans: list[EpochSpan] = []
        self.starts: dict[int, tuple[str, int]] = {}
        """File and position of each epoch's first batch, by its offset."""
        self.elections: list[Election] = []
        self.voters: Voting | None = None
        self.has_newer_voters = False
        """True if the latest voters are unknown, because a record of a later release holds them."""
        self._voters_before: tuple[ReplicaKey, ...] | None = None
        """The latest set, or None if a missing part of the log may have changed it since."""
        self.known_voters: set[ReplicaKey] = set()
        """The replicas that any voter set in the log names."""
        self.kraft_version: int | None = None
        self.quorum_changes: list[QuorumChange] = []
        self._proved = ProvedEpochs()
        self.epoch_began: dict[int, int] = {}
        """By epoch, one past its LeaderChange batch."""
        self.batches = 0
        self._accepted: tuple[int, ...] = ()
        self._epoch_before = -1
        self._is_led_unknown = False
        """True if the batch begins with a LeaderChange of a later release, so that its leader is unknown."""
        self._after_damage = self._is_displaced = self._opened_gap = False
        self._displaced: Displaced | None = None
        self.false_starts: list[int] = []
        """Offsets of a LeaderChange with a wrong epoch: the batch behind it is of an epoch between that one and the
        epoch before."""

    @property
    def end(self) -> int:
        """One past the last record."""
        return self.expected

    @property
    def committed_before(self) -> int:
        """All records before this offset are committed: one past the LeaderChange of the last proved epoch.

        A leader writes metadata only once its LeaderChange has committed, and with it the log before (`commit_proof`).
        """
        last = self._proved.last
        start = next((span.start_offset for span in self.spans if span.epoch == last), 0)  # or before, behind damage
        start = min(start, max((span.end_offset for span in self.spans if span.epoch < last), default=start))
        return self.epoch_began.get(last, start)

    @property
    def last_seen(self) -> int:
        """One past the last record that was read; `end` may lie beyond it, behind a gap or an empty segment."""
        return self.spans[-1].end_offset if self.spans else self.expected

    def begin_voters(self, voters: tuple[ReplicaKey, ...] | None) -> None:
        """Take the voters of a checkpoint that ends at `end`; they count only if the log itself has named none."""
        self._voters_before = voters if self.voters is None else self._voters_before

    def begin_file(self, path: str, base: int, first: int | None, *, is_last: bool) -> bool:
        """Begin a segment; return True if it continues from the one before.

        Args:
            base: the offset in the file's name.
            first: the base offset of its first batch; None if it has too few bytes.
        """
        self._file, self._is_last = path, is_last
        if self.start is None:
            self.start = self.expected = base
            return True
        if base == self.expected:
            self._after_damage = False
            return True
        if first == self.expected:
            meaning = f"its name says offset {base}, but it goes on from offset {first}"
            self._sink.add("segment_misnamed", meaning, file=path, position=0, offset=first)
            return True
        if self._after_damage:
            self.expected = max(base, self.expected)
            return False
        if base > self.expected:
            meaning = f"the segment before it ends at offset {self.expected}: {missing_records(base - self.expected)}"
            self._sink.add("missing_segment", meaning, file=path, position=0, offset=self.expected)
            self.gaps.append(Gap(start=self.expected, end=base, file=path))
            self.expected, self._after_damage = base, True  # an epoch may have begun within the gap
        elif first is None:  # if it has batches, their own check reports the repeated offset
            meaning = (
                f"it is empty, and its name says offset {base}, within the log, which goes on to {self.expected}: a "
                "Kafka that starts with it takes the log to end there"
            )
            self._sink.add("offset_repeated", meaning, file=path, position=0, offset=base)
        return False

    def on_unread(self, base: int) -> None:
        """Note that the segment of this base cannot be read, or not to its end: the next offset is unknown."""
        self._voters_before = None
        if self.start is None:
            self.start = self.expected = base
        self._after_damage = True

    def on_seen(self, seen: Seen) -> bool:
        """Check the next event; return True if all up to its end is whole and in order. A torn tail loses no batch."""
        if isinstance(seen, NoOpRun):
            return self._on_run(seen)
        if isinstance(seen, Damage):
            return self._on_damage(seen)
        return self._on_batch(seen)

    def _on_run(self, run: NoOpRun) -> bool:
        self._heed_displaced(run.base_offset)
        self._is_displaced = self._opened_gap = False
        in_order = run.base_offset == self.expected
        self._extend(run.epoch, run.base_offset, run.end_offset)
        self.expected = run.end_offset
        self.batches += run.count
        self._accepted = ()
        if in_order:
            self._proved.on_metadata(run.epoch, run.count)
        return in_order

    def on_metadata(self, epoch: int) -> None:
        """Note that a batch of this epoch, in order, holds metadata that its leader may have written there."""
        self._proved.on_metadata(epoch)

    def _on_damage(self, damage: Damage) -> bool:
        is_torn = damage.fault is Fault.TORN and self._is_last
        what: Facts = CorruptBatch(size=damage.size, fault=damage.what, is_destroyed=damage.is_destroyed)
        if is_torn:
            what = TornTail(size=damage.size)
        elif damage.fault is Fault.UNSUPPORTED:
            what = CompressedBatch(size=damage.size)
        self._sink.add(what, file=self._file, position=damage.position, offset=self.expected, epoch=self.epoch)
        self._after_damage, self._displaced = True, None
        return is_torn

    def _on_batch(self, batch: LocatedBatch) -> bool:
        header = batch.header
        foreign = foreign_fields(header)
        if foreign is not None:
            self._found(*ForeignHeader(fields=foreign).worded(), batch, int(header.base_offset))
        in_order = self._check_offset(batch)
        if not in_order:
            self._voters_before = None
        self._is_led_unknown = False
        leader = self._on_control(batch, in_order=in_order) if header.is_control else None
        in_order = self._check_epoch(batch, leader) and in_order
        self._after_damage = False
        self.batches += 1
        return in_order

    def _check_offset(self, batch: LocatedBatch) -> bool:
        base, following = int(batch.header.base_offset), int(batch.header.next_offset)
        expected = self.expected
        self._heed_displaced(base)
        if base == expected or base in self._accepted or (self._after_damage and base > expected):
            in_order = base == expected and not self._after_damage
            if not self._after_damage and (base > expected or (base < expected and self._opened_gap)):
                start = expected if base > expected else self.gaps.pop().start  # the displaced batch opened that gap
                self.gaps.append(Gap(start=start, end=base, file=self._file))
            self.expected = following
            self._accepted, self._is_displaced, self._opened_gap = (), False, False
            return in_order
        self._is_displaced = True
        if base > expected:
            said = self._found("offset_gap", gap_or_offset(expected, batch.header), batch, expected)
            self.gaps.append(Gap(start=expected, end=base, file=self._file))
            self._after_damage = self._opened_gap = True
            # If only this batch's own base offset is wrong, the next batch continues from the offset that was due.
            self._accepted = (expected + batch.header.count,)
            self.expected = following
        else:
            meaning = f"offset {expected} is due, and {base} is there again"
            said = self._found("offset_repeated", meaning, batch, base)
            self._accepted, self._opened_gap = (following, expected + batch.header.count), False
        self._displaced = Displaced(header=batch.header, due=expected, said=said)
        return False

    def _heed_displaced(self, base: int) -> None:
        if self._displaced is not None:
            self._displaced.on_next(base)
            self._displaced = None

    def _found(self, kind: str, meaning: str, batch: LocatedBatch, offset: int) -> Taken:
        epoch = batch.header.partition_leader_epoch
        return self._sink.add(kind, meaning, file=self._file, position=batch.position, offset=offset, epoch=epoch)

    def _check_epoch(self, batch: LocatedBatch, leader: Election | None) -> bool:
        """Check that epochs never fall, and that each begins with its LeaderChange; return True if so."""
        epoch, offset = int(batch.header.partition_leader_epoch), int(batch.header.base_offset)
        if epoch == self.epoch:
            self._extend(epoch, offset, batch.header.next_offset)
            return True
        if epoch < self.epoch:
            if epoch == self._epoch_before:  # only the batch before had a wrong epoch, which is reported
                self.epoch, self._epoch_before = epoch, -1
                return True
            if self.epoch_began.get(self.epoch) == offset and epoch > (self.spans[-2:-1] or _NO_SPAN)[0].epoch:
                self.false_starts.append(self.spans[-1].start_offset)
            self._sink.add(
                EpochWentBack(epoch=epoch, after=self.epoch),
                group=self.epoch,
                file=self._file,
                position=batch.position,
                offset=offset,
                epoch=epoch,
            )
            return False
        unled = unled_epoch(batch, self.epoch, is_led=leader is not None or self._is_led_unknown)
        if unled is not None and not self._after_damage:
            self._found("epoch_without_leader", unled, batch, offset)
            self._epoch_before, self.epoch = self.epoch, epoch
            return False
        self._epoch_before, self.epoch = -1, epoch
        self.starts[offset] = (self._file, batch.position)
        if leader is not None and not self._is_displaced:
            self.epoch_began[epoch] = int(batch.header.next_offset)
        self._extend(epoch, offset, batch.header.next_offset)
        return True

    def _extend(self, epoch: int, start: int, end: int) -> None:
        if self._is_displaced:
            return  # its offset may be wrong, so it proves no bound of an epoch
        if self.spans and self.spans[-1].epoch == epoch:
            start = min(self.spans.pop().start_offset, start)
        self.spans.append(EpochSpan(epoch=epoch, start_offset=start, end_offset=end))

    def _on_control(self, batch: LocatedBatch, *, in_order: bool) -> Election | None:
        """Note the records of a control batch; return the election if it begins with a LeaderChange, or None."""
        first: Election | None = None
        offset = int(batch.header.base_offset)
        try:
            raws = batch_records(batch.buffer, batch.header, batch.at)
            fault = record_fault(batch.header, raws)
            if fault is not None:
                self._found("malformed_record", fault, batch, offset)
            for index, raw in enumerate(raws):
                record = control_or_newer(raw.key or b"", raw.value or b"")
                if isinstance(record, UnknownRecordError):
                    self._on_newer(record, batch, index)
                    continue
                misplaced = self._misplaced(record, batch, index) if in_order else None
                if misplaced is not None:
                    self._found("foreign_batch", f"it holds {misplaced}", batch, offset + index)
                if isinstance(record, LeaderChangeMessage):
                    election = self._election(record, batch, offset + index)
                    first = election if index == 0 else first
                    self.elections += [election] if misplaced is None else []  # misplaced, it proves no leader
                elif isinstance(record, VotersRecord):
                    self._on_voters(record, batch, offset + index, is_repairs=first is not None and first.is_repairs)
                elif isinstance(record, KRaftVersionRecord):
                    self._on_kraft_version(record.kraft_version, batch, offset + index)
        except (CorruptBatchError, RecordError) as error:
            self._found(*UnreadableControlRecord(fault=str(error)).worded(), batch, offset)
        fault = None if first is None or self.voters is None else electorate_fault(first, self.voters)
        if first is not None and fault is not None:
            self._found("leader_not_voter", fault, batch, first.offset)
        return first

    def _on_newer(self, error: UnknownRecordError, batch: LocatedBatch, index: int) -> None:
        """Note a control record of a later release: the leader or voters that it may name are unknown."""
        self._add_newer(newer_control(error), batch, int(batch.header.base_offset) + index)
        if error.api_key == VotersRecord.CONTROL_TYPE:
            self.voters, self._voters_before, self.has_newer_voters = None, None, True
        if error.api_key == LeaderChangeMessage.CONTROL_TYPE and index == 0:
            self._is_led_unknown = True

    def _add_newer(self, part: NewerPart, batch: LocatedBatch, offset: int) -> None:
        epoch = int(batch.header.partition_leader_epoch)
        self._sink.add_newer(part, file=self._file, position=batch.position, offset=offset, epoch=epoch)

    def _misplaced(self, record: ControlRecord, batch: LocatedBatch, index: int) -> str | None:
        """Return a phrase for a record that no leader writes there, or None. `two_leaders` is another finding."""
        if isinstance(record, SnapshotHeaderRecord | SnapshotFooterRecord):
            return f"a {type(record).__name__}, which only checkpoints have"
        if not isinstance(record, LeaderChangeMessage):
            return None
        epoch = int(batch.header.partition_leader_epoch)
        if index:
            return f"a LeaderChange behind {counted(index, 'other record')}, which each epoch begins with"
        if not self.spans or self.spans[-1].epoch != epoch or self._epoch_before >= 0 or self._is_led_late(batch):
            return None
        if any(known.epoch == epoch and known.leader_id != record.leader_id for known in self.elections):
            return None
        began = self.spans[-1].start_offset
        return f"a LeaderChange of epoch {epoch}, which has begun at offset {began}: a leader writes it first, and once"

    def _is_led_late(self, batch: LocatedBatch) -> bool:
        """Return True for the LeaderChange of the epoch that the log begins with, as `unled_epoch` permits."""
        epoch = batch.header.partition_leader_epoch
        return self.start == 0 and not self.elections and [span.epoch for span in self.spans] == [epoch]

    def _on_kraft_version(self, level: int, batch: LocatedBatch, offset: int) -> None:
        newer = newer_levels({KRAFT_VERSION: level})
        if newer:
            self._add_newer(newer[0], batch, offset)
        elif level < (self.kraft_version or 0):
            what = f"KRaftVersionRecord at offset {offset} takes kraft.version from {self.kraft_version} to {level}"
            self._found("impossible_record", f"{what}: it never falls (KIP-853)", batch, offset)
        self.kraft_version = level
        if not newer:
            begins_log = int(batch.header.base_offset) == 0
            self.quorum_changes.append(QuorumChange(offset=offset, begins_log=begins_log, kraft_version=level))

    def _on_voters(self, record: VotersRecord, batch: LocatedBatch, offset: int, *, is_repairs: bool) -> None:
        """Note a voter set, and check it against the one before. That of a repair may change several voters at once."""
        voters = voter_keys(record)
        no_set = voter_ids_fault(voters)
        wrong = no_set or voter_addresses_fault(record)
        if wrong is not None:
            self._found("impossible_record", f"VotersRecord at offset {offset} {wrong}", batch, offset)
        if no_set is None:
            if self.kraft_version == 0:
                what = f"VotersRecord at offset {offset}, but kraft.version is 0: its voters are static (KIP-853)"
                self._found("impossible_record", what, batch, offset)
            fault = voters_step_fault(self._voters_before, voters) if self._voters_before and not is_repairs else None
            if fault is not None:
                self._found("voters_changed_at_once", f"VotersRecord at offset {offset} {fault}", batch, offset)
            self.voters, self.has_newer_voters = Voting(offset=offset, voters=voters), False
            self._voters_before = voters
            self.known_voters.update(voters)
            begins_log = int(batch.header.base_offset) == 0
            self.quorum_changes.append(QuorumChange(offset=offset, begins_log=begins_log, voters=record))

    def _election(self, record: LeaderChangeMessage, batch: LocatedBatch, offset: int) -> Election:
        epoch = int(batch.header.partition_leader_epoch)
        election = election_of(record, batch, self._file, offset=offset, is_late=self._is_led_late(batch))
        rival = next((known for known in self.elections if known.epoch == epoch), None)
        if rival is not None and rival.leader_id != election.leader_id:
            here = f"epoch {epoch} has node {election.leader_id} as its leader here"
            self._found("two_leaders", f"{here}, and node {rival.leader_id} at offset {rival.offset}", batch, offset)
        for kind, meaning in votes_faults(election, was_removed=self._was_removed(election.leader_id)):
            self._found(kind, meaning, batch, election.offset)
        return election

    def _was_removed(self, node_id: int) -> bool:
        latest = () if self.voters is None else self.voters.voters
        was, still = (any(voter.node_id == node_id for voter in each) for each in (self.known_voters, latest))
        return was and bool(latest) and not still
