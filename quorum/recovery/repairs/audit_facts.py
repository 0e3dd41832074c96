"""What an audit file says of the cluster: epochs, offsets, what is kept and what is lost.

Decides: its words. Must not know: who asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from metadata_log.ids import ReplicaKey, id_text
from metadata_log.voters import VoterSet
from quorum.recovery.advice.newer_release import NOT_CHECKED, not_checked
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import Survey
from quorum.recovery.guards.liveness import Answer
from quorum.recovery.journal.repair_facts import LostRecords


def facts_of(
    known: Survey,
    kept: Copy,
    *,
    lost: Sequence[LostRecords],
    may_lose: str | None,
    asked: Sequence[Answer] = (),
    epoch: int | None = None,
    voters: VoterSet | None = None,
    own: ReplicaKey | None = None,
) -> dict[str, object]:
    """As plain data. `own`: whose directory is changed, where that is not the copy that is kept."""
    kept_key = kept.place.key
    return {
        "cluster_id": known.cluster_id,
        "node_id": kept.node_id if own is None else int(own.node_id),
        "directory_id": _directory_id(own or kept_key),
        "kept_copy": {
            "path": kept.place.log_dir, "node_id": kept.node_id, "directory_id": _directory_id(kept_key)
        },
        "kept_end_offset": int(kept.end.offset),
        "kept_epoch": int(kept.end.epoch),
        "greatest_known_epoch": known.greatest_epoch,
        "new_epoch": epoch,
        "lost_votes": [{"path": path, "why": why} for path, why in known.lost_votes],
        "voters_before": None if kept.voters is None else list(map(str, kept.voters)),
        "voters_after": None if voters is None else list(map(str, voters)),
        "copies": [
            {"path": copy.place.log_dir, "node_id": copy.node_id, "end_offset": int(copy.end.offset),
             "epoch": int(copy.end.epoch), "greatest_epoch": copy.greatest_epoch}
            for copy in known.copies
        ],
        "absent_nodes": [*known.absent_voters, *known.absent_brokers],
        "offsets_lost": [msgspec.to_builtins(found) for found in lost],
        "may_lose": may_lose,
        "asked": list(map(str, asked)),
        **unchecked_fact(known.copies),
    }  # fmt: skip


def unchecked_fact(copies: Iterable[Copy]) -> dict[str, str]:
    """Return what a later release wrote, and the repair did not check; empty where there is nothing."""
    said = not_checked(copies)
    return {NOT_CHECKED: said[0]} if said else {}


def _directory_id(key: ReplicaKey | None) -> str | None:
    return id_text(key.directory_id) if key is not None and any(key.directory_id) else None
