"""What can be done about a cluster of which these copies are left, and what is best.

Decides: which repairs are possible, what each keeps and loses in words, and the recommended steps. Must not know: how
they are done.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from metadata_log.files import Files
from metadata_log.tools.times import time_text
from quorum.recovery.advice import Step, absent_words, command, is_ours
from quorum.recovery.copies import Copy
from quorum.recovery.survey import Excess, Survey, excess, shortfalls, unreached


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One way out.

    Attributes:
        name: of the command, `start` where nothing needs a repair.
        on: the copy that is kept.
        keeps, loses: in sentences; `loses` what is known, `may_lose` what cannot be known.
        refused: why it is not possible; None where it is.
        lost: the known losses as data.
    """

    name: str
    on: str
    keeps: str
    loses: tuple[str, ...] = ()
    may_lose: str | None = None
    refused: str | None = None
    lost: tuple[Excess, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The situation, every repair, and the recommended steps in order. `is_whole`: a majority is here and sound."""

    is_whole: bool
    situation: str
    repairs: tuple[Repair, ...]
    steps: tuple[Step, ...]


def make_plan(files: Files, known: Survey) -> Plan:
    """What to do with these copies."""
    repairs = tuple(_repairs(files, known))
    half = unreached(known)
    if half is not None and any(known.is_voter(copy) for copy in half[1]):
        return _half_done(*half, repairs)
    sound = [copy for copy in known.copies if known.is_voter(copy) and fault_of(copy) is None]
    present = {copy.node_id for copy in sound}
    if known.voters and len(present) >= len(known.voters) // 2 + 1:
        return _nothing_lost(known, sound, repairs)
    return _majority_lost(known, repairs)


def _half_done(done: Copy, behind: tuple[Copy, ...], repairs: tuple[Repair, ...]) -> Plan:
    begun = -1 if done.repair is None else int(done.repair.epoch)
    names = ", ".join(copy.label for copy in behind)
    situation = (
        f"A repair is half done: what began epoch {begun} on {done.label} has not reached {names}, or was undone "
        "there. Start none of them: they would go on with different voters."
    )
    undo = command("kraft", "recover", "undo", "--dir", done.place.log_dir, "--apply")
    steps = (
        Step(text="Run the repair again on all its directories, with --apply, as their audit files have it"),
        Step(text="Or take it back wherever it was done", commands=(undo,)),
    )
    return Plan(is_whole=False, situation=situation, repairs=repairs, steps=steps)


def fault_of(copy: Copy) -> str | None:
    """Why a node would not start from this copy as it is, or not without loss; None where it would."""
    if copy.place.identity is None:
        return copy.place.complaint
    if copy.stop is not None and not copy.stop.is_torn:
        return f"it is damaged: {copy.stop}" + (f"; {copy.short}" if copy.short is not None else "")
    if copy.short is not None:
        return copy.short
    if copy.problem is not None or copy.quorum_problem is not None:
        return copy.problem or copy.quorum_problem
    newest = copy.checkpoints[0] if copy.checkpoints else None
    if newest is not None and newest.problem is not None:
        return f"its newest checkpoint is damaged: {newest.problem}"
    return None


def usable(copy: Copy) -> str | None:
    """Why its safe part cannot be made a controller's log; None where it can."""
    if copy.is_newer:
        return f"{copy.problem}"
    if copy.state is None:
        return f"its metadata cannot be told: {copy.problem}"
    if copy.image is None or copy.image.features.metadata_version is None:
        return "it holds no metadata yet"
    return None


def may_lose(known: Survey, kept: Copy) -> str | None:
    """What no copy can tell; None where nothing that was committed can be missing from the copies."""
    if not known.majority_is_absent:
        return None
    if not known.voters:
        return "who voted is not known, so records that no copy here holds may have been committed"
    since = f"after {time_text(kept.last_timestamp_ms)}" if kept.last_timestamp_ms >= 0 else "at any time"
    absent = ", ".join(map(str, known.absent_voters)) or "damaged ones"
    return (
        f"records that a majority with voters {absent} acknowledged {since}, past offset {kept.end.offset}, and that "
        "no copy here holds: how many cannot be known"
    )


def _repairs(files: Files, known: Survey) -> Iterator[Repair]:
    for copy in known.copies:
        lost = (*(found for found in excess(files, known, copy) if found.records), *shortfalls(known))
        name = "standalone" if known.is_voter(copy) else "from-broker"
        if copy.kraft_version == 0 and copy.static_voters:
            name = "static-voters" if known.is_voter(copy) else "from-broker"
        yield Repair(
            name=name,
            on=copy.label,
            keeps=f"everything up to offset {copy.end.offset} of epoch {copy.end.epoch}",
            loses=tuple(map(str, lost)),
            may_lose=may_lose(known, copy),
            refused=usable(copy),
            lost=lost,
        )


def _nothing_lost(known: Survey, sound: list[Copy], repairs: tuple[Repair, ...]) -> Plan:
    names = ", ".join(str(copy.node_id) for copy in sound)
    situation = f"A majority of the voters is here and sound ({names} of {len(known.voters)}): no metadata is lost."
    steps = [Step(text=f"Start controllers {names} as they are: they elect a leader by themselves")]
    steps += [_mend(copy) for copy in known.copies if known.is_voter(copy) and fault_of(copy) is not None]
    targets = [word for copy in sound for word in ("--dir", copy.place.log_dir)]
    voters = known.told_by.voters
    if voters is not None:
        sets = [word for voter in voters for word in ("--set", f"{voter.key.node_id}@HOST:PORT")]
        steps.append(
            Step(
                text="If they do not find each other because addresses changed: write the new ones into all of them",
                commands=(command("kraft", "recover", "voters", *targets, *sets),),
            )
        )
    return Plan(is_whole=True, situation=situation, repairs=repairs, steps=tuple(steps))


def _mend(copy: Copy) -> Step:
    """What to do about a damaged voter while a majority is sound."""
    newest = copy.checkpoints[0] if copy.checkpoints else None
    is_sound = copy.state is not None and copy.stop is None and copy.quorum_problem is None
    if is_sound and newest is not None and newest.problem is not None:
        line = command("kraft", "recover", "drop-snapshot", "--dir", copy.place.log_dir, "--missing", "rest", "--apply")
        return Step(text=f"{copy.label} does not start: {fault_of(copy)}. Before the others lead", commands=(line,))
    return Step(
        text=f"{copy.label} does not start: {fault_of(copy)}. Once the others lead, remove it from the voters, format "
        "its directory anew, let it fetch the log, and add it again"
    )


def _majority_lost(known: Survey, repairs: tuple[Repair, ...]) -> Plan:
    chosen = next((copy for copy, repair in zip(known.copies, repairs, strict=True) if repair.refused is None), None)
    voters = len(known.voters)
    absent = f", {', '.join(map(str, known.absent_voters))} are absent." if known.absent_voters else "."
    situation = f"No majority of the voters is here and sound: {voters} vote, {voters // 2 + 1} are needed{absent}"
    if not known.voters:
        situation = "No majority of the voters is known to be here and sound: no copy here says who votes."
    fence = Step(
        text="Make sure that no other controller of this cluster runs or can come back: an old majority that was only "
        "cut off would go on by itself. Power it off, or block its ports"
    )
    bring = Step(text="Bring a copy of every broker's metadata log here, and name it too: it may be the longest")
    first = [fence, bring] if known.absent_brokers or chosen is None else [fence]
    if chosen is None:
        last = Step(
            text="No copy that is here can be made a controller's log. Where none of the brokers' can either: restore "
            "a backup",
            commands=(_RESTORE,),
        )
        return Plan(is_whole=False, situation=situation, repairs=repairs, steps=(*first, last))
    return Plan(is_whole=False, situation=situation, repairs=repairs, steps=(*first, *_steps_for(known, chosen)))


_RESTORE = "kraft snapshot restore BACKUP DIR --node-id N --voters ID@HOST:PORT:DIRECTORY_ID"


def _steps_for(known: Survey, chosen: Copy) -> list[Step]:
    others = [word for copy in known.copies if copy is not chosen for word in ("--copy", copy.place.log_dir)]
    words: list[object]
    if known.is_voter(chosen):
        name = "standalone" if chosen.kraft_version > 0 else "static-voters"
        named = [] if name == "standalone" else ["--set", f"{chosen.node_id}@HOST:PORT"]
        words = ["kraft", "recover", name, "--dir", chosen.place.log_dir, *named, *others, *absent_words(known)]
        target = chosen.place.log_dir
    else:
        target = "NEW_DATA_DIR"
        node_id = known.voters[0].node_id if known.voters else "N"
        words = [
            "kraft", "recover", "from-broker", "--broker-dir", chosen.place.log_dir, *others, "--dir", target,
            "--node-id", node_id, "--endpoint", "CONTROLLER://HOST:PORT", *absent_words(known),
        ]  # fmt: skip
    start = (
        "kraft controller start --config node.properties"
        if is_ours(known.told_by.voters)
        else "bin/kafka-server-start.sh server.properties"
    )
    return [
        Step(text="See what it would do; nothing is changed", commands=(command(*words),)),
        Step(text="Do it: it backs up first, and says how to undo it", commands=(command(*words, "--apply"),)),
        Step(text="Check the result before anything starts", commands=(command("kraft", "recover", "verify", target),)),
        Step(text="Start it, then follow what the command printed for the other controllers", commands=(start,)),
    ]
