"""The facts of a proposed repair, for its audit file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metadata_log.ids import ReplicaKey, id_text
from metadata_log.voters import VoterSet
from quorum.recovery.advice.newer_release import not_checked
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.liveness import ProbeResult
from quorum.recovery.journal.repair_facts import CopyThen, KeptCopy, LostRecords, LostVote, MayLose, RepairFacts


def facts_of(
    known: RepairEvidence,
    kept: Copy,
    *,
    lost: Sequence[LostRecords] = (),
    may_lose: MayLose | None = None,
    asked: Sequence[ProbeResult] = (),
    epoch: int | None = None,
    voters: VoterSet | None = None,
    own: ReplicaKey | None = None,
) -> RepairFacts:
    """Return the facts. `own`: the replica of the changed directory, if that is not the kept copy."""
    kept_key = kept.place.key
    return RepairFacts(
        cluster_id=known.cluster_id,
        node_id=kept.node_id if own is None else int(own.node_id),
        directory_id=_directory_id(own or kept_key),
        kept_copy=KeptCopy(path=kept.place.log_dir, node_id=kept.node_id, directory_id=_directory_id(kept_key)),
        kept_end_offset=int(kept.end.offset),
        kept_epoch=int(kept.end.epoch),
        greatest_known_epoch=known.greatest_epoch,
        new_epoch=epoch,
        lost_votes=tuple(LostVote(path=path, why=why) for path, why in known.lost_votes),
        voters_before=_texts(kept.voters),
        voters_after=_texts(voters),
        copies=tuple(map(_copy_then, known.copies)),
        absent_nodes=(*known.absent_voters, *known.absent_brokers),
        offsets_lost=tuple(lost),
        may_lose=may_lose,
        asked=tuple(map(str, asked)),
        not_checked=unchecked_fact(known.copies),
    )


def unchecked_fact(copies: Iterable[Copy]) -> str | None:
    """Return a sentence about parts that a later release wrote and the repair did not check, or None."""
    return next(iter(not_checked(copies)), None)


def _copy_then(copy: Copy) -> CopyThen:
    return CopyThen(
        path=copy.place.log_dir,
        node_id=copy.node_id,
        end_offset=int(copy.end.offset),
        epoch=int(copy.end.epoch),
        greatest_epoch=copy.greatest_epoch,
    )


def _texts(voters: VoterSet | None) -> tuple[str, ...] | None:
    return None if voters is None else tuple(map(str, voters))


def _directory_id(key: ReplicaKey | None) -> str | None:
    return id_text(key.directory_id) if key is not None and any(key.directory_id) else None
