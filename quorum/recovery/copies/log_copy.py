"""One copy of the metadata log: its valid prefix, and the facts that follow from it.

Must not know: other copies, and how one is read (`copy_reader`).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from metadata_log.directory import QuorumState
from metadata_log.format.epochs import EpochStart
from metadata_log.ids import NodeId, ReplicaKey, TopicId
from metadata_log.image import MetadataImage
from metadata_log.image.older_release import why_older
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.records.newer import NewerPart, NewerParts
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.prefix.prefix_parts import CheckpointFile, PassedOver, Stop
from metadata_log.tools.prefix.valid_prefix import ValidPrefix
from metadata_log.tools.read.contents import EpochSpan, epoch_at
from metadata_log.tools.read.history import State
from metadata_log.tools.replicas.committed_bounds import ProvenCommit, ReplicaExtent
from metadata_log.tools.replicas.replica import Replica
from metadata_log.voters import VoterSet
from quorum.recovery.copies.sidecar_files import Unread
from quorum.recovery.journal.accepted_loss import Audited
from quorum.recovery.journal.log_directories import Place


class Impossible(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A record that no controller writes, though it can be replayed, and the first offset of its batch."""

    found: Finding
    batch: int
    is_control: bool = False


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """The valid prefix of one copy, and the evidence of its sidecar files.

    Attributes:
        prefix: of its log; its `stop` is judged by all that is known of the directory.
        beside_epoch: the greatest epoch in the sidecar files; -1 without one.
        quorum_state: the content of its file, if that can be read.
        quorum_problem: why quorum-state cannot be used.
        unread: the sidecar files that cannot be used.
        kept_committed, kept_id: see `Reach`.
        proved_end: the historical extent of its log; at least `end`.
        short: the proof that the log once reached further than it does now; None without one.
        is_end_unproven: no sidecar file proves that the records missing by `short` were committed.
        audited: the accepted repairs of this directory, by its audit files.
        used_by: the process that runs on the directory, see `Reach`: then the log may grow past `end`.
        confirmed: epochs that other nodes' logs confirm, see `OwnEpochs`.
        replica: the same log as `kraft check` knows it; None if it was not read to its end, or holds nothing.
        impossible: the first record in the prefix with an error by `kraft check`, unless a majority runs with it; see
            `judged_records`.
        proven: its records that brokers' partition directories prove committed, see `partition_proof`.
    """

    place: Place
    prefix: ValidPrefix
    beside_epoch: int
    quorum_state: QuorumState | None
    quorum_problem: str | None
    unread: tuple[Unread, ...]
    kept_committed: int
    kept_id: TopicId | None = None
    proved_end: int
    short: str | None
    audited: Audited = Audited()
    used_by: int | None
    confirmed: frozenset[EpochStart] = frozenset()
    proof_of_more: str | None = None
    """`short` without the proofs of commits, which other copies may extend."""
    is_end_unproven: bool = False
    replica: Replica | None = None
    impossible: Impossible | None = None
    proven: ProvenCommit | None = None

    @property
    def start_offset(self) -> int:
        """The first offset of its valid prefix."""
        return int(self.prefix.start)

    @property
    def end(self) -> OffsetAndEpoch:
        """The end of its valid prefix, with the epoch of the last record."""
        return self.prefix.end

    @property
    def stop(self) -> Stop | None:
        """The reason why the prefix ends before the files do; None if it does not."""
        return self.prefix.stop

    @property
    def passed_over(self) -> PassedOver | None:
        """Damage before the prefix."""
        return self.prefix.passed_over

    @property
    def spans(self) -> tuple[EpochSpan, ...]:
        """The epochs of the prefix."""
        return self.prefix.spans

    @property
    def origin(self) -> CheckpointFile | None:
        """The checkpoint with which its metadata begins; None if it begins at offset 0."""
        return self.prefix.origin

    @property
    def state(self) -> State | None:
        """The metadata and the quorum at `end`; None if they are not known."""
        return self.prefix.state

    @property
    def repair(self) -> OffsetAndEpoch | None:
        """Offset and epoch of the last repair's batch; None without one."""
        return self.prefix.repair

    @property
    def greatest_epoch(self) -> int:
        """The greatest epoch of any batch, checkpoint, leader or vote here, without a `Stop.false_epoch`."""
        return max(self.prefix.greatest_epoch, self.beside_epoch)

    @property
    def label(self) -> str:
        """The name of the directory in sentences."""
        return self.place.label

    @property
    def node_id(self) -> int | None:
        """The node that owns the copy, or None if unknown."""
        return self.place.node_id

    @property
    def rank(self) -> tuple[int, int]:
        """The last epoch, then the end: the order in which Raft compares logs (5.4.1)."""
        return int(self.end.epoch), int(self.end.offset)

    @property
    def is_damaged(self) -> bool:
        """Return True if its log is damaged: the valid prefix ends before more than an unfinished write."""
        return self.stop is not None and not self.stop.is_torn

    @property
    def held_more(self) -> bool:
        """Return True if its log, or a file beside it, shows that it held more than the valid prefix."""
        return self.is_damaged or self.short is not None

    @property
    def went_on(self) -> bool:
        """Return True if its log went on for an unknown length: its voter may have held any record since."""
        return self.short is not None or (self.is_damaged and self.proved_end <= self.end.offset)

    @property
    def is_behind_its_voter(self) -> bool:
        """Return True if its voter may have held any record since: its log went on, or it is an export."""
        return self.went_on or self.place.manifest is not None

    @property
    def voters(self) -> VoterSet | None:
        """The latest voter set in it, committed or not; None at kraft.version 0."""
        record = None if self.prefix.quorum is None else self.prefix.quorum.voters
        return None if record is None else VoterSet.from_record(record, f"{self.label}, VotersRecord")

    @property
    def kraft_version(self) -> int:
        """The kraft.version that its records finalise."""
        return 0 if self.prefix.quorum is None else self.prefix.quorum.kraft_version

    @property
    def image(self) -> MetadataImage | None:
        """The metadata at its end."""
        return None if self.state is None else self.state.image

    @property
    def last_image(self) -> MetadataImage | None:
        """The metadata at its end, or before the batch that cannot be replayed."""
        before = self.prefix.before if self.state is None else self.state
        return None if before is None else before.image

    @property
    def why_older(self) -> str | None:
        """A sentence that Kafka before 3.3-IV3 wrote this log, or None."""
        return None if self.image is None or self.newer.parts else why_older(self.image)

    @property
    def newer(self) -> NewerParts:
        """Return all parts that a later release has written here, which this release does not judge."""
        return self.prefix.newer.plus(
            *(NewerPart(what=f"{found.path} ({found.why})") for found in self.unread if found.is_newer)
        )

    @property
    def newer_voters(self) -> str | None:
        """The part of a later release that changes the voters or how they vote, or None."""
        quorum = self.prefix.quorum
        part = None if quorum is None else quorum.newer_version or quorum.newer_voters
        return None if part is None else part.what

    @property
    def static_voters(self) -> tuple[int, ...]:
        """Node ids of the static voters, each once: by a quorum-state of version 0, or an export's manifest."""
        state, manifest = self.quorum_state, self.place.manifest
        if manifest is not None and self.kraft_version == 0:
            return tuple(voter.node_id for voter in manifest.voters)
        return () if state is None else tuple(dict.fromkeys(int(one) for one in state.current_voters if one >= 0))

    @property
    def extent(self) -> ReplicaExtent:
        """The extent of this log, as the committed bounds need it. Its voter held the records behind damage, too."""
        facts = None if self.replica is None else self.replica.facts
        origin = None if self.origin is None else self.origin.end
        return ReplicaExtent(
            key=self._extent_key,
            epochs=self.spans if facts is None else facts.epochs,
            log_end_offset=int(self.end.offset) if facts is None else max(facts.end_offset, int(self.end.offset)),
            snapshot_end=0 if origin is None else int(origin.offset),
            snapshot_epoch=-1 if origin is None else int(origin.epoch),
            high_watermark=self._high_watermark,
            committed_before=self.prefix.committed_before if facts is None else facts.committed_before,
            proved_end=self.proved_end,
            proven=self.proven,
            impossible=() if self.replica is None else self.replica.facts.impossible_offsets,
            leaders=tuple((one.epoch, one.leader_id) for one in (self.prefix if facts is None else facts).elections),
            state_epoch=-1 if self.quorum_state is None else int(self.quorum_state.leader_epoch),
            denied=frozenset() if self.replica is None else self.replica.denied,
        )

    @property
    def _extent_key(self) -> ReplicaKey:
        """The replica that held these records. An export has no key as a voter, but its voter held its records."""
        if self.replica is not None:
            return self.replica.key
        return self.place.key or ReplicaKey(node_id=NodeId(-1 if self.node_id is None else self.node_id))

    @property
    def _high_watermark(self) -> int:
        """Return the high watermark of a manifest or `committed-state`.

        While a node runs, it may have written `committed-state` after the log was read: then it counts up to the end.
        """
        live = None if self.place.manifest is None else self.place.manifest.high_watermark
        kept = self.kept_committed if self.used_by is None else min(self.kept_committed, int(self.end.offset))
        return max(live or 0, kept)

    def epoch_at(self, offset: int) -> int:
        """Return the epoch of the record at `offset`; -1 if the segments of the valid prefix do not have it."""
        return epoch_at(self.spans, offset)


def by_node(copies: Iterable[Copy]) -> list[Copy]:
    """Return the copies in the order in which `kraft check` reads their directories: by node id, then by path."""
    return sorted(copies, key=lambda one: (-1 if one.node_id is None else one.node_id, one.place.log_dir))
