"""Nodes that run on these directories, and the steps before any repair.

Decides: when the end of a log proves nothing, because the log grows. Must not know: how a lock is recognised.

A running broker is no obstacle: it only follows, and its copy may be as long as any. A running voter is. Logs are read
one after the other, so that each may seem to hold records that others lack. And a quorum that runs needs no repair.
"""

from __future__ import annotations

from collections.abc import Sequence

from quorum.recovery.advice.clones import clone_of
from quorum.recovery.advice.commands import contact, is_ours
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.electable import elects, unreached
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.next_steps import Command, Step, command, step_of


def use_of(copy: Copy) -> str | None:
    """Return a phrase that a node runs on this copy, or None."""
    if copy.used_by is None:
        return None
    return f"in use: a node runs on it ({f'pid {copy.used_by}' if copy.used_by else 'of another host or container'})"


def running_voters(known: RepairEvidence) -> tuple[Copy, ...]:
    """Return the copies in use whose nodes take part in elections."""
    return tuple(copy for copy in known.in_use if elects(known, copy))


def refuse_running(known: RepairEvidence) -> None:
    """Refuse a repair while a voter runs, even if none of its addresses responds.

    Raises:
        RefusedError: with the voter that runs.
    """
    for copy in running_voters(known):
        raise RefusedError(
            f"{copy.label} is {use_of(copy)}, and it votes: ask it first (kraft recover inspect says how), or stop it "
            "and run the command again"
        )


def situation_of(running: Sequence[Copy]) -> str:
    """Return the situation: which nodes run, and that the ends of their logs prove nothing."""
    names = ", ".join(copy.label for copy in running)
    return (
        f"This quorum has running nodes: {names}. Their logs grow while they are read, one after the other. Logs that "
        "end at different offsets are therefore no sign of loss or damage, and no repair can be planned from them."
    )


def steps_of(known: RepairEvidence, running: Sequence[Copy]) -> tuple[Step, ...]:
    """Return the steps: ask the running controllers; stop all of them before any repair."""
    dirs = [copy.place.log_dir for copy in known.copies]
    return (
        *_stay_stopped(known),
        step_of(
            text="Ask the running controllers first. If they have a leader, the quorum works and needs no repair: "
            "remove a voter that does not start from the voters, format it again and add it again",
            commands=_questions(known, running),
        ),
        Step(
            text="Only if they have no leader and cannot elect one: stop every controller, and keep those that must "
            "not come back from starting, so that no log grows; if these directories are copies, make the copies again"
        ),
        step_of(text="Then inspect all again", commands=(command("kraft", "recover", "inspect", *dirs),)),
    )


def _stay_stopped(known: RepairEvidence) -> tuple[Step, ...]:
    """Return the step for stopped controllers that a repair has not reached: they would elect among themselves."""
    half = unreached(known)
    names = ", ".join(copy.label for copy in (half[1] if half is not None else ()) if copy.used_by is None)
    if half is None or not names:
        return ()
    return (
        Step(
            text=f"Do not start {names} from these directories: a repair on {half[0].label} has changed the voters, "
            "and these directories still have the old ones"
        ),
    )


def _questions(known: RepairEvidence, running: Sequence[Copy]) -> tuple[Command, ...]:
    voters = known.best_with_metadata.voters
    ids = [copy.node_id for copy in running]
    at = [contact(voter.endpoints) for voter in voters or () if voter.key.node_id in ids]
    is_elsewhere = clone_of(known) is not None  # what its log names is the first cluster's
    address = "HOST:PORT" if is_elsewhere else next((one for one in at if one is not None), "HOST:PORT")
    if is_ours(voters):
        return (command("kraft", "quorum", "describe", "--bootstrap-controller", address, "--replication"),)
    tool = ("bin/kafka-metadata-quorum.sh", "--bootstrap-controller", address, "describe")
    return command(*tool, "--status"), command(*tool, "--replication")
