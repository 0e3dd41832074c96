"""Epochs near their limit: how many elections are left, and the command that resets them.

Decides: which epoch a reset gives. Must not know: how a quorum-state is reset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from metadata_log.offsets import LAST_EPOCH, epochs_left, is_near_last_epoch
from metadata_log.tools.findings.last_epochs import elections_left
from quorum.recovery.advice.commands import copy_words, vote_words
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.conflicts import LEAST_GAP
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.next_steps import Step, command, step_of

COPIES_ARE_NOT_RESET: Final = (
    "Name a copy of another host's directory with --copy instead: its node is reset on its own host, with copies of "
    "the others"
)
"""Said because a reset in a copy alone has no effect: the node's own directory keeps its epoch."""
NO_WAY_BACK: Final = (
    " Only an earlier backup has lower epochs (kraft snapshot restore), and everything after it is lost: "
    "`kraft docs runbooks/epochs-ended`"
)
"""Said of logs whose own records have one of the last epochs."""


def last_epoch_of(known: RepairEvidence) -> int:
    """Return the greatest epoch of any batch or checkpoint in any log here; -1 without one."""
    return max((epoch for copy in known.copies for epoch in _in_log(copy)), default=-1)


def _in_log(copy: Copy) -> Iterator[int]:
    yield int(copy.end.epoch)
    yield from (int(span.epoch) for span in copy.spans)
    yield from (int(found.end.epoch) for found in copy.prefix.checkpoints)
    if copy.stop is not None and copy.stop.false_epoch is not None:
        yield copy.stop.false_epoch


def reset_epoch(known: RepairEvidence, copy: Copy) -> int | None:
    """Return the epoch that a reset gives this copy's quorum-state; None if it would leave a voter no election.

    A voter gets 1,000 above all logs, or 1 above them if the limit is too near for that. An observer never votes: with
    its own log's epoch it can follow any leader.
    """
    if not known.is_voter(copy):
        return max(0, int(copy.end.epoch))
    epoch = _above(last_epoch_of(known))
    return epoch if epochs_left(epoch) > 0 else None


def _above(newest: int) -> int:
    return newest + (1 if is_near_last_epoch(newest + LEAST_GAP) else LEAST_GAP)


def is_to_reset(known: RepairEvidence, copy: Copy) -> bool:
    """Return True if the epoch of its quorum-state is above the epoch that a reset gives to voters.

    An observer is reset, too, if its epoch is above those of the voters.
    """
    newest, voters = last_epoch_of(known), [one for one in known.copies if known.is_voter(one)]
    limit = _above(newest)
    if copy not in voters and voters:
        limit = min(limit, max(newest, *map(epoch_of, voters)))
    elif epochs_left(limit) == 0:
        limit = newest
    return epoch_of(copy) > limit


def near_end(known: RepairEvidence) -> tuple[Copy, ...]:
    """Return the voters' copies whose epoch leaves only few elections."""
    return tuple(copy for copy in known.copies if known.is_voter(copy) and _is_near(copy))


def observers_near_end(known: RepairEvidence) -> tuple[Copy, ...]:
    """Return the observers' copies with such an epoch that is not in their own log: they ignore every leader."""
    return tuple(
        copy
        for copy in known.copies
        if known.voters and not known.is_voter(copy) and _is_near(copy) and is_to_reset(known, copy)
    )


def _is_near(copy: Copy) -> bool:
    return copy.quorum_state is not None and is_near_last_epoch(int(copy.quorum_state.leader_epoch))


def is_ended(found: Sequence[Copy]) -> bool:
    """Return True if one of them has the last epoch: it brings the other voters there, or waits for them there."""
    return any(epochs_left(epoch_of(copy)) == 0 for copy in found)


def epoch_of(copy: Copy) -> int:
    """Return the epoch of its quorum-state; -1 without one."""
    return -1 if copy.quorum_state is None else int(copy.quorum_state.leader_epoch)


