"""The checkpoints beside a log, each held against the log where the pass over it comes to the checkpoint's end.

Decides: what a checkpoint must say of the log before its end. Must not know: how one is read by itself
(`verify.checkpoint`), and other replicas.

A checkpoint's header has the time of the last batch before its end, in Kafka's (4.3: MetadataBatchLoader) and in ours.
So a renamed one is told even where the metadata did not change in between; a header time of 0 says nothing. But a
leader of Kafka notes the time at which it appended, which is some while after the one that it gave the batch, and may
be that of a later batch: of the node that led then, a later time says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from metadata_log.files.port import Files
from metadata_log.ids import id_text
from metadata_log.image import MetadataImage
from metadata_log.image.differences import described, differences
from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.storage.checkpoint import checkpoint_name, parse_checkpoint_name
from metadata_log.storage.segment import LocatedBatch, segment_bases, segment_file
from metadata_log.tools.findings.advice import OLD_LEFT_CONFIGS, OTHER_TIME, WRONG_FIRST
from metadata_log.tools.findings.facts import (
    ConfigsOfNoTopic,
    EndsWithinBatch,
    EpochDiffers,
    Facts,
    Misnamed,
    MisnamedOrNot,
)
from metadata_log.tools.findings.finding import Severity
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.read.fast_scan import Marks
from metadata_log.tools.read.log_reader import LogReader
from metadata_log.tools.rules.orphaned_configs import LeftConfigs, left_text, taken_up, without
from metadata_log.tools.rules.records import RecordRules
from metadata_log.tools.times import time_text
from metadata_log.tools.verify.chain import ChainCheck
from metadata_log.tools.verify.checkpoint import NONE_READ, CheckpointReport, ReadCheckpoint, checkpoint_report
from metadata_log.tools.verify.checkpoint_epochs import denied_epochs
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.first_checkpoint import Doubt, SecondOpinion
from metadata_log.tools.verify.log_extent import epochs_beside

_NO_STOP: Final = 1 << 62
FALSE_EPOCHS: Final = ("epoch_went_back", "epoch_without_leader")
"""Findings after which the log's epochs say nothing of a checkpoint's."""
APPEND_LAG_MS: Final = 5_000
"""Up to so much later than a batch's time is what a leader notes when it appended the batch: 97 ms were seen."""


