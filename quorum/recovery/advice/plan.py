"""The plan for a cluster of which these copies are left: every repair that is possible, and the best one.

Decides: which repairs are possible, what each keeps and loses in words, and the recommended steps. Must not know: how
they are done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from metadata_log.directory import PARTITION_METADATA_FILE
from metadata_log.files.port import Files
from metadata_log.image import MetadataImage
from metadata_log.voters import GRPC_LISTENER
from quorum.recovery.advice.clones import clone_of, moved_clone, told_of_clone
from quorum.recovery.advice.commands import absent_words, command, copy_words
from quorum.recovery.advice.discarded_records import (
    danger,
    endangered,
    keep_first,
    left_behind_here,
    not_whole,
)
from quorum.recovery.advice.epochs_at_end import (
    is_ended,
    is_to_reset,
    near_end,
    observer_steps,
    observers_near_end,
    situation_near_end,
    situation_of_observers,
    steps_near_end,
)
from quorum.recovery.advice.faults import (
    end_note,
    fault_among,
    fault_of,
    lasting_fault,
    mend_first,
    mends,
    no_majority,
    rebuild_epochs,
    rename_first,
)
from quorum.recovery.advice.lent_checkpoint import borrow, or_lent
from quorum.recovery.advice.newer_release import leave_to_its_release, why_not_written
from quorum.recovery.advice.obstacles import obstacle, old_voters, outvoted, unsettled
from quorum.recovery.advice.repair_steps import before_repair, controllers_named, start_as_they_are, steps_for
from quorum.recovery.advice.running_nodes import running_voters, situation_of, steps_of
from quorum.recovery.advice.stale_replicas import all_there, kept_out, told_of_stale
from quorum.recovery.advice.unable_to_follow import left_behind, set_aside
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.sidecar_files import Unread
from quorum.recovery.evidence.abandoned_branch import is_past_repair
from quorum.recovery.evidence.lost_records import excess, shortfalls
from quorum.recovery.evidence.repair_evidence import Survey
from quorum.recovery.evidence.same_log import shows_one_log
from quorum.recovery.journal.repair_facts import LostRecords, MayLose, Step, kept_words


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One repair, of one copy.

    Attributes:
        name: of the command; `start` if nothing needs a repair.
        on: the copy that is kept.
        keeps, loses: in sentences; `loses` has the known losses.
        may_lose: losses that cannot be known.
        cannot_follow: nodes that cannot go on from their copies here afterwards, in sentences.
        refused: why it is not possible, or None.
        lost: the known losses as data.
        is_behind: a copy here goes on past the kept one. If `lost` is empty, it has only NoOps and elections there.
    """

    name: str
    on: str
    keeps: str
    loses: tuple[str, ...] = ()
    may_lose: MayLose | None = None
    cannot_follow: tuple[str, ...] = ()
    refused: str | None = None
    lost: tuple[LostRecords, ...] = ()
    is_behind: bool = False


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The situation, every repair, and the recommended steps in order. `is_whole`: an intact majority is here."""

    is_whole: bool
    situation: str
    repairs: tuple[Repair, ...]
    steps: tuple[Step, ...]


def make_plan(files: Files, known: Survey) -> Plan:
    """Return the plan for these copies."""
    plan, observers = _plan(files, known), observers_near_end(known)
    if not observers:
        return plan
    steps = (*plan.steps, *observer_steps(observers))
    situation = f"{plan.situation} {situation_of_observers(observers)}"
    return msgspec.structs.replace(plan, is_whole=False, situation=situation, steps=steps)


def _plan(files: Files, known: Survey) -> Plan:
    sound = sound_voters(known)
    is_majority = known.has_majority(sound)
    running, near = running_voters(known), near_end(known)
    ended = near if is_ended(near) or any(is_to_reset(known, copy) for copy in near) else ()
    if running and ended:
        situation = f"{situation_near_end(known, ended)} {situation_of(running)}"
        return Plan(is_whole=False, situation=situation, repairs=(), steps=steps_near_end(known, ended))
    if running:
        situation = f"{situation_of(running)} {situation_near_end(known, near)}" if near else situation_of(running)
        return Plan(is_whole=is_majority, situation=situation, repairs=(), steps=steps_of(known, running))
    repairs = tuple(_repairs(files, known))
    found = obstacle(files, known) or (None if is_majority else unsettled(known))
    if found is not None:
        return Plan(is_whole=False, situation=found.situation, repairs=repairs, steps=found.steps)
    if ended:
        steps = steps_near_end(known, ended)
        return Plan(is_whole=False, situation=situation_near_end(known, ended), repairs=repairs, steps=steps)
    whole = whole_voters(known)
    lack = lacking(known, whole) if known.has_majority(whole) else None
    is_here = is_majority and lack is None
    plan = _majority_here(known, sound, repairs) if is_here else _majority_lost(known, repairs, lack)
    if near:
        situation = f"{plan.situation} {situation_near_end(known, near)}"
        plan = msgspec.structs.replace(plan, situation=situation, steps=(*plan.steps, *steps_near_end(known, near)))
    return msgspec.structs.replace(
        plan, steps=(*rename_first(known), *rebuild_epochs(known), *keep_first(known), *plan.steps)
    )


def sound_voters(known: Survey) -> list[Copy]:
    """Return those of the voters' copies that are authoritative."""
    return [copy for copy in whole_voters(known) if known.is_authoritative(copy)]


