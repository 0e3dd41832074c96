"""How far a set of replicas' logs is certainly, and possibly, committed. The one function that answers it.

Decides: the bounds. Must not know: files, or what a difference below or above them is called.

Kafka keeps no high watermark on disk, so that for stopped directories there are only bounds. Below `lower`, every
record was committed (KIP-595: a record of the leader's epoch on a majority commits all before it; KIP-630: a snapshot
covers committed records only). From `upper` on, none was: no majority reaches it. Between them it may have been.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metadata_log.ids import ReplicaKey
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.replicas.voters_in_force import is_voter
from metadata_log.voters import majority_of


class ReplicaExtent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How far one replica reaches. `epochs` rise; `snapshot` is the end and epoch of its newest checkpoint.

    `high_watermark` is the live one, where known. `committed_before`: the end of the first batch of an epoch whose
    leader wrote metadata records: a controller becomes active only once that is committed. `proved_end`: up to where
    its log once reached, by what stands beside it, if it does not any more; 0 where nothing says more. `held_when_cut`:
    all before it was committed, as was proven when a repair cut this log, see `repair_audits`. `votes` False: it counts
    for no majority, since its node may have gone on from there. `is_authoritative` False: it shows what its voter held,
    but not what that voter held last, so that it bounds nothing from above.
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
    votes: bool = True
    is_authoritative: bool = True

    @property
    def known_committed(self) -> int:
        """Up to where this replica itself knows its log to be committed."""
        return max(self.snapshot_end, self.high_watermark or 0)

    def end_in(self, epoch: int) -> int | None:
        """One past its last record of `epoch`, by its log or its snapshot; None when it holds none."""
        ends = [span.end_offset for span in self.epochs if span.epoch == epoch]
        if self.snapshot_epoch == epoch and self.snapshot_end > 0:
            ends.append(self.snapshot_end)
        return max(ends, default=None)


class CommittedBounds(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Records below `lower` were committed; those from `upper` on were not. `upper` None: too few replicas to say.

    `because` says in words where `lower` comes from.
    """

    lower: int
    upper: int | None
    because: str


def committed_bounds(replicas: Sequence[ReplicaExtent], voters: Sequence[ReplicaKey]) -> CommittedBounds:
    """The bounds for these replicas; observers among them vouch with their snapshots only.

    Two copies of one replica count once. `voters` is the voter set in force; empty when unknown, and then only
    snapshots and high watermarks vouch.
    """
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
    by_voter = [
        [replica for replica in replicas if replica.votes and is_voter(replica.key, [voter])] for voter in voters
    ]
    majority = majority_of(len(voters))
    held = _held_by_majority(by_voter, majority) if voters else None
    if held is not None:
        epoch, offset = held
        certain = min([offset, *_forks(replicas, epoch)])
        if certain > lower:
            lower, because = (
                certain,
                f"{_most_of(len(voters))} holds records of epoch {epoch} up to there",
            )
    once = _once_held(by_voter, majority)
    if voters and once is not None and once > lower and not _forks(replicas, _last_epoch(replicas)):
        lower, because = once, f"{_most_of(len(voters))} once held it, as files beside their logs prove"
    return CommittedBounds(lower=lower, upper=_upper(by_voter, majority, lower) if voters else None, because=because)


def _most_of(voters: int) -> str:
    return "the only voter" if voters == 1 else f"a majority of the {voters} voters"


def _held_by_majority(by_voter: Sequence[Sequence[ReplicaExtent]], majority: int) -> tuple[int, int] | None:
    """The last epoch of which a majority holds a record, and up to where a majority holds it."""
    everyone = [replica for copies in by_voter for replica in copies]
    epochs = {span.epoch for replica in everyone for span in replica.epochs}
    epochs |= {replica.snapshot_epoch for replica in everyone if replica.snapshot_end > 0}
    for epoch in sorted(epochs, reverse=True):
        best = [max((replica.end_in(epoch) or 0 for replica in copies), default=0) for copies in by_voter]
        ends = sorted((end for end in best if end > 0), reverse=True)
        if len(ends) >= majority:
            return epoch, ends[majority - 1]
    return None


def _once_held(by_voter: Sequence[Sequence[ReplicaExtent]], majority: int) -> int | None:
    """Up to where a majority of logs once reached, if that is more than is left of any of them on a majority."""
    ends = sorted((max(map(_once, copies), default=0) for copies in by_voter), reverse=True)
    if not any(replica.proved_end > _end(replica) for copies in by_voter for replica in copies):
        return None
    return ends[majority - 1] if len(ends) >= majority else None


def _once(replica: ReplicaExtent) -> int:
    return max(_end(replica), replica.proved_end)


def _last_epoch(replicas: Sequence[ReplicaExtent]) -> int:
    return max((replica.epochs[-1].epoch for replica in replicas if replica.epochs), default=-1)


def _forks(replicas: Sequence[ReplicaExtent], epoch: int) -> list[int]:
    """Where replicas hold a later epoch from a lower offset on.

    An entry of an old epoch that reached its majority under a later leader is not committed by that alone, and the
    holder of a later epoch may still win and overwrite it (Raft, 5.4.2): above such a fork nothing is certain.
    """
    return [span.start_offset for replica in replicas for span in replica.epochs if span.epoch > epoch]


def _upper(by_voter: Sequence[Sequence[ReplicaExtent]], majority: int, lower: int) -> int | None:
    """The largest log end that a majority can have had; a voter whose last log is not here may have any.

    None, too, where more is known to be committed: then one of these logs is not its voter's last.
    """
    told = [[replica for replica in copies if replica.is_authoritative] for copies in by_voter]
    present = [copies for copies in told if copies]
    needed = majority - (len(by_voter) - len(present))
    if needed <= 0:
        return None
    ends = sorted((max(map(_once, copies)) for copies in present), reverse=True)
    return ends[needed - 1] if ends[needed - 1] >= lower else None


def _end(replica: ReplicaExtent) -> int:
    return max(replica.log_end_offset, replica.snapshot_end)
