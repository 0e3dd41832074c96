"""One copy of the metadata log: its valid prefix, and what it says there.

Decides: what is known of a copy. Must not know: other copies, and how one is read (`copy_reader`).
"""

from __future__ import annotations

import msgspec

from metadata_log.directory import QuorumState
from metadata_log.format.epochs import EpochStart
from metadata_log.ids import NodeId, ReplicaKey, TopicId
from metadata_log.image import MetadataImage
from metadata_log.image.older_release import why_older
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.records.newer import NewerPart, NewerParts
from metadata_log.tools.prefix.prefix_parts import CheckpointFile, PassedOver, Stop
from metadata_log.tools.prefix.valid_prefix import ValidPrefix
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.read.history import State
from metadata_log.tools.replicas.committed_bounds import ReplicaExtent
from metadata_log.voters import VoterSet
from quorum.recovery.copies.sidecar_files import Unread
from quorum.recovery.journal.accepted_loss import Audited
from quorum.recovery.journal.log_directories import Place


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """The valid prefix of one copy, and the evidence of the files beside its log.

    Attributes:
        prefix: of its log; its `stop` is judged by all that is known of the directory.
        beside_epoch: the greatest epoch in the files beside the log; -1 without one.
        quorum_state: as its file has it, if that can be read.
        quorum_problem, unread: why quorum-state, and which files beside the log, say nothing usable.
        kept_committed, kept_id: see `Reach`.
        proved_end: up to where its log once reached, by what stands beside or behind the prefix; at least `end`.
        short: how that is proven, where files beside the log prove more than it holds; None where none does.
        is_end_unproven: nothing beside its log proves that what it lacks by `short` was committed.
        audited: what repairs of it let go, by the audit files beside it.
        used_by: the process that runs on the directory, see `Reach`: then `end` is so far.
        confirmed: epochs that are believed for other nodes' logs, see `OwnEpochs`.
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
    """`short` without what is known of commits: other copies may prove more."""
    is_end_unproven: bool = False

    @property
    def start_offset(self) -> int:
        """Of its valid prefix."""
        return int(self.prefix.start)

    @property
    def end(self) -> OffsetAndEpoch:
        """Of its valid prefix."""
        return self.prefix.end

    @property
    def stop(self) -> Stop | None:
        """Why the prefix ends before the files do; None if it does not."""
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
        """The checkpoint that its metadata begins with; None: offset 0."""
        return self.prefix.origin

    @property
    def state(self) -> State | None:
        """The metadata and the quorum at `end`; None if they are not known."""
        return self.prefix.state

    @property
    def repair(self) -> OffsetAndEpoch | None:
        """The place of the last repair's batch; None without one."""
        return self.prefix.repair

    @property
    def greatest_epoch(self) -> int:
        """Of any batch, checkpoint, leader or vote in the log or beside it; no `Stop.false_epoch`."""
        return max(self.prefix.greatest_epoch, self.beside_epoch)

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
        """Return True if its log is damaged: the valid prefix ends before more than an unfinished write."""
        return self.stop is not None and not self.stop.is_torn

    @property
    def held_more(self) -> bool:
        """Return True if its log, or a file beside it, shows that it held more than the valid prefix."""
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
        return self.prefix.newer.plus(
            *(NewerPart(what=f"{found.path} ({found.why})") for found in self.unread if found.is_newer)
        )

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
            committed_before=self.prefix.committed_before,
            proved_end=self.proved_end,
        )

    @property
    def _high_watermark(self) -> int:
        """Return that of a manifest or, where no node runs that may have written it since, of `committed-state`."""
        live = None if self.place.manifest is None else self.place.manifest.high_watermark
        return max(live or 0, 0 if self.used_by is not None else self.kept_committed)

    def epoch_at(self, offset: int) -> int:
        """Return the epoch of the record of the valid prefix at `offset`; -1 where its segments do not have it."""
        return next((span.epoch for span in self.spans if span.start_offset <= offset < span.end_offset), -1)