def whole_voters(known: Survey) -> list[Copy]:
    """Return the voters' copies of the best log from which a node starts, at once or after its own repair."""
    whole = [copy for copy in known.copies if known.is_voter(copy) and lasting_fault(copy) is None]
    return [copy for copy in whole if shows_one_log(whole[0], copy)]


def lacking(known: Survey, voters: Sequence[Copy]) -> str | None:
    """Return why these voters could elect a leader that lacks committed records, or None."""
    risky = endangered(known)
    if risky:
        return f"{danger(known, risky)}."
    best = max(voters, key=lambda copy: copy.rank)
    end = max(int(copy.end.offset) for copy in voters)
    if end >= known.bounds_left.lower:
        return None  # what is beyond was an accepted loss
    holders = [copy for copy in known.copies if copy.end.offset > end]
    if is_past_repair(best, holders):
        return None  # a repair discarded them, with notice
    names = ", ".join(str(copy.node_id) for copy in voters)
    return (
        f"A majority of the voters is here ({names}), but their logs end at offset {end}, and all before "
        f"{known.bounds_left.lower} was committed ({known.bounds_left.because}): they were set back to older copies, "
        "or copied before the others. Started as they are, they go on without that."
    )


def usable(copy: Copy) -> str | None:
    """Return why its valid prefix cannot be made a controller's log; None if it can."""
    if copy.state is None:
        return f"its metadata cannot be told: {copy.prefix.problem}"
    if copy.place.manifest is not None and copy.is_damaged:
        return f"it is damaged at {copy.stop}, and in an export nothing is mended: name the directory it was made of"
    if copy.image is None or (copy.image.says_the_same_as(MetadataImage.empty()) and not copy.newer.hides_metadata):
        return "it holds no metadata yet"
    return None


def _nameless(known: Survey, copy: Copy) -> str | None:
    """Return why no controller's directory can be made without a cluster id, if no copy here has one; or None."""
    if known.cluster_id is not None:
        return None
    return (
        f"{copy.place.complaint}, and no copy here says which cluster this is: bring the file back, or name a whole "
        "log directory of another node, too"
    )


def may_lose(known: Survey, kept: Copy) -> MayLose | None:
    """Return the loss that no copy can show; None if no committed record can be missing from the copies."""
    if not known.majority_is_absent:
        return None
    if not known.voters:
        return MayLose()
    absent = tuple(map(int, known.unheard_voters))
    if known.undecided is not None:  # if voters dropped that change, their log diverged before it
        return MayLose(voters=absent, past_offset=int(known.bounds.lower), is_undecided=True)
    since_ms = kept.prefix.last_timestamp_ms if kept.prefix.last_timestamp_ms >= 0 else None
    return MayLose(voters=absent, since_ms=since_ms, past_offset=int(kept.end.offset))


def _repairs(files: Files, known: Survey) -> Iterator[Repair]:
    contradicted = "copies contradict each other: leave the wrong one out first" if known.conflicts else None
    for copy in known.copies:
        more = excess(files, known, copy)
        lost = (*(found for found in more if found.says_something), *shortfalls(known))
        name = "standalone" if known.is_voter(copy) else "from-broker"
        if copy.kraft_version == 0 and copy.static_voters:
            name = "static-voters" if known.is_voter(copy) else "from-broker"
        yield Repair(
            name=name,
            on=copy.label,
            keeps=kept_words(copy.end),
            loses=tuple(map(str, lost)),
            may_lose=may_lose(known, copy),
            cannot_follow=tuple(map(str, left_behind(known, copy))),
            refused=contradicted
            or or_lent(known, copy, usable(copy))
            or why_not_written(copy)
            or _nameless(known, copy),
            lost=lost,
            is_behind=bool(more),
        )


