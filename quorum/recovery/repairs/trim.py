"""Drop the damaged beginning of a log whose content an intact checkpoint holds.

Decides: whether the checkpoint covers all of it. Must not know: how it is written. A node that reads its log from the
first segment on stops at the damage, and Kafka then drops every later record.

The repair appends nothing and keeps the end, so that it needs no new epoch.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metadata_log.files.port import Files
from metadata_log.tools.prefix.prefix_parts import PassedOver
from quorum.recovery.advice.commands import brokers_of, check_and_start, cut_line
from quorum.recovery.advice.directory_transfer import homes_of, take_home
from quorum.recovery.advice.newer_release import not_checked
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.liveness import silence
from quorum.recovery.guards.request import (
    Proposal,
    Request,
    files_in,
    not_compared,
    refuse_damaged,
    refuse_unsafe,
    refuse_unusable,
    strange_missing,
)
from quorum.recovery.journal.changes import Rewrite
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError
from quorum.recovery.repairs.audit_facts import facts_of
from quorum.recovery.repairs.new_log import cut_log
from quorum.recovery.repairs.targets import read_target


def propose_trim(files: Files, target: str, copies: Sequence[str], before: int, request: Request) -> Proposal:
    """Drop the records before offset `before` in the log of the directory `target`.

    Raises:
        RefusedError: no intact checkpoint ends there, or the log's end has to be cut first.
        AlreadyDoneError: the beginning is not damaged.
        OSError: something cannot be read.
    """
    known, own = read_target(files, target, copies)
    damage = _damage_of(known, own, before)
    asked = refuse_unsafe(known, request, is_one_nodes=True)
    check, start = check_and_start(known, own, "Start the node: it fetches what it lacks from the leader")
    rewrite = Rewrite(
        action="truncate",
        log_dir=own.place.log_dir,
        changes=cut_log(_with_tail(own), files_in(files, own.place.log_dir)),
        facts=msgspec.structs.replace(
            facts_of(known, own, asked=asked), before=own.start_offset, held_by=damage.held_by
        ),
    )
    return Proposal(
        action="truncate",
        rewrites=(rewrite,),
        says=(
            f"found: the beginning of the log of {own.label} is damaged at {damage}",
            f"changes: the log then begins at offset {own.start_offset}, where {damage.held_by} ends. That checkpoint "
            "is intact and holds everything before",
            *([] if own.stop is None else [f"the unfinished write at the end stays; the start cuts it: {own.stop}"]),
        ),
        keeps=f"everything up to offset {own.end.offset} of epoch {own.end.epoch}: the checkpoint, every record behind "
        "it, and the node's vote; no new epoch begins",
        warnings=(
            *silence(asked),
            *strange_missing(known, request),
            *not_compared(known, own),
            *not_checked(known.copies),
        ),
        asked=asked,
        steps=(check, *take_home(homes_of([own], known.best_with_metadata.voters, brokers_of(known))), start),
    )


def _damage_of(known: RepairEvidence, own: Copy, before: int) -> PassedOver:
    """Return the damage that the repair drops with the records before that offset.

    Raises:
        RefusedError: see `propose_trim`.
    """
    refuse_unusable(own)
    refuse_damaged(known, own)
    damage = own.passed_over
    if damage is None:
        raise AlreadyDoneError(
            f"the beginning of the log of {own.label} is sound: nothing is dropped, and the node trims its log by "
            "itself"
        )
    if before != own.start_offset:
        raise RefusedError(
            f"{damage.held_by} of {own.label} holds everything before offset {own.start_offset}, and the log is intact "
            f"from there on: give --before {own.start_offset}, not {before}"
        )
    if own.short is not None or (own.stop is not None and not _is_tail(own)):
        raise RefusedError(
            f"{own.label} ends before it should, too: {own.stop or own.short}. One command does both: "
            f"{cut_line(known, own)}"
        )
    return damage


def _is_tail(own: Copy) -> bool:
    """Return True if an unfinished write ends the last segment: the trim leaves it to the node's start."""
    stop, last = own.stop, own.prefix.segments[-1]
    return stop is not None and stop.is_torn and stop.file == f"{own.place.metadata}/{last.name}"


def _with_tail(own: Copy) -> Copy:
    """Return the copy with the unfinished write as part of its last segment: no byte behind the damage is removed."""
    if own.stop is None:
        return own
    *parts, last = own.prefix.segments
    whole = (*parts, msgspec.structs.replace(last, valid_size=last.size))
    return msgspec.structs.replace(own, prefix=msgspec.structs.replace(own.prefix, segments=whole))
