"""Epochs at their end: when no election is possible any more, and the command that brings them back.

Decides: which epoch is too late for an election. Must not know: how a quorum-state is reset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from metadata_log.offsets import LAST_EPOCH, is_at_last_epoch
from quorum.recovery.advice.commands import Step, command
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import Survey

COPIES_ARE_NOT_RESET: Final = (
    "A copy of another host's directory is named by --copy instead: its node is reset on its own host, with copies of "
    "the others"
)
"""For a reset in a copy alone: the directory that the node starts from keeps its epoch."""


def last_epoch_of(known: Survey) -> int:
    """Return the greatest epoch that any log here has a batch or a checkpoint of; -1 without one."""
    return max((epoch for copy in known.copies for epoch in _in_log(copy)), default=-1)


def _in_log(copy: Copy) -> Iterator[int]:
    yield int(copy.end.epoch)
    yield from (int(span.epoch) for span in copy.spans)
    yield from (int(found.end.epoch) for found in copy.checkpoints)
    if copy.stop is not None and copy.stop.false_epoch is not None:
        yield copy.stop.false_epoch


def at_end(known: Survey) -> tuple[Copy, ...]:
    """Return the voters' copies after whose epoch there is no room for elections."""
    return tuple(
        copy
        for copy in known.copies
        if known.is_voter(copy)
        and copy.quorum_state is not None
        and is_at_last_epoch(int(copy.quorum_state.leader_epoch))
    )


def situation_at_end(found: Sequence[Copy]) -> str:
    """Return what is wrong, in a sentence or two."""
    epoch = max(int(copy.quorum_state.leader_epoch) for copy in found if copy.quorum_state is not None)
    names = ", ".join(copy.label for copy in found)
    return (
        f"No election is possible any more: {names} {'know' if len(found) > 1 else 'knows'} epoch {epoch} by "
        f"quorum-state, and epochs end at {LAST_EPOCH + 1}. No cluster comes there by elections: a stranger's request "
        "or a changed file has brought it there. The logs are not touched by that."
    )


def steps_at_end(known: Survey, found: Sequence[Copy]) -> tuple[Step, ...]:
    """Return the command that resets the epoch of all voters, and what it needs."""
    words = [word for copy in found for word in ("--dir", copy.place.log_dir)]
    words += [word for copy in known.copies if copy not in found for word in ("--copy", copy.place.log_dir)]
    line = command("kraft", "recover", "epoch", *words)
    return (
        Step(text="Stop every controller, and close their ports to strangers: one request brings the epoch back there"),
        Step(
            text="Name the directories of all voters, and those of brokers and agents that there are. "
            f"{COPIES_ARE_NOT_RESET}. See what it would do; nothing is changed",
            commands=(line,),
        ),
        Step(text="Do it: it backs up first, and says how to undo it", commands=(f"{line} --apply",)),
    )