_NOTHING_YET = (
    "They hold no record yet, as after their formatting: started, they begin a new cluster. If this one ran before, "
    "its metadata is not here: start none of them, and look for its directories."
)


def _majority_here(known: Survey, sound: list[Copy], repairs: tuple[Repair, ...]) -> Plan:
    count = f"{len(sound)} of {len(known.voters)}: {controllers_named(sound)}"
    situation = f"A majority of the voters is here and sound ({count})"
    best = max(sound, key=lambda copy: copy.rank)
    loses = [one for repair in repairs if repair.on == best.label for one in repair.lost]
    lost = (*not_whole(known), *left_behind_here(known, loses))
    if lost:
        situation += f". But metadata is lost, or may be: {'; '.join(lost)}."
    else:
        situation += f": {all_there(known)}" if best.end.offset > 0 else f". {_NOTHING_YET}"
    situation += told_of_stale(known) + told_of_clone(known)
    faulty = [copy for copy in known.copies if known.is_authoritative(copy) and lasting_fault(copy) is not None]
    as_they_are = [copy for copy in sound if fault_of(copy) is None]
    steps = [*old_voters(known), *set_aside(left_behind(known, best, adds_voters=False)), *mend_first(sound)]
    steps += _move_away(sound)
    move, is_clone, waits = _move(known, sound), clone_of(known) is not None, len(as_they_are) < len(sound)
    steps += move if is_clone else []
    steps.append(Step(text=start_as_they_are(sound, waits=waits or (is_clone and bool(move)))))
    steps += [*kept_out(known), *(_replace(known, copy) for copy in faulty)]
    steps += [
        Step(
            text=f"{copy.label} contradicts the voters, who hold the same: it never starts from that log again. Move "
            "it away, and let the node fetch it anew"
        )
        for copy in outvoted(known)
    ]
    steps += [] if is_clone else move
    return Plan(is_whole=known.has_majority(as_they_are), situation=situation, repairs=repairs, steps=tuple(steps))


def _move(known: Survey, sound: list[Copy]) -> list[Step]:
    """Return the step for new addresses. A voter that stays needs its directory here: its old log has the old ones."""
    voters = known.told_by.voters
    if voters is None or known.told_by.newer_voters is not None:
        return []
    targets = [word for copy in sound for word in ("--dir", copy.place.log_dir)]
    present = {copy.node_id for copy in sound}
    sets = [
        word
        for voter in voters
        if voter.key.node_id in present
        for word in (
            "--set",
            f"{voter.key.node_id}@HOST:PORT" + ("/GRPC-PORT" if voter.endpoint(GRPC_LISTENER) else ""),
        )
    ]
    words = (*targets, *sets, *copy_words(known, sound), *absent_words(known))
    lines = (command("kraft", "recover", "voters", *words),)
    text = moved_clone(known)
    if text is None:
        text = "If they do not find each other because addresses changed: write the new ones into all of them"
    away = [str(node_id) for node_id in voters.node_ids if node_id not in present]
    if away:
        text += f". Name also directory and address of {', '.join(away)}, {_once_here(len(away) > 1)}"
    forgotten = [found.path for copy in known.copies for found in copy.unread if found.forgets]
    if forgotten:
        text += (
            f". It is refused for {', '.join(forgotten)}, which held an epoch and a vote: restore it from a backup, or "
            "add --accept-lost-vote"
        )
    return [Step(text=text, commands=lines)]


def _once_here(are_many: bool) -> str:
    if are_many:
        return "once they are here and sound; without them this takes their vote, and they join again as new ones"
    return "once it is here and sound; without it this takes its vote, and it joins again as a new one"


def _move_away(copies: Iterable[Copy]) -> list[Step]:
    """Return the steps for files that keep nodes from starting and whose removal loses nothing."""
    return [_move_one(copy, found) for copy in copies for found in copy.unread if found.is_made_anew]


def _move_one(copy: Copy, found: Unread) -> Step:
    start, log_dir = f"{copy.label} does not start as it should: {found.path}: {found.why}", copy.place.log_dir
    if found.is_in_the_way:
        name = found.path.rpartition("/")[2]
        return Step(
            text=f"{start}. Its log and its vote are whole without it: while the node is stopped, move it out of the "
            "directory, and keep it",
            commands=(command("mv", found.path, f"{log_dir}.strange-{name}"),),
        )
    start = f"{copy.label} does not start: {found.path}: {found.why}"
    return Step(
        text=f"{start}. Its log and its vote are whole: restore that one file from a backup of that directory, or move "
        "it away, and it is made anew",
        commands=(command("mv", found.path, f"{log_dir}.damaged-{PARTITION_METADATA_FILE}"),),
    )


