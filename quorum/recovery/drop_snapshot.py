"""A damaged checkpoint taken away, where an older one or the whole log says what it said.

Decides: that nothing is lost by it. Must not know: how it is written. Kafka reads the newest checkpoint when it starts,
and does not start when that is damaged.
"""

from __future__ import annotations

from collections.abc import Sequence

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.files import Files
from metadata_log.snapshot import parse_checkpoint_name
from quorum.recovery.advice import Step
from quorum.recovery.changes import FileChange, Rewrite
from quorum.recovery.copies import Copy, read_copy
from quorum.recovery.copy_parts import CheckpointFile
from quorum.recovery.errors import AlreadyDoneError, RefusedError
from quorum.recovery.facts import facts_of
from quorum.recovery.liveness import silence
from quorum.recovery.request import Proposal, Request, not_compared, refuse_unsafe, strange_missing
from quorum.recovery.targets import read_target


def propose_drop_snapshot(
    files: Files, target: str, copies: Sequence[str], request: Request, *, name: str | None = None
) -> Proposal:
    """Take a damaged checkpoint away; by default each that is newer than the newest whole one.

    Raises:
        RefusedError: none is damaged, or the log cannot be read without it.
        OSError: something cannot be read.
    """
    known, own = read_target(files, target, copies)
    damaged = _chosen(files, own, name)
    if own.state is None:
        raise RefusedError(
            f"{own.label}: without {damaged[0].name} its metadata cannot be told ({own.problem}). Let the node fetch "
            "the log anew; if no other controller has it, make one from a broker's copy (`kraft recover from-broker`)"
        )
    asked = refuse_unsafe(known, request, is_one_nodes=True)
    origin = "offset 0 of the log" if own.origin is None else own.origin.name
    rewrite = Rewrite(
        action="drop-snapshot",
        log_dir=own.place.log_dir,
        changes=tuple(FileChange(name=f"{METADATA_DIRECTORY}/{found.name}", content=None) for found in damaged),
        facts={
            **facts_of(known, own, lost=(), may_lose=None, asked=asked),
            "dropped": [found.name for found in damaged],
        },
    )
    return Proposal(
        action="drop-snapshot",
        rewrites=(rewrite,),
        says=(
            *(f"{found.name} is taken away: {found.problem}" for found in damaged),
            f"the node then starts from {origin}, and replays its log up to offset {own.end.offset}",
        ),
        keeps=f"everything up to offset {own.end.offset} of epoch {own.end.epoch}",
        warnings=(*silence(asked), *strange_missing(known, request), *not_compared(known, own)),
        asked=asked,
        steps=(Step(text="Start the node: it writes a new checkpoint in time"),),
    )


def _chosen(files: Files, own: Copy, name: str | None) -> list[CheckpointFile]:
    if name is not None:
        return [_named(files, own, name)]
    damaged = [found for found in own.checkpoints if found.problem is not None]
    if not damaged:
        raise AlreadyDoneError(
            f"{own.label} has no damaged checkpoint: its newest is whole already, and dropping it would gain nothing"
        )
    return damaged


def _named(files: Files, own: Copy, name: str) -> CheckpointFile:
    end = parse_checkpoint_name(name)
    found = next((one for one in own.checkpoints if one.end == end), None)
    if found is None:
        held = ", ".join(one.name for one in own.checkpoints) or "none"
        raise RefusedError(f"{own.label} has no checkpoint {name!r}: it has {held}")
    if not found.was_read:  # older than the newest whole one: read it by itself
        alone = read_copy(files, own.place, until=int(found.end.offset))
        found = next(one for one in alone.checkpoints if one.end == end)
    if found.problem is None:
        raise RefusedError(f"{own.label}: {name} is whole, and is not dropped")
    return found