def situation_near_end(known: RepairEvidence, found: Sequence[Copy]) -> str:
    """Return sentences about the elections left, and about records of such epochs in the logs."""
    epoch, newest = max(map(epoch_of, found)), last_epoch_of(known)
    names = ", ".join(copy.label for copy in found)
    said = (
        f"{elections_left(epoch)}: {names} {'know' if len(found) > 1 else 'knows'} epoch {epoch} by "
        f"quorum-state, and epochs end at {LAST_EPOCH + 1}. Elections alone never reach it: a request from outside the "
        "cluster, or a changed file, raised the epoch."
    )
    if not is_near_last_epoch(newest):
        return f"{said} The logs are not touched by that."
    holders = ", ".join(copy.label for copy in known.copies if newest in _in_log(copy))
    said += f" The log of {holders} has records of epoch {newest} itself, and no command lowers that."
    reset = [value for copy in found if is_to_reset(known, copy) and (value := reset_epoch(known, copy)) is not None]
    if reset:
        after = elections_left(max(reset))
        said += f" With the epochs reset: {after[0].lower()}{after[1:]}."
    return said


def steps_near_end(known: RepairEvidence, found: Sequence[Copy]) -> tuple[Step, ...]:
    """Return the steps that reset the epoch of all voters, or those that remain if no reset helps."""
    due = [copy for copy in found if is_to_reset(known, copy)]
    if any(reset_epoch(known, copy) is None for copy in found):
        return (_restore(),)
    if not due:
        return (Step(text="Keep the controllers running: each change of the leader uses up an epoch"), _restore())
    words = [word for copy in due for word in ("--dir", copy.place.log_dir)]
    words += [*copy_words(known, due), *vote_words(known)]
    line = command("kraft", "recover", "epoch", *words)
    return (
        Step(text="Stop every controller, and close their ports to other hosts: one request raises the epoch again"),
        step_of(
            text="Name the directories of all voters, and of all brokers and agents here. "
            f"{COPIES_ARE_NOT_RESET}. See what it would do; nothing is changed",
            commands=(line,),
        ),
        step_of(text="Do it: it backs up first, and says how to undo it", commands=(line.and_words("--apply"),)),
    )


def _restore() -> Step:
    return step_of(
        text="Only an earlier backup has lower epochs, and everything after it is lost: move every controller's log "
        "directory away, and restore that backup in its place. A backup made now has the same epochs. Move the "
        "metadata log of each broker and agent away, too (`kraft docs runbooks/epochs-ended`)",
        commands=(command("kraft", "snapshot", "restore", "BACKUP", "DATA_DIR", "--node-id", "ID"),),
    )


def situation_of_observers(found: Sequence[Copy]) -> str:
    """Return the situation if only observers have such an epoch."""
    names = ", ".join(f"{copy.label} (epoch {epoch_of(copy)})" for copy in found)
    return f"By quorum-state, {names} ignores every leader of a lower epoch. It has no vote: stop no controller for it."


def observer_steps(found: Sequence[Copy]) -> Iterator[Step]:
    """Yield the command for each observer: it resets that observer's file alone."""
    for copy in found:
        line = command("kraft", "recover", "epoch", "--dir", copy.place.log_dir, "--apply")
        yield step_of(
            text=f"{copy.label} is an observer with a higher epoch, and ignores every leader: with its node "
            "stopped, reset that file",
            commands=(line,),
        )


def refuse_ended(known: RepairEvidence) -> None:
    """Refuse if the voters are intact but no epoch is left in which they could elect a leader.

    Raises:
        RefusedError: with the command that resets the epochs, if one does.
    """
    found = near_end(known)
    if is_ended(found):
        lines = [line for step in steps_near_end(known, found)[-1:] for line in step.commands]
        raise RefusedError(
            f"{situation_near_end(known, found)} Before anything else, with every controller stopped: {lines[0]}"
        )
