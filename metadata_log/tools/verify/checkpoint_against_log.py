"""Compares each checkpoint of a directory with the image and the epochs that its log has at the checkpoint's end.

Decides: whether a checkpoint agrees with the log, and whether its name is wrong. Must not know: how a checkpoint is
read (`verify.checkpoint`), and other replicas.

A checkpoint's header has the time of the last batch before its end (Kafka 4.3: MetadataBatchLoader). This shows that a
checkpoint was renamed even if the metadata did not change in between. A header time of 0 proves nothing. Kafka's leader
notes the time of its append instead. That is later than the batch's time, and may even be a later batch's. So in a
checkpoint of the node that led then, a time that is too late proves nothing.
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
"""Kinds of findings after which the log's epochs prove nothing about a checkpoint's epoch."""
APPEND_LAG_MS: Final = 5_000
"""The longest time by which the append time that a leader notes is later than the batch's: 97 ms were seen."""


class PassedCheckpoints:
    """The checkpoints of one directory, compared while the pass over the log reaches their ends.

    The caller calls `come_to` before each batch is replayed, `on_batches` after it, and `finish` at the end.

    Args:
        names: the names of all files in the directory.
        read: checkpoints that were verified before, by path.
        probes: further offsets at which `probed` keeps the image, and `times` the time of the batch before.
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
        """The names of checkpoints whose end the pass has not reached, by end offset."""
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
        """The checkpoint that replay began with; None if it began at offset 0."""
        self._is_borne_out = False
        """True if a later checkpoint equals the image that replay has at its end."""
        self._doubts: list[Doubt] = []
        """The later checkpoints that differ from that image."""
        self.probed: dict[int, MetadataImage] = {}
        self.times: dict[int, int] = {}
        """By offset, the time (ms) of the batch that ends there."""
        self._other_epoch: dict[str, str] = {}
        """By name, the finding's text for a checkpoint of another epoch than the log has at its end."""
        self._unmet: list[str] = []
        """Checkpoints that end within a batch of an earlier epoch. If the log never reaches their epoch, they were
        received from a leader, and the log is not yet replaced."""
        self._left: dict[str, list[LeftConfigs]] = {}
        """By name, the configs of removed topics in the checkpoint."""

    def marks(self, marks: Marks) -> Marks:
        """Return the marks with the offsets added at which a checkpoint or a probe needs the image."""
        stops = {*self._ends, *self._probes}
        return Marks(positions=marks.positions, offsets=sorted({*marks.offsets, *stops})) if stops else marks

    def on_batches(self, end_offset: int, time_ms: int) -> None:
        """Note that batches up to `end_offset` were in order and are replayed; the last has the time `time_ms`."""
        if self._first_time < 0:
            self._first_time = time_ms
        self._last_end, self._last_time = end_offset, time_ms

    def come_to(self, until: int) -> None:
        """Compare the checkpoints that end at or before offset `until`, where the next batch begins, with the image."""
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
            if end > self._last_end:  # the batch that ended there is missing or damaged
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
        """By name of each misnamed checkpoint, the reason. No replay begins with such a checkpoint."""
        return {name: one.misnamed for name, one in self.reports.items() if one.misnamed is not None}

    def finish(self) -> None:
        """Read the remaining checkpoints, and judge those that need all of the log."""
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
        """Return True if the checkpoint's name can be judged only after the log was read to its end."""
        end, start = report.end, self._chain.start or 0
        if end is None:
            return False
        return end.epoch <= self._chain.epoch if name in self._unmet else not start < end.offset <= self._chain.end

    def _judge_epochs(self) -> None:
        """Report checkpoints whose epoch cannot be that of their end offset, and treat them as misnamed."""
        whole = {one.end: name for name, one in self.reports.items() if one.is_whole and one.end and one.end.offset}
        for end, facts in denied_epochs(whole, self._chain, self._epochs):
            name = whole[end]
            if name not in self._other_epoch:
                self._add(facts, self.reports[name])
                self._other_epoch[name] = facts.meaning()
            self._set_aside(name, self._other_epoch[name])

    def _settle_doubts(self, began_with: str) -> None:
        """Report which checkpoints are wrong: the first, if replay from each later one gives the next."""
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
        """Replace the images that were replayed from the wrong first checkpoint by replays from the later ones."""
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
        """Report checkpoints that hold configs of removed topics. A node loads the newest as it starts."""
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
        """Mark a checkpoint as misnamed: its content is not the state at the offset in its name."""
        self.reports[name] = msgspec.structs.replace(self.reports[name], is_whole=False, image=None, misnamed=why)

    def read(self, name: str) -> CheckpointReport:
        """Verify one checkpoint by itself, and keep its report."""
        path = f"{self._directory}/{name}"
        report = self.reports[name] = checkpoint_report(self._files, path, self._sink, self._depth, self._read)
        self._left[name] = list(report.left)
        return report

    def _compare(self, report: CheckpointReport) -> None:
        """Compare a checkpoint with the image at its end. If there is no image yet, replay begins with it."""
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
        """Report left configs that the removed topic did not have: Kafka leaves only configs that it had."""
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
        """Return why the time in its header contradicts the offset in its name, or None. It adds the finding."""
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
        """Return True if this node led that epoch, or the epoch's leader is unknown.

        A node's log starts at the checkpoint that it fetched, if any. So it made all later checkpoints itself.
        """
        leaders = {election.leader_id for election in self._chain.elections if election.epoch == epoch}
        return not leaders or self._sink.node_id is None or self._sink.node_id in leaders

    def _say_misnamed(
        self, report: CheckpointReport, end: OffsetAndEpoch, fact: str, *, is_proof: bool, is_within: bool
    ) -> str | None:
        """Add the finding, with the names that the header's time permits; return its text if it is certain."""
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
        """Yield the offsets at which batches of that time (ms) and epoch end in the log."""
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
