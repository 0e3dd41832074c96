"""One copy of the metadata log: how far it is safe, and what it says there.

Decides: what is known of a copy. Must not know: other copies, and how one is read (`copy_reader`).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metadata_log.directory import QuorumState
from metadata_log.format.epochs import EpochStart
from metadata_log.ids import NodeId, ReplicaKey, TopicId
from metadata_log.image import MetadataImage
from metadata_log.image.older_release import why_older
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.records.newer import NOTHING_NEWER, NewerPart, NewerParts
from metadata_log.tools.prefix.named_nodes import NamedNodes
from metadata_log.tools.prefix.prefix_parts import NONE_MISNAMED, CheckpointFile, PassedOver, SegmentPart, Stop
from metadata_log.tools.read.batch_sums import BatchSums
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.read.control_facts import Election
from metadata_log.tools.read.history import State
from metadata_log.tools.replicas.committed_bounds import ReplicaExtent
from metadata_log.voters import VoterSet
from quorum.recovery.copies.sidecar_files import Unread
from quorum.recovery.journal.accepted_loss import Audited
from quorum.recovery.journal.log_directories import Place


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """What one copy amounts to.

    Attributes:
        start_offset: of its safe part.
        end: of the safe part: offset and the epoch of the record before it; -1 for the epoch where there is none.
        spans: the epochs of the safe part of its segments.
        origin: the checkpoint that its metadata begins with; None: offset 0.
        misnamed: by name, why a checkpoint does not end where its name says: it is not `origin`, and proves nothing.
        passed_over: damage before `start_offset`, in what `origin` holds; None: none.
        state: the metadata and the quorum at `end`; None: it cannot be told, and `problem` says why.
        quorum_problem, unread: why quorum-state, and which files beside the log, say nothing usable.
        greatest_epoch: of any batch, checkpoint, leader or vote in it or beside it; no `Stop.false_epoch`.
        committed_before: see `ReplicaExtent`.
        elections: all that its log tells of and nothing denies, repairs among them.
        last_timestamp_ms: of the last safe batch; -1 without one.
        sums: of each safe batch, for comparing copies.
        kept_committed, kept_id: see `Reach`.
        proved_end: up to where its log once reached, by what stands beside or behind the safe part; at least `end`.
        short: how that is proven, where files beside the log prove more than it holds; None where none does.
        is_end_unproven: nothing beside its log proves that what it lacks by `short` was committed.
        repair: where a repair's batch is, the last one; None without one.
        audited: what repairs of it let go, by the audit files beside it.
        behind: who is named behind the damage, in what can be read there.
        used_by: the process that runs on the directory, see `Reach`: then `end` is so far.
        confirmed: epochs that are believed for other nodes' logs, see `OwnEpochs`.
    """

    place: Place
    start_offset: int
    end: OffsetAndEpoch
    segments: tuple[SegmentPart, ...]
    spans: tuple[EpochSpan, ...]
    stop: Stop | None
    passed_over: PassedOver | None
    checkpoints: tuple[CheckpointFile, ...]
    origin: CheckpointFile | None
    misnamed: Mapping[str, str] = NONE_MISNAMED
    state: State | None
    problem: str | None
    quorum_state: QuorumState | None
    quorum_problem: str | None
    unread: tuple[Unread, ...]
    greatest_epoch: int
    committed_before: int
    elections: tuple[Election, ...]
    last_timestamp_ms: int
    sums: BatchSums
    kept_committed: int
    kept_id: TopicId | None = None
    proved_end: int
    short: str | None
    repair: OffsetAndEpoch | None
    audited: Audited = Audited()
    behind: NamedNodes = NamedNodes()
    used_by: int | None
    confirmed: frozenset[EpochStart] = frozenset()
    proof_of_more: str | None = None
    """`short` without what is known of commits: other copies may prove more."""
    is_end_unproven: bool = False

    @property
    def label(self) -> str:
        """How it is called in sentences."""
        return self.place.label

    @property
    def node_id(self) -> int | None:
        """Whose it is."""
        return self.place.node_id

    @property
    def rank(self) -> tuple[int, int]:
        """How up to date it is: by last epoch, then by end (Raft, 5.4.1)."""
        return int(self.end.epoch), int(self.end.offset)

    @property
    def is_damaged(self) -> bool:
        """Whether its log is damaged: the safe part ends before more than an unfinished write."""
        return self.stop is not None and not self.stop.is_torn

    @property
    def held_more(self) -> bool:
        """Whether its log shows, or what stands beside it, that it held more than the safe part."""
        return self.is_damaged or self.short is not None

    @property
    def went_on(self) -> bool:
        """Return True if its log went on, and nothing says how far: its voter may have held any record since."""
        return self.short is not None or (self.is_damaged and self.proved_end <= self.end.offset)

    @property
    def voters(self) -> VoterSet | None:
        """The latest voter set in it, committed or not; None at kraft.version 0."""
        record = None if self.state is None else self.state.quorum.voters
        return None if record is None else VoterSet.from_record(record)

    @property
    def kraft_version(self) -> int:
        """What its records finalise."""
        return 0 if self.state is None else self.state.quorum.kraft_version

    @property
    def image(self) -> MetadataImage | None:
        """The metadata at its end."""
        return None if self.state is None else self.state.image

    @property
    def why_older(self) -> str | None:
        """Return the sentence that says that Kafka before 3.3-IV3 wrote this log, or None."""
        return None if self.image is None or self.newer.parts else why_older(self.image)

    @property
    def newer(self) -> NewerParts:
        """Return all that a later release has written there, and that is not judged."""
        state = self.state
        log = NOTHING_NEWER if state is None else state.newer.plus(*state.quorum.newer_elections.parts)
        return log.plus(*(NewerPart(what=f"{found.path} ({found.why})") for found in self.unread if found.is_newer))

    @property
    def newer_voters(self) -> str | None:
        """Return the part of a later release that says who votes, or how they do; None: that is known here."""
        quorum = None if self.state is None else self.state.quorum
        part = None if quorum is None else quorum.newer_version or quorum.newer_voters
        return None if part is None else part.what

    @property
    def static_voters(self) -> tuple[int, ...]:
        """By a quorum-state of version 0, or what an export's manifest has from there: each once, and nodes alone."""
        state, manifest = self.quorum_state, self.place.manifest
        if manifest is not None and self.kraft_version == 0:
            return tuple(voter.node_id for voter in manifest.voters)
        return () if state is None else tuple(dict.fromkeys(int(one) for one in state.current_voters if one >= 0))

    @property
    def extent(self) -> ReplicaExtent:
        """For the bounds of what is committed."""
        origin = None if self.origin is None else self.origin.end
        return ReplicaExtent(
            key=self.place.key or ReplicaKey(node_id=NodeId(-1 if self.node_id is None else self.node_id)),
            votes=self.place.key is not None,
            epochs=self.spans,
            log_end_offset=int(self.end.offset),
            snapshot_end=0 if origin is None else int(origin.offset),
            snapshot_epoch=-1 if origin is None else int(origin.epoch),
            high_watermark=self._high_watermark,
            committed_before=self.committed_before,
            proved_end=self.proved_end,
        )

    @property
    def _high_watermark(self) -> int:
        """Return that of a manifest or, where no node runs that may have written it since, of `committed-state`."""
        live = None if self.place.manifest is None else self.place.manifest.high_watermark
        return max(live or 0, 0 if self.used_by is not None else self.kept_committed)

    def epoch_at(self, offset: int) -> int:
        """The epoch of the safe record at `offset`; -1 where its segments do not have it."""
        return next((span.epoch for span in self.spans if span.start_offset <= offset < span.end_offset), -1)
