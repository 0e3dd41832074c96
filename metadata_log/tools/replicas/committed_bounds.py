"""The committed bounds of a set of replicas, which all tools take from here.

Must not know: files, and the findings on differences below or above a bound.

Kafka keeps no high watermark on disk, so stopped directories give only bounds. Below `lower`, every record was
committed: a record of the leader's epoch on a majority commits all before it (KIP-595), and a snapshot covers only
committed records (KIP-630). From `upper` on, no record was committed: no majority reaches it. Between them, a record
was possibly committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from metadata_log.ids import ReplicaKey
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.replicas.voters_in_force import VotersInForce, is_voter
from metadata_log.voters import majority_of

UPPER_UNKNOWN: Final = "too few voters' logs here are surely their last state"
"""Says why there is no upper bound. All voters' logs may be here: one that has lost its end bounds nothing."""


class ProvenCommit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All records before `end` were committed. `because`: the reason, as a clause. `disk`: the log directory that
    proves it."""

    end: int
    because: str
    disk: str


class ReplicaExtent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The extent of one replica. All ends are exclusive offsets.

    Attributes:
        epochs: those of its log, rising.
        snapshot_end, snapshot_epoch: those of its newest checkpoint.
        high_watermark: the one that the running node reported, or keeps in `committed-state`; None if unknown.
        committed_before: the end of the LeaderChange of an epoch whose leader wrote metadata. A controller becomes
            active only once that is committed.
        proved_end: the offset that its log once reached, by its sidecar files; 0 if nothing proves one.
        held_when_cut: all before it was committed, as was proven when a repair cut this log (see `repair_audits`).
        proven: the records that brokers' partition directories prove committed; None if they prove nothing.
        is_authoritative: False if this may not be the voter's last state, as with an export. Such a replica sets no
            upper bound.
        leaders: of the elections in its log, the epoch and the leader of each.
        impossible: offsets of records with which no controller runs, in order. The leader did not write them.
        state_epoch: the epoch of its `quorum-state`; -1 without one.
        denied: the offsets at which an epoch begins in its log that the log itself or its `quorum-state` denies.
    """

    key: ReplicaKey
    epochs: tuple[EpochSpan, ...] = ()
    log_end_offset: int = 0
    snapshot_end: int = 0
    snapshot_epoch: int = -1
    high_watermark: int | None = None
    committed_before: int = 0
    proved_end: int = 0
    held_when_cut: int = 0
    proven: ProvenCommit | None = None
    is_authoritative: bool = True
    leaders: tuple[tuple[int, int], ...] = ()
    impossible: tuple[int, ...] = ()
    state_epoch: int = -1
    denied: frozenset[int] = frozenset()

    @property
    def known_committed(self) -> int:
        """All records before this offset are committed, by its own checkpoint or high watermark."""
        return max(self.snapshot_end, self.high_watermark or 0)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record in its log or its checkpoint; -1 without any."""
        if self.snapshot_end >= self.log_end_offset:
            return self.snapshot_epoch
        return self.epochs[-1].epoch if self.epochs else -1

    def end_in(self, epoch: int) -> int | None:
        """Return one past its last record of `epoch`, by its log or its snapshot, or None if it has no such record."""
        ends = [span.end_offset for span in self.epochs if span.epoch == epoch]
        if self.snapshot_epoch == epoch and self.snapshot_end > 0:
            ends.append(self.snapshot_end)
        return max(ends, default=None)


class CommittedBounds(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Records below `lower` are certainly committed; records from `upper` on never were.

    Attributes:
        upper: None if it is not known, see `UPPER_UNKNOWN`.
        because: the reason for `lower`, as a clause.
    """

    lower: int
    upper: int | None
    because: str


