"""What an audit file says of the cluster: epochs, offsets, what is kept and what is lost.

Decides: its words. Must not know: who asked.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metadata_log.ids import id_text
from metadata_log.voters import VoterSet
from quorum.recovery.copies import Copy
from quorum.recovery.liveness import Answer
from quorum.recovery.survey import Excess, Survey


def facts_of(
    known: Survey,
    kept: Copy,
    *,
    lost: Sequence[Excess],
    may_lose: str | None,
    asked: Sequence[Answer] = (),
    epoch: int | None = None,
    voters: VoterSet | None = None,
) -> dict[str, object]:
    """As plain data."""
    identity = kept.place.identity
    directory_id = None if identity is None else identity.directory_id
    return {
        "cluster_id": known.cluster_id,
        "node_id": kept.node_id,
        "directory_id": None if directory_id is None else id_text(directory_id),
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
    }  # fmt: skip
