"""What one replica's log amounts to, put together from the few rows that Spark gives per epoch.

Decides: where a log starts and ends, which voters are in force, and which replicas' records need reading at all.
Must not know: Spark, and what is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from metadata_log.analysis.inputs import ReplicaInput
from metadata_log.analysis.record_checks import Range
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, parse_directory_id
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.replicas.committed_bounds import ReplicaExtent


class LeaderStart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A LeaderChange: who, and at which offset of which file."""

    leader_id: int
    offset: int
    file: str


class EpochFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One epoch in one replica's segments. Times in ms since 1970."""

    span: EpochSpan
    leaders: tuple[LeaderStart, ...]
    first_ms: int
    last_ms: int


class ReplicaFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One replica's log: its input and what the segments hold. `checkpoints` are the whole ones, by end offset."""

    source: ReplicaInput
    epochs: tuple[EpochFacts, ...]
    batches: int
    records: int
    size_in_bytes: int
    checkpoints: tuple[tuple[int, int, str], ...]
    voters: tuple[int, tuple[ReplicaKey, ...]] | None
    electors: tuple[ReplicaKey, ...] | None

    @property
    def index(self) -> int:
        return self.source.index

    @property
    def start_offset(self) -> int:
        return min((facts.span.start_offset for facts in self.epochs), default=self._named_start())

    @property
    def end_offset(self) -> int:
        return max((facts.span.end_offset for facts in self.epochs), default=self._named_start())

    @property
    def last_epoch(self) -> int:
        return max((facts.span.epoch for facts in self.epochs), default=-1)

    @property
    def snapshot_end(self) -> int:
        return self.checkpoints[-1][0] if self.checkpoints else 0

    @property
    def high_watermark(self) -> int | None:
        return None if self.source.manifest is None else self.source.manifest.high_watermark

    @property
    def extent(self) -> ReplicaExtent:
        return ReplicaExtent(
            key=self.source.key,
            epochs=tuple(facts.span for facts in self.epochs),
            log_end_offset=self.end_offset,
            snapshot_end=self.snapshot_end,
            snapshot_epoch=self.checkpoints[-1][1] if self.checkpoints else -1,
            high_watermark=self.high_watermark,
        )

    def file_at(self, offset: int) -> str | None:
        """The segment that has to hold this offset."""
        segments = [file for file in self.source.files if not file.is_checkpoint and file.base <= offset]
        return max(segments, key=lambda file: file.base).name if segments else None

    def epoch_at(self, offset: int) -> int | None:
        """The epoch of the record at this offset."""
        epochs = [facts.span.epoch for facts in self.epochs if facts.span.start_offset <= offset]
        return max(epochs, default=None)

    def _named_start(self) -> int:
        return min((file.base for file in self.source.files if not file.is_checkpoint), default=0)


def gather(
    sources: Sequence[ReplicaInput], spans: Iterable[Any], broken_files: set[tuple[int, str]]
) -> list[ReplicaFacts]:
    """Facts by replica, from the rows of `batch_checks.epoch_spans`; a checkpoint with a broken rule does not count."""
    rows = list(spans)
    return [_facts(source, [row for row in rows if row["replica"] == source.index], broken_files) for source in sources]


def _facts(source: ReplicaInput, rows: Sequence[Any], broken_files: set[tuple[int, str]]) -> ReplicaFacts:
    in_log = sorted(
        (row for row in rows if not row["is_checkpoint"]), key=lambda row: (row["start_offset"], row["epoch"])
    )
    named = [(int(row["voters"]["base_offset"]), row["voters"]["voters"]) for row in in_log if row["voters"]]
    if not named:
        named = [(-1, row["voters"]["voters"]) for row in rows if row["is_checkpoint"] and row["voters"]]
    electors = [row["electors"]["electors"] for row in in_log if row["electors"]]
    checkpoints = [
        (file.base, file.checkpoint_epoch or 0, file.name)
        for file in source.files
        if file.is_checkpoint and (source.index, file.name) not in broken_files
    ]
    return ReplicaFacts(
        source=source,
        epochs=tuple(_epoch(row) for row in in_log),
        batches=sum(row["batches"] for row in in_log),
        records=sum(row["records"] for row in in_log),
        size_in_bytes=sum(row["bytes"] for row in in_log),
        checkpoints=tuple(sorted(checkpoints)),
        voters=(named[-1][0], parse_keys(named[-1][1])) if named else None,
        electors=parse_keys(electors[-1]) if electors else None,
    )