def _replace(known: Survey, copy: Copy) -> Step:
    """Return the step for a damaged voter beside an intact majority: with a false epoch it might be elected."""
    note = end_note(known, copy)
    if note is not None and fault_among(known, copy) is None:
        return Step(text=f"Start {copy.label} only once the others lead, and it fetches the rest: {note}")
    is_false = copy.stop is not None and copy.stop.false_epoch is not None
    what = f"Never start {copy.label}" if is_false else f"{copy.label} does not start"
    why = fault_among(known, copy)
    return Step(
        text=f"{what}: {why}. Once the others lead, remove it from the voters, format its directory anew, "
        "let it fetch the log, and add it again"
    )


def _read_first(found: Unread) -> Step:
    """Return the step for a file without which every repair refuses."""
    if found.is_newer:
        return Step(
            text=f"{found.path}: {found.why}. Go on with a kraft of that version: this one refuses what follows"
        )
    return Step(
        text=f"{found.path}: {found.why}. Restore it from a backup of that directory. Where there is none, add "
        "--accept-lost-vote to what follows: an epoch and a vote that only this file held are forgotten then"
    )


def _majority_lost(known: Survey, repairs: tuple[Repair, ...], lack: str | None = None) -> Plan:
    """Return the plan without a majority. `lack`: the situation, if a majority is here but lacks committed records."""
    chosen, situation = _chosen(known, repairs), lack
    if situation is None or not known.voters:
        situation = no_majority(known)
    situation += told_of_stale(known) + (f" And {known.undecided}." if known.undecided is not None else "")
    situation += told_of_clone(known)
    fit = [] if lack is not None or endangered(known) else [copy for copy in sound_voters(known) if not mends(copy)]
    first = before_repair(known, fit, asks_brokers=bool(known.absent_brokers) or chosen is None)
    first += _move_away(copy for copy in known.copies if copy in fit or (chosen is not None and copy is chosen[0]))
    first += kept_out(known, None if chosen is None else chosen[0])
    unread = [found for copy in known.copies for found in copy.unread if not found.tells_epoch]
    first += [_read_first(found) for found in unread if found.is_vote or found.is_newer]
    if chosen is None and known.cluster_id is None:
        words = "Bring the meta.properties of one of these directories back, or a directory that has one; inspect all"
        return Plan(is_whole=False, situation=situation, repairs=repairs, steps=(*first, Step(text=words)))
    if chosen is None:
        last = Step(
            text="No copy that is here can be made a controller's log. Where none of the brokers' can either: restore "
            "a backup",
            commands=(_RESTORE,),
        )
        steps = leave_to_its_release(known) or [last]
        return Plan(is_whole=False, situation=situation, repairs=repairs, steps=(*first, *steps))
    voters = [copy for copy in known.copies if known.is_voter(copy)]
    steps = next(
        (steps for copy in voters if (steps := borrow(known, copy, chosen[0].rank))),
        steps_for(known, chosen[0], chosen[1].lost),
    )
    return Plan(is_whole=False, situation=situation, repairs=repairs, steps=(*first, *steps))


def _chosen(known: Survey, repairs: Sequence[Repair]) -> tuple[Copy, Repair] | None:
    """Return the best copy that a repair can keep, with that repair, or None.

    A surviving voter that lacks only NoOps and elections comes first: it keeps its directory and its address. A
    broker's copy may be ahead of it only by a heartbeat of the last leader. Then come copies whose choice loses nothing
    that another choice would keep. Stale copies come last: they may be ahead by an election that should not have
    happened.
    """
    possible = [pair for pair in zip(known.copies, repairs, strict=True) if pair[1].refused is None]
    whole = [pair for pair in possible if not any(one.committed != "never" for one in pair[1].lost)]
    stale, gone = [one.copy for one in known.stale], shortfalls(known)
    voters = sorted((pair for pair in whole if known.is_voter(pair[0])), key=lambda pair: pair[0] in stale)
    lossless = [pair for pair in possible if all(one.committed == "never" or one in gone for one in pair[1].lost)]
    last = [pair for pair in [*lossless, *possible] if pair[0] not in stale]
    return next(iter([*voters, *last, *lossless, *possible]), None)


_RESTORE = "kraft snapshot restore BACKUP DIR --node-id N --voters ID@HOST:PORT:DIRECTORY_ID"
