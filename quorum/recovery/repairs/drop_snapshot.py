"""Remove a damaged checkpoint whose content an older checkpoint or the whole log holds.

Decides: whether nothing is lost by it. Must not know: how it is written. Kafka reads the newest checkpoint when it
starts, and does not start if that is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.files.port import Files
from metadata_log.image import MetadataImage
from metadata_log.storage.checkpoint import parse_checkpoint_name
from metadata_log.tools.prefix.checkpoints import damage_of
from metadata_log.tools.prefix.prefix_parts import CheckpointFile
from quorum.recovery.advice.commands import brokers_of, check_and_start
from quorum.recovery.advice.directory_transfer import homes_of, take_home
from quorum.recovery.advice.faults import drop_line
from quorum.recovery.advice.newer_release import not_checked
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.liveness import silence
from quorum.recovery.guards.request import Proposal, Request, not_compared, refuse_unsafe, strange_missing
from quorum.recovery.journal.changes import FileChange, Rewrite
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError
from quorum.recovery.repairs.audit_facts import facts_of
from quorum.recovery.repairs.targets import read_target


def propose_drop_snapshot(
    files: Files, target: str, copies: Sequence[str], request: Request, *, name: str | None = None
) -> Proposal:
    """Remove a damaged checkpoint; by default every damaged one.

    Raises:
        RefusedError: the named one is intact, or the log cannot be read without it.
        AlreadyDoneError: no checkpoint is damaged.
        OSError: something cannot be read.
    """
    known, own = read_target(files, target, copies)
    damaged = _chosen(files, own, name)
    _check_readable_without(own, damaged[0].name)
    asked = refuse_unsafe(known, request, is_one_nodes=True)
    check, start = check_and_start(known, own, "Start the node: it writes its next checkpoint by itself")
    origin = "offset 0 of the log" if own.origin is None else own.origin.name
    rewrite = Rewrite(
        action="drop-snapshot",
        log_dir=own.place.log_dir,
        changes=tuple(FileChange(name=f"{METADATA_DIRECTORY}/{found.name}", content=None) for found in damaged),
        facts=msgspec.structs.replace(
            facts_of(known, own, asked=asked), dropped=tuple(found.name for found in damaged)
        ),
    )
    return Proposal(
        action="drop-snapshot",
        rewrites=(rewrite,),
        says=(
            *(f"found: {found.name} of {own.label} is damaged: {found.problem}" for found in damaged),
            f"changes: {'they are' if len(damaged) > 1 else 'it is'} taken away, and the node starts from {origin} and "
            f"replays its log up to offset {own.end.offset}",
        ),
        keeps=f"everything up to offset {own.end.offset} of epoch {own.end.epoch}: the log, whole checkpoints, and the "
        "node's vote",
        warnings=(
            *silence(asked),
            *strange_missing(known, request),
            *not_compared(known, own),
            *not_checked(known.copies),
        ),
        asked=asked,
        steps=(check, *take_home(homes_of([own], known.best_with_metadata.voters, brokers_of(known))), start),
    )


def _check_readable_without(own: Copy, name: str) -> None:
    """Raise RefusedError if the node could not read or begin its log without that checkpoint."""
    if own.state is None:
        raise RefusedError(
            f"{own.label}: without {name} its metadata cannot be read ({own.prefix.problem}). Let the node fetch the "
            "log again; if no other controller has it, make one from a broker's copy (`kraft recover from-broker`)"
        )
    if own.image is None or own.image.says_the_same_as(MetadataImage.empty()):
        raise RefusedError(
            f"{own.label} holds no metadata yet: its first leader takes voters and bootstrap records from {name}. "
            "Format the directory again, as it was"
        )


def beside_whole(known: RepairEvidence) -> Iterator[str]:
    """Yield sentences about damaged checkpoints that no start needs: the newest one is intact."""
    for copy in known.copies:
        damaged = [found for found in copy.prefix.checkpoints if found.problem is not None]
        if not damaged or damaged[0] is copy.prefix.checkpoints[0] or copy.place.manifest is not None:
            continue
        names = "; ".join(f"{copy.place.metadata}/{found.name}: {found.problem}" for found in damaged)
        yield (
            f"{names}. {copy.label} starts all the same, its newest checkpoint is whole; `{drop_line(copy)}` takes "
            f"{'it' if len(damaged) == 1 else 'them'} away while the node is stopped"
        )


def _chosen(files: Files, own: Copy, name: str | None) -> list[CheckpointFile]:
    if name is not None:
        return [_named(files, own, name)]
    damaged = [found for found in own.prefix.checkpoints if found.problem is not None]
    if not own.prefix.checkpoints:
        raise AlreadyDoneError(f"{own.label} has no checkpoint: there is nothing to drop")
    if not damaged:
        raise AlreadyDoneError(
            f"{own.label} has no damaged checkpoint: its newest is whole already, and dropping it would gain nothing"
        )
    return damaged


def _named(files: Files, own: Copy, name: str) -> CheckpointFile:
    end = parse_checkpoint_name(name)
    found = next((one for one in own.prefix.checkpoints if one.end == end), None)
    if found is None:
        held = ", ".join(one.name for one in own.prefix.checkpoints) or "none"
        raise RefusedError(f"{own.label} has no checkpoint {name!r}: it has {held}")
    if not found.was_read:
        problem = damage_of(files, f"{own.place.metadata}/{found.name}", found.end)
        found = msgspec.structs.replace(found, problem=problem)
    if found.problem is None:
        raise RefusedError(f"{own.label}: {name} is whole, and is not dropped")
    return found