class PassedCheckpoints:
    """Reads and judges them. Tell it of all batches, before the next is replayed, and `finish` at the end.

    Args:
        names: of all files in the directory.
        read: those that were read before, by their paths.
        probes: offsets at which `probed` is to have the metadata, and `times` the time of the batch before.
    """

    def __init__(
        self,
        files: Files,
        directory: str,
        names: list[str],
        chain: ChainCheck,
        rules: RecordRules,
        sink: FindingSink,
        *,
        depth: Depth,
        probes: frozenset[int],
        read: Mapping[str, ReadCheckpoint] = NONE_READ,
    ) -> None:
        self._files = files
        self._directory = directory
        self._chain = chain
        self._rules = rules
        self._sink = sink
        self._depth = depth
        self._probes = probes
        self._read = read
        self._ends: dict[int, list[str]] = {}
        """Those that the pass is yet to come to, by their end offset."""
        for name in names:
            end = parse_checkpoint_name(name)
            if end is not None:
                self._ends.setdefault(int(end.offset), []).append(name)
        self._epochs = epochs_beside(files, directory, names)
        self._segments = [f"{directory}/{segment_file(int(base))}" for base in segment_bases(names)]
        self._next_stop = -1
        self._first_time = self._last_time = -1
        self._last_end = -1
        self.reports: dict[str, CheckpointReport] = {}
        self._began_with: str | None = None
        """The checkpoint that replay goes on from; None: it goes back to offset 0."""
        self._is_borne_out = False
        """Whether a later one is what the log makes of it."""
        self._doubts: list[Doubt] = []
        """Those that are not what the log makes of it."""
        self.probed: dict[int, MetadataImage] = {}
        self.times: dict[int, int] = {}
        """By offset, the time (ms) of the batch that ends there."""
        self._other_epoch: dict[str, str] = {}
        """Those that end within the log in another epoch than theirs, with what was said of it."""
        self._unmet: list[str] = []
        """Those within a batch, of a later epoch than its own: received, if the log has no such epoch further on."""
        self._left: dict[str, list[LeftConfigs]] = {}
        """By name of the checkpoint, the configs in it that Kafka left behind."""

    def marks(self, marks: Marks) -> Marks:
        """Those, and where the pass has to stop for a checkpoint or a probe."""
        stops = {*self._ends, *self._probes}
        return Marks(positions=marks.positions, offsets=sorted({*marks.offsets, *stops})) if stops else marks

    def on_batches(self, end_offset: int, time_ms: int) -> None:
        """A batch, or a run of them, the last of this time, stood in order and was taken."""
        if self._first_time < 0:
            self._first_time = time_ms
        self._last_end, self._last_time = end_offset, time_ms

    def come_to(self, until: int) -> None:
        """Compare those that end before the batch at `until`, or where it begins, with what was replayed."""
        if until < self._next_stop:
            return
        if self._last_end == until:
            self.times[until] = self._last_time
        for end in sorted(offset for offset in self._ends if offset <= until):
            for name in self._ends.pop(end):
                self._meet(name, end, until)
        if until in self._probes and not self._rules.in_transaction:
            image = self._rules.image
            if image is not None:
                self.probed[until] = image
        self._next_stop = min((stop for stop in {*self._ends, *self._probes} if stop > until), default=_NO_STOP)

    def _meet(self, name: str, end: int, until: int) -> None:
        report = self.read(name)
        if end not in self.times and end != until:
            if end > self._last_end:  # the batch that ended there is missing, or damaged
                return
            if report.end is not None and report.end.epoch > self._chain.epoch:
                self._unmet.append(name)
                return
        misnamed = self._misnamed(report)
        is_within = (self._chain.start or 0) < end < self._chain.last_seen
        if misnamed is not None:
            self._set_aside(name, misnamed)
        elif end in (until, self._chain.end):
            self._compare(report)
        elif is_within and report.is_whole:
            facts = EndsWithinBatch(end=end)
            self._add(facts, report)
            self._set_aside(name, facts.meaning())

    @property
    def misnamed(self) -> dict[str, str]:
        """By name of the checkpoint, the reason that it does not end there. No state begins with one."""
        return {name: one.misnamed for name, one in self.reports.items() if one.misnamed is not None}

    def finish(self) -> None:
        """The log was read to its end: read the rest, and judge those that do not end within it."""
        for pending in sorted(self._ends):
            for name in self._ends[pending]:
                self.read(name)
        for name, report in list(self.reports.items()):
            misnamed = self._misnamed(report) if self._is_due(name, report) else None
            if misnamed is not None:
                self._set_aside(name, misnamed)
        if not self._sink.has(*FALSE_EPOCHS):
            self._judge_epochs()
        if self._doubts and self._began_with is not None:
            self._settle_doubts(self._began_with)
        self.say_left()

    def _is_due(self, name: str, report: CheckpointReport) -> bool:
        """Return True if it is judged only now that all of the log is known."""
        end, start = report.end, self._chain.start or 0
        if end is None:
            return False
        return end.epoch <= self._chain.epoch if name in self._unmet else not start < end.offset <= self._chain.end

    def _judge_epochs(self) -> None:
        """Set those aside whose epoch cannot be that of their end."""
        whole = {one.end: name for name, one in self.reports.items() if one.is_whole and one.end and one.end.offset}
        for end, facts in denied_epochs(whole, self._chain, self._epochs):
            name = whole[end]
            if name not in self._other_epoch:
                self._add(facts, self.reports[name])
                self._other_epoch[name] = facts.meaning()
            self._set_aside(name, self._other_epoch[name])

    def _settle_doubts(self, began_with: str) -> None:
        """Of those that are not what the log makes of the first; that is wrong where it makes them of each other."""
        opinion, doubts = SecondOpinion(self._files, self._segments), self._doubts
        images = [one.image for one in doubts]
        if not opinion.bears_out(images):
            caveat = "" if self._is_borne_out else _caveat(began_with)
            for one in doubts:
                self._add("checkpoint_disagrees", one.report, one.text + caveat, one.topic_id)
            return
        first, names = doubts[0], ", ".join(one.report.path.rsplit("/", 1)[-1] for one in doubts)
        text = f"the log makes {names} of each other, and not of this one: by {names.partition(',')[0]}: {first.text}"
        self._add("checkpoint_disagrees", self.reports[began_with], text, first.topic_id, advice=WRONG_FIRST)
        self._go_on_from(images, opinion)

    def _go_on_from(self, images: Sequence[MetadataImage], opinion: SecondOpinion) -> None:
        """What was replayed from the wrong one holds nowhere."""
        for offset in list(self.probed):
            base = max((one for one in images if one.offset_and_epoch.offset <= offset), key=_end_of, default=None)
            image = None if base is None else opinion.at(base, offset)
            del self.probed[offset]
            if image is not None:
                self.probed[offset] = image
        last = opinion.at(images[-1], int(self._chain.end))
        if last is None or self._rules.in_transaction:
            self._rules.distrust()
        else:
            self._rules.start(last, where=self._directory)

    def say_left(self) -> None:
        """Say which of those that were read hold configs of removed topics. A node loads the newest as it starts."""
        whole = {name: one.end for name, one in self.reports.items() if one.is_whole and one.end is not None}
        newest = max(whole.values(), key=lambda end: (end.offset, end.epoch), default=None)
        image = self._rules.image
        for name, end in whole.items():
            left = self._left.get(name)
            if left:
                is_newest = end == newest
                text = left_text(left, image.topics.by_name if is_newest and image is not None else ())
                severity, advice = (None, None) if is_newest else (Severity.NOTE, OLD_LEFT_CONFIGS)
                self._sink.add(
                    "configs_left_behind",
                    text,
                    severity=severity,
                    advice=advice,
                    file=self.reports[name].path,
                    position=left[0].position,
                    offset=left[0].offset,
                    epoch=int(end.epoch),
                )

    def _set_aside(self, name: str, why: str) -> None:
        """What a renamed one holds is not of the offset in its name: nothing is judged by it."""
        self.reports[name] = msgspec.structs.replace(self.reports[name], is_whole=False, image=None, misnamed=why)

    def read(self, name: str) -> CheckpointReport:
        """Check one by itself."""
        path = f"{self._directory}/{name}"
        report = self.reports[name] = checkpoint_report(self._files, path, self._sink, self._depth, self._read)
        self._left[name] = list(report.left)
        return report

    def _compare(self, report: CheckpointReport) -> None:
        """A checkpoint at the very end of what was replayed: it must say the same, or is where replay begins."""
        chain, end = self._chain, report.end
        if end is None or not report.is_whole or end.offset == 0:
            return
        if chain.spans and chain.end == end.offset and chain.epoch != end.epoch:
            facts = EpochDiffers(named=int(end.epoch), in_log=chain.epoch)
            self._add(facts, report)
            self._other_epoch[report.path.rsplit("/", 1)[-1]] = facts.meaning()
            return
        chain.begin_voters(report.voters)
        if report.image is None:
            return
        if not self._rules.is_trusted:
            self._rules.start(report.image, where=report.path)
            self._rules.gone.on_left(report.left)
            self._began_with = report.path.rsplit("/", 1)[-1]
            return
        image = self._rules.image
        if image is None or self._rules.in_transaction:
            return
        self._judge_left(report)
        more = taken_up(report.image, image, self._rules.gone)
        said = without(report.image, more)
        if not image.says_the_same_as(said):
            text, topic_id = described(differences(said, image, ("in the checkpoint", "by the log")))
            if self._began_with is None:
                self._add("checkpoint_disagrees", report, text, topic_id)
            else:
                self._doubts.append(Doubt(report=report, image=said, text=text, topic_id=topic_id))
            return
        self._is_borne_out = True
        if more:
            name = report.path.rsplit("/", 1)[-1]
            self.reports[name] = msgspec.structs.replace(report, image=said)
            self._left[name] += (LeftConfigs(topic=topic, values=values) for topic, values in more.items())

    def _judge_left(self, report: CheckpointReport) -> None:
        """Kafka leaves behind only what a topic had when it was removed."""
        name = report.path.rsplit("/", 1)[-1]
        for one in report.left:
            if not self._rules.gone.explains(one.topic, one.values):
                self._left[name].remove(one)
                self._sink.add(
                    ConfigsOfNoTopic(topic=one.topic, configs=tuple(one.values), is_unexplained=True),
                    file=report.path,
                    position=one.position,
                    offset=one.offset,
                )

    def _add(
        self,
        kind: Facts | str,
        report: CheckpointReport,
        meaning: str = "",
        topic_id: bytes | None = None,
        *,
        severity: Severity | None = None,
        advice: str | None = None,
    ) -> None:
        end = report.end
        self._sink.add(
            kind,
            meaning,
            severity=severity,
            file=report.path,
            offset=None if end is None else int(end.offset),
            epoch=None if end is None else int(end.epoch),
            topic_id=None if topic_id is None else id_text(topic_id),
            advice=advice,
        )

    def _misnamed(self, report: CheckpointReport) -> str | None:
        """Return what its name says another end by than its header's time, or no possible one; that is said here."""
        end, said = report.end, report.last_contained_ms or 0
        if end is None or end.offset == 0 or not report.is_whole:
            return None
        chain, named, start = self._chain, int(end.offset), self._chain.start or 0
        there = self.times.get(named)
        if there is not None:
            if not 0 < said != there or (said > there and self._may_have_led(int(end.epoch))):
                return None
            fact, is_proof = f"the batch before that offset is of {time_text(there)}", said < self._first_time
        elif start < named < chain.last_seen:
            fact, is_proof = "no batch of the log ends there", True
        elif named > chain.end and chain.spans:
            fact = f"the log ends at offset {chain.end}, at {time_text(self._last_time)}"
            is_proof = end.epoch < chain.epoch
            fact += f", in epoch {chain.epoch} already" if is_proof else ""
            if not is_proof and said >= self._last_time:
                return None
        elif named <= start and said > self._first_time + APPEND_LAG_MS >= APPEND_LAG_MS:
            fact, is_proof = f"the log starts at offset {start}, at {time_text(self._first_time)} already", False
        else:
            return None
        return self._say_misnamed(report, end, fact, is_proof=is_proof, is_within=there is not None)

    def _may_have_led(self, epoch: int) -> bool:
        """Whether the node is that epoch's leader, or nothing says who was. What a node fetches is at its log's start,
        so that it has made all later ones itself."""
        leaders = {election.leader_id for election in self._chain.elections if election.epoch == epoch}
        return not leaders or self._sink.node_id is None or self._sink.node_id in leaders

    def _say_misnamed(
        self, report: CheckpointReport, end: OffsetAndEpoch, fact: str, *, is_proof: bool, is_within: bool
    ) -> str | None:
        """Name it by what the log has of its time; without that, and without proof, only what is within is said."""
        said = report.last_contained_ms or 0
        ends = list(self._ends_of(said, int(end.epoch))) if said > 0 else []
        if end.offset in ends or not (ends or is_proof or is_within):
            return None
        of = Misnamed if ends or is_proof else MisnamedOrNot
        names = tuple(checkpoint_name(OffsetAndEpoch(offset=Offset(one), epoch=end.epoch)) for one in ends)
        facts = of(end=int(end.offset), epoch=int(end.epoch), time_ms=said, there=fact, by_time=names)
        if of is MisnamedOrNot:
            self._add(facts, report, severity=Severity.WARNING, advice=OTHER_TIME)
            return None
        self._add(facts, report)
        return facts.meaning()

    def _ends_of(self, time_ms: int, epoch: int) -> Iterator[int]:
        """The offsets at which batches of that time and epoch end in the log."""
        # A segment that cannot be read is reported elsewhere.
        for event in LogReader(self._files, self._segments).events(runs=False):
            if isinstance(event, LocatedBatch):
                header = event.header
                if (header.max_timestamp, header.partition_leader_epoch) == (time_ms, epoch):
                    yield int(header.next_offset)


def _end_of(image: MetadataImage) -> int:
    return int(image.offset_and_epoch.offset)


def _caveat(began_with: str) -> str:
    return (
        f"; but what the log says begins with {began_with}, which may be the wrong one of the two: compare both with "
        "other nodes first (kraft log hash --at their offsets)"
    )