def committed_bounds(replicas: Sequence[ReplicaExtent], voters: Sequence[ReplicaKey]) -> CommittedBounds:
    """Return the committed bounds by these replicas. Two copies of one replica count once in a majority.

    An observer proves a commit by its snapshot, its high watermark or its log's records, but counts for no majority.

    Args:
        voters: the voter set in force. If it is empty, no majority is known, and there is no `upper`.
    """
    replicas = without_denied(replicas)
    lower, because = 0, "nothing is known to be committed"
    for replica in replicas:
        if replica.snapshot_end > lower:
            whose = f"node {replica.key.node_id}" if replica.key.node_id >= 0 else "an unnamed node"
            lower, because = replica.snapshot_end, f"the checkpoint of {whose} ends there"
        if (replica.high_watermark or 0) > lower:
            lower = replica.high_watermark or 0
            because = f"replica {replica.key.node_id} gave it as its high watermark"
        if replica.committed_before > lower:
            lower = replica.committed_before
            whose = f"the log of node {replica.key.node_id}" if replica.key.node_id >= 0 else "a log of an unnamed node"
            because = f"by {whose}, a leader whose first batch ends there wrote metadata"
        if replica.held_when_cut > lower:
            lower = replica.held_when_cut
            because = f"a majority held it when a repair cut the log of node {replica.key.node_id}, as was proven then"
        if replica.proven is not None and replica.proven.end > lower:
            lower, because = replica.proven.end, replica.proven.because
    bounding = without_outrun_leaders(replicas)
    by_voter = [[replica for replica in bounding if is_voter(replica.key, [voter])] for voter in voters]
    majority = majority_of(len(voters))
    for is_once in (False, True) if voters else ():
        held = _held_by_majority(by_voter, majority, is_once=is_once)
        if held is None:
            continue
        epoch, offset = held
        # A majority holds it, but a replica with a later epoch below that offset could still win and overwrite it.
        certain = min([offset, *_forks(replicas, epoch)])
        if certain > lower:
            what = "once held it, as files beside their logs prove"
            what = what if is_once else f"holds records of epoch {epoch} up to there"
            lower, because = certain, f"{_most_of(len(voters))} {what}"
    return CommittedBounds(lower=lower, upper=_upper(by_voter, majority, lower) if voters else None, because=because)


def certain_bounds(
    replicas: Sequence[ReplicaExtent], in_force: VotersInForce, tie: int | None = None
) -> CommittedBounds:
    """Return the bounds that hold by every voter set that may be in force.

    `kraft check`, `kraft log diff` and `kraft recover inspect` all take their lower bound from here. If only an
    election names the voters, others may vote by now, so there is no upper bound.

    Args:
        tie: the first offset at which replicas part and nothing shows which side committed; None without one.
    """
    by_logs = _by_each_set([msgspec.structs.replace(replica, proven=None) for replica in replicas], in_force)
    tied = limited_by(by_logs, tie)
    found = tied if tied is not by_logs else _by_each_set(replicas, in_force)
    return found if in_force.is_certain else msgspec.structs.replace(found, upper=None)


def _by_each_set(replicas: Sequence[ReplicaExtent], in_force: VotersInForce) -> CommittedBounds:
    first, *others = [committed_bounds(replicas, voters) for voters in in_force.sets or ((),)]
    for other in others:
        first = weaker(first, other)
    return first


def limited_by(bounds: CommittedBounds, tie: int | None) -> CommittedBounds:
    """Return the bounds with `lower` at most at a tie: nothing shows which side committed from there on."""
    if tie is None or tie >= bounds.lower:
        return bounds
    because = (
        "there replicas part within one epoch, and neither side is held by a majority: what was committed from there "
        "on cannot be known from these copies"
    )
    return msgspec.structs.replace(bounds, lower=tie, because=because)


def weaker(one: CommittedBounds, other: CommittedBounds) -> CommittedBounds:
    """Return bounds that hold by both: the lesser lower one, and the greater upper one, if both have one."""
    lower = min(one, other, key=lambda bounds: bounds.lower)
    upper = None if one.upper is None or other.upper is None else max(one.upper, other.upper)
    return msgspec.structs.replace(lower, upper=upper)


def without_denied(replicas: Sequence[ReplicaExtent]) -> list[ReplicaExtent]:
    """Return the same replicas without the epochs that their own files deny, unless another replica has the epoch.

    No checksum covers the epoch of a batch: one flipped bit would make an election that no controller held.
    """
    begun = [(replica.key, span.epoch, span.start_offset) for replica in replicas for span in replica.epochs]

    def is_denied(replica: ReplicaExtent, span: EpochSpan) -> bool:
        same = (span.epoch, span.start_offset)
        return span.start_offset in replica.denied and not any(
            (epoch, start) == same for key, epoch, start in begun if key != replica.key
        )

    return [
        msgspec.structs.replace(replica, epochs=tuple(span for span in replica.epochs if not is_denied(replica, span)))
        if replica.denied
        else replica
        for replica in replicas
    ]


def without_outrun_leaders(replicas: Sequence[ReplicaExtent]) -> list[ReplicaExtent]:
    """Return the same replicas, of which an outrun leader's is not authoritative.

    A leader has each record of its epoch before any other replica. If another has more of that epoch, the leader's log
    has lost its end, or was copied earlier. It may have held all of that, and more. The same holds of a log that ends
    before an epoch that its node led, even if later epochs follow.
    """
    outrun = {id(one) for one in replicas if outrunners(replicas, one) or _lacks_own_epoch(replicas, one)}
    return [
        msgspec.structs.replace(replica, is_authoritative=False) if id(replica) in outrun else replica
        for replica in replicas
    ]