def _epoch(row: Any) -> EpochFacts:
    leaders = (
        LeaderStart(leader_id=leader["leader_id"], offset=leader["base_offset"], file=leader["file"])
        for leader in row["leaders"]
    )
    return EpochFacts(
        span=EpochSpan(epoch=row["epoch"], start_offset=row["start_offset"], end_offset=row["end_offset"]),
        leaders=tuple(sorted(leaders, key=lambda leader: leader.offset)),
        first_ms=row["first_ms"],
        last_ms=row["last_ms"],
    )


def parse_keys(text: str) -> tuple[ReplicaKey, ...]:
    """Replica keys from `node:directory,...`."""
    pairs = (part.split(":", 1) for part in text.split(",") if part)
    return tuple(
        ReplicaKey(node_id=NodeId(int(node)), directory_id=DirectoryId(parse_directory_id(directory)))
        for node, directory in pairs
    )


def voters_in_force(replicas: Sequence[ReplicaFacts]) -> tuple[ReplicaKey, ...]:
    """The voter set of the most advanced log that names one; else what a manifest says; else those who elected last."""
    ranked = sorted(replicas, key=lambda facts: (facts.last_epoch, facts.end_offset), reverse=True)
    for facts in ranked:
        if facts.voters is not None:
            return facts.voters[1]
    for facts in ranked:
        manifest = facts.source.manifest
        if manifest is not None and manifest.voters:
            return tuple(voter.key for voter in manifest.voters)
    return next((facts.electors for facts in ranked if facts.electors), ())


def is_voter(facts: ReplicaFacts, voters: Sequence[ReplicaKey]) -> bool:
    """Whether this replica votes; a static voter is known by its node id alone."""
    return any(
        voter.node_id == facts.source.key.node_id
        and (voter == facts.source.key or voter.directory_id == DirectoryId(bytes(16)))
        for voter in voters
    )


def ranges_to_judge(
    replicas: Sequence[ReplicaFacts], divided: Sequence[tuple[int, int]], broken_at: dict[int, int]
) -> tuple[list[Range], dict[int, list[int]]]:
    """Which records to read: of each set of replicas that hold the same log, those of the longest.

    `divided` are pairs of replicas that differ somewhere, `broken_at` the offset from which a replica's log is damaged.
    Returns the ranges, and for each replica that is read the others for which it stands.
    """
    ranges: list[Range] = []
    stands_for: dict[int, list[int]] = {}
    read: list[ReplicaFacts] = []
    for facts in sorted(replicas, key=lambda facts: (facts.index in broken_at, facts.start_offset, -facts.end_offset)):
        same = (
            other
            for other in read
            if facts.index not in broken_at
            and other.index not in broken_at
            and not {(facts.index, other.index), (other.index, facts.index)} & set(divided)
            and other.start_offset <= facts.start_offset
            and other.end_offset >= facts.end_offset
        )
        representative = next(same, None)
        if representative is not None:
            stands_for[representative.index].append(facts.index)
            continue
        read.append(facts)
        stands_for[facts.index] = []
        ranges.append(_range(facts, broken_at.get(facts.index)))
    return ranges, stands_for


def _range(facts: ReplicaFacts, end: int | None) -> Range:
    if facts.start_offset == 0:
        return Range(replica=facts.index, start=0, end=end, checkpoint=None)
    covering = [(base, name) for base, _, name in facts.checkpoints if base >= facts.start_offset]
    if not covering:
        # Nothing says which topics there were: `missing_checkpoint` is found, and no topic judged.
        return Range(replica=facts.index, start=facts.end_offset, end=end, checkpoint=None)
    return Range(replica=facts.index, start=covering[0][0], end=end, checkpoint=covering[0][1])
