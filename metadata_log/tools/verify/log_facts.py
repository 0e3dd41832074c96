"""The result of verifying one replica."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metadata_log.directory import QuorumState
from metadata_log.ids import ReplicaKey
from metadata_log.image import MetadataImage, UnwritableMetadataError
from metadata_log.image.hash import image_hash
from metadata_log.records.newer import NewerParts
from metadata_log.tools.findings.finding import Cause, Finding
from metadata_log.tools.read.batch_sums import BatchSums
from metadata_log.tools.read.contents import EpochSpan, voter_keys
from metadata_log.tools.read.control_facts import Election, QuorumChange, Voting
from metadata_log.tools.read.gaps import Gap
from metadata_log.tools.rules.records import RecordRules
from metadata_log.tools.verify.checkpoint import CheckpointReport


class LogFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts and findings of one replica's metadata directory.

    Attributes:
        findings: the faults that this directory shows by itself.
        start_offset, end_offset, epochs: those of the records in its segments.
        gaps: missing offsets between its first and last record that no damage explains.
        elections: its LeaderChange records, in order.
        false_starts: offsets of LeaderChange records whose epoch is wrong, as the batch behind them shows.
        voters: the latest voter set in its log, else its newest checkpoint's (offset -1), else None.
        known_voters: the replicas that any voter set in its log or its checkpoints names.
        quorum_changes: each record in its log that sets kraft.version or voters, in order.
        static_voters: those of a `quorum-state` of version 0.
        checkpoints: the whole ones, by their ends. A misnamed one is not among them.
        misnamed: by name of each misnamed checkpoint, the reason.
        image: the image at the end of the log; None if the records before are unknown, or nothing was replayed.
        settled: the newest image that is at least `SETTLED_MS` older than the log's last batch, or None.
        rules: the record rules after replay; they know every topic id that the log ever assigned.
        committed_before: all records before this offset are committed. It is the end of the LeaderChange of the last
            epoch whose leader wrote metadata, which a leader does only once that has committed (`commit_proof`).
        kept_committed: all records before this offset are committed, by the node's `committed-state`; 0 without one.
        proved_end: the offset (exclusive) that the log once reached, by its sidecar files; at least its end.
        held_when_cut: all records before this offset are committed, by the audit file of a repair that cut the log; 0
            without one.
        is_sound: True if the bytes and the order of its batches have no fault.
        is_unread: True if a segment could not be read, so that the log's end is unknown.
        newer: the parts that a later release wrote, which no check judged.
        sums: checksums of all batches in its segments.
        times: ms of the batch that ends where a checkpoint or probe does, by offset.
        probed: the image at each requested offset that replay reached; the images share nearly all of their data.
    """

    directory: str
    findings: tuple[Finding, ...]
    start_offset: int
    end_offset: int
    gaps: tuple[Gap, ...]
    epochs: tuple[EpochSpan, ...]
    elections: tuple[Election, ...]
    false_starts: tuple[int, ...]
    voters: Voting | None
    known_voters: frozenset[ReplicaKey]
    quorum_changes: tuple[QuorumChange, ...]
    static_voters: tuple[ReplicaKey, ...]
    checkpoints: tuple[CheckpointReport, ...]
    misnamed: Mapping[str, str]
    quorum_state: QuorumState | None
    image: MetadataImage | None
    settled: MetadataImage | None
    rules: RecordRules
    committed_before: int
    kept_committed: int
    proved_end: int
    held_when_cut: int = 0
    is_sound: bool
    is_unread: bool = False
    newer: NewerParts
    probed: dict[int, MetadataImage]
    times: dict[int, int]
    segments: tuple[str, ...]
    sums: BatchSums
    batches: int
    records: int
    size_in_bytes: int

    @property
    def last_epoch(self) -> int:
        """The epoch of its last record; -1 in an empty log."""
        return self.epochs[-1].epoch if self.epochs else -1

    @property
    def impossible_offsets(self) -> tuple[int, ...]:
        """Offsets of records that keep a controller from running, as the log shows by itself, in order."""
        found = (one for one in self.findings if one.cause is Cause.RECORDS and one.bars_start)
        return tuple(sorted(one.offset for one in found if one.offset is not None and one.file in self.segments))


def metadata_hash(image: MetadataImage) -> str | None:
    """Return the hash of an image without its quorum; None if it is not bootstrapped, or at an impossible level."""
    try:
        return image_hash(image, 0, None).hex
    except UnwritableMetadataError:
        return None


def voter_sets(report: LogFacts) -> list[Voting]:
    """Return the voter sets of its checkpoints, by their ends, then those of its log, each with its offset."""
    checkpoints = [
        Voting(offset=one.end.offset - 1, voters=one.voters)
        for one in report.checkpoints
        if one.end is not None and one.voters
    ]
    log = [
        Voting(offset=one.offset, voters=voter_keys(one.voters))
        for one in report.quorum_changes
        if one.voters is not None
    ]
    return [*checkpoints, *log]


def voters_of(checkpoints: list[CheckpointReport]) -> Voting | None:
    """Return the voters of the newest checkpoint that has any (offset -1), or None. `checkpoints`: by their ends."""
    for report in reversed(checkpoints):
        if report.voters is not None:
            return Voting(offset=-1, voters=report.voters)
    return None