def outrunners(replicas: Sequence[ReplicaExtent], leader: ReplicaExtent) -> list[ReplicaExtent]:
    """Return the replicas that hold more of the last epoch in this log than it does, if its node led that epoch.

    Nothing follows where another replica has a later epoch: its leader may have cut the older one's log. Nothing
    follows either where logs name two leaders of that epoch, or from an impossible record past the leader's end.
    """
    epoch = leader.last_epoch
    if leader.key.node_id < 0 or any(replica.last_epoch > epoch for replica in replicas):
        return []
    if {leader_id for one in replicas for led, leader_id in one.leaders if led == epoch} != {leader.key.node_id}:
        return []
    end = _end(leader)
    return [replica for replica in replicas if min([replica.end_in(epoch) or 0, *_impossible_past(replica, end)]) > end]


def _impossible_past(replica: ReplicaExtent, end: int) -> list[int]:
    return [offset for offset in replica.impossible if offset >= end]


def _lacks_own_epoch(replicas: Sequence[ReplicaExtent], leader: ReplicaExtent) -> bool:
    """Return True if by another log, its node led an epoch that begins at or past the end of this log.

    Nothing follows if a later epoch begins there or before in any log: its leader may have cut this one.
    """
    end = _end(leader)
    led = {epoch for one in replicas for epoch, node_id in one.leaders if node_id == leader.key.node_id >= 0}
    begun = [span for one in replicas for span in one.epochs if span.epoch in led and span.epoch > leader.last_epoch]
    return any(
        span.start_offset >= end and not any(fork <= span.start_offset for fork in _forks(replicas, span.epoch))
        for span in begun
    )


def _most_of(voters: int) -> str:
    return "the only voter" if voters == 1 else f"a majority of the {voters} voters"


def _held_by_majority(
    by_voter: Sequence[Sequence[ReplicaExtent]], majority: int, *, is_once: bool
) -> tuple[int, int] | None:
    """Return the last epoch of which a majority holds a record, and the end of the records on that majority.

    Only the last such epoch counts: a record on a majority commits nothing unless it is of its leader's own epoch.

    Args:
        is_once: True to count records that a log provably lost, too. They are of an epoch in which the replica took
            part, by its log or its `quorum-state`. A follower first cuts what the leader lacks.
    """
    everyone = [replica for copies in by_voter for replica in copies]
    epochs = {span.epoch for replica in everyone for span in replica.epochs}
    epochs |= {replica.snapshot_epoch for replica in everyone if replica.snapshot_end > 0}
    for epoch in sorted(epochs, reverse=True):
        best = [max((_end_in(replica, epoch, is_once=is_once) for replica in copies), default=0) for copies in by_voter]
        ends = sorted((end for end in best if end > 0), reverse=True)
        if len(ends) >= majority:
            return epoch, ends[majority - 1]
    return None


def _end_in(replica: ReplicaExtent, epoch: int, *, is_once: bool) -> int:
    has_lost = is_once and replica.proved_end > _end(replica)
    has_part = replica.last_epoch == epoch or replica.last_epoch < epoch <= replica.state_epoch
    return replica.proved_end if has_lost and has_part else replica.end_in(epoch) or 0


def _once(replica: ReplicaExtent) -> int:
    return max(_end(replica), replica.proved_end)


def _forks(replicas: Sequence[ReplicaExtent], epoch: int) -> list[int]:
    """Return the offsets from which replicas hold an epoch later than `epoch`.

    A record of an old epoch is not committed merely because it reached a majority under a later leader. The holder of a
    later epoch may still win and overwrite it (Raft, 5.4.2). So above such an offset nothing is certain.
    """
    return [span.start_offset for replica in replicas for span in replica.epochs if span.epoch > epoch]


def _upper(by_voter: Sequence[Sequence[ReplicaExtent]], majority: int, lower: int) -> int | None:
    """Return the largest log end that a majority can have had, or None if it is unknown.

    A voter without an authoritative replica may have had any log end. None, too, if the result is below `lower`: then
    one of these logs is not its voter's last state.
    """
    authoritative = [[replica for replica in copies if replica.is_authoritative] for copies in by_voter]
    present = [copies for copies in authoritative if copies]
    needed = majority - (len(by_voter) - len(present))
    if needed <= 0:
        return None
    ends = sorted((max(map(_once, copies)) for copies in present), reverse=True)
    return ends[needed - 1] if ends[needed - 1] >= lower else None


def _end(replica: ReplicaExtent) -> int:
    return max(replica.log_end_offset, replica.snapshot_end)
