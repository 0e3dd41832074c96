"""What the verification of one replica amounts to.

Decides: the shape. Must not know: how anything is found.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metadata_log.directory import QuorumState
from metadata_log.ids import ReplicaKey
from metadata_log.image import MetadataImage, UnwritableMetadataError
from metadata_log.image.hash import image_hash
from metadata_log.records.newer import NewerParts
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.read.batch_sums import BatchSums
from metadata_log.tools.read.contents import EpochSpan, voter_keys
from metadata_log.tools.read.control_facts import Election, QuorumChange, Voting
from metadata_log.tools.read.gaps import Gap
from metadata_log.tools.rules.records import RecordRules
from metadata_log.tools.verify.checkpoint import CheckpointReport


class LogFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What one replica's metadata directory amounts to.

    Attributes:
        findings: what is wrong with it, by itself.
        start_offset, end_offset, epochs: of the records in its segments.
        gaps: offsets that are missing between its first record and its last, where no damage explains it.
        elections: its LeaderChange records, in order.
        false_starts: offsets of those whose epoch is wrong, by what follows.
        voters: the last voter set in its log, or its newest checkpoint's (offset -1); None where neither names any.
        known_voters: all that any voter set in its log or its checkpoints names.
        quorum_changes: each record in its log that sets kraft.version or voters, in order.
        static_voters: of a quorum-state of version 0.
        checkpoints: those that are whole, by their ends.
        misnamed: by the names of the others that are whole, why they do not end where those say.
        image: at the end of the log; None where what was before is not known, or nothing was replayed.
        settled: the image as it stood `SETTLED_MS` before the log's last batch; None where none did.
        rules: knows every topic id that the log ever gave.
        committed_before: all before this offset was committed, since the leader of the epoch whose first batch ends
            there wrote metadata that can be replayed, which it does only then (`commit_proof`).
        kept_committed: all before this offset was committed, by the node's `committed-state`; 0 without one.
        proved_end: up to where the log once reached, by what stands beside it; at least its end.
        held_when_cut: all before this offset was committed, by the audit file of a repair that cut it; 0 without one.
        is_sound: nothing is wrong with bytes and order of its batches.
        is_unread: a segment could not be read, so that nobody knows how far the log goes.
        newer: all that a later release has written, and that was not judged.
        sums: of all batches in its segments.
        times: of the batches that end where a checkpoint does, in ms, by that offset.
        probed: the metadata that replay gives, at those of the offsets asked for that it has; the images share nearly
            all that they hold.
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
        """Of its last record; -1 in an empty log."""
        return self.epochs[-1].epoch if self.epochs else -1


def metadata_hash(image: MetadataImage) -> str | None:
    """The hash of an image without its quorum; None where it has none: not bootstrapped, or at an impossible level."""
    try:
        return image_hash(image, 0, None).hex
    except UnwritableMetadataError:
        return None


def voter_sets(report: LogFacts) -> list[Voting]:
    """All that its checkpoints name, by their ends, and then all that its log does; from which offset on each holds."""
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
    """The voters that the newest of these, in the order of their ends, names."""
    for report in reversed(checkpoints):
        if report.voters is not None:
            return Voting(offset=-1, voters=report.voters)
    return None
