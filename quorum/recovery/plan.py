"""What can be done about a cluster of which these copies are left, and what is best.

Decides: which repairs are possible, what each keeps and loses in words, and the recommended steps. Must not know: how
they are done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.files import Files
from metadata_log.tools.times import time_text
from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER
from quorum.recovery.advice import Step, absent_words, check_result, command, copy_words, cut_line, is_ours, start_line
from quorum.recovery.beside import Unread
from quorum.recovery.copies import Copy
from quorum.recovery.followers import left_behind, set_aside
from quorum.recovery.kept_elsewhere import danger, endangered, keep_first, not_whole
from quorum.recovery.obstacles import obstacle, outvoted, undo_lines
from quorum.recovery.related import is_comparable
from quorum.recovery.running import running_voters, situation_of, steps_of
from quorum.recovery.survey import Excess, Survey, excess, shortfalls, unreached


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One way out.

    Attributes:
        name: of the command, `start` where nothing needs a repair.
        on: the copy that is kept.
        keeps, loses: in sentences; `loses` what is known, `may_lose` what cannot be known.
        cannot_follow: nodes that cannot go on from their copies here then, in sentences.
        refused: why it is not possible; None where it is.
        lost: the known losses as data.
    """

    name: str
    on: str
    keeps: str
    loses: tuple[str, ...] = ()
    may_lose: str | None = None
    cannot_follow: tuple[str, ...] = ()
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
    sound = sound_voters(known)
    is_majority = bool(known.voters) and len({copy.node_id for copy in sound}) >= known.majority
    running = running_voters(known)
    if running:
        steps = steps_of(known, running)
        return Plan(is_whole=is_majority, situation=situation_of(running), repairs=(), steps=steps)
    repairs = tuple(_repairs(files, known))
    found = obstacle(files, known)
    if found is not None:
        return Plan(is_whole=False, situation=found.situation, repairs=repairs, steps=found.steps)
    lack = lacking(known, sound) if is_majority else None
    is_whole = is_majority and lack is None
    plan = _majority_here(known, sound, repairs) if is_whole else _majority_lost(known, repairs, lack)
    return msgspec.structs.replace(plan, steps=(*keep_first(known), *plan.steps))


def sound_voters(known: Survey) -> list[Copy]:
    """Voters' copies that a node starts from; of those of which nothing shows that they are of one log, the best's."""
    sound = [copy for copy in known.copies if known.is_voter(copy) and fault_of(copy) is None]
    return [copy for copy in sound if is_comparable(sound[0], copy)]


def lacking(known: Survey, voters: Sequence[Copy]) -> str | None:
    """That these would elect a leader who lacks what was committed; None where nothing shows it."""
    risky = endangered(known)
    if risky:
        return danger(known, risky)
    best = max(voters, key=lambda copy: copy.rank)
    end = max(int(copy.end.offset) for copy in voters)
    if end >= known.bounds_left.lower:
        return None  # what reached further once, and no copy here holds, went as was accepted
    holders = [copy for copy in known.copies if copy.end.offset > end]
    if best.repair is not None and all(copy.end.epoch < best.repair.epoch for copy in holders):
        return None  # a repair let that go, as it said
    names = ", ".join(str(copy.node_id) for copy in voters)
    return (
        f"A majority of the voters is here ({names}), but their logs end at offset {end}, and all before "
        f"{known.bounds_left.lower} was committed ({known.bounds_left.because}): they were set back to older copies, "
        "or copied before the others. Started as they are, they go on without that."
    )


def fault_of(copy: Copy) -> str | None:
    """Why a node would not start from this copy as it is, or not without loss; None where it would."""
    if copy.place.manifest is not None:
        return "it is an export, which no node starts from" + (f"; {copy.stop}" if copy.stop is not None else "")
    if copy.place.identity is None:
        return copy.place.complaint
    if copy.stop is not None and not copy.stop.is_torn:
        return f"it is damaged: {copy.stop}" + (f"; {copy.short}" if copy.short is not None else "")
    strange = next((f"{found.path}: {found.why}" for found in copy.unread if found.is_topic), None)
    wrong = strange or copy.short or copy.problem or copy.quorum_problem
    if wrong is not None:
        return wrong
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
    if copy.place.manifest is not None and copy.stop is not None and not copy.stop.is_torn:
        return f"it is damaged at {copy.stop}, and in an export nothing is mended: name the directory it was made of"
    if copy.image is None or copy.image.features.metadata_version is None:
        return "it holds no metadata yet"
    return None


def _nameless(known: Survey, copy: Copy) -> str | None:
    """A new controller's directory must say which cluster it is of, and a voter's own has to say that it is."""
    if known.cluster_id is not None:
        return None
    return (
        f"{copy.place.complaint}, and no copy here says which cluster this is: bring the file back, or name a whole "
        "log directory of another node, too"
    )


def may_lose(known: Survey, kept: Copy) -> str | None:
    """What no copy can tell; None where nothing that was committed can be missing from the copies."""
    if not known.majority_is_absent:
        return None
    if not known.voters:
        return "who voted is not known, so records that no copy here holds may have been committed"
    since = f"after {time_text(kept.last_timestamp_ms)}" if kept.last_timestamp_ms >= 0 else "at any time"
    absent = ", ".join(map(str, known.unheard_voters))
    return (
        f"records that a majority with voters {absent} acknowledged {since}, past offset {kept.end.offset}, and that "
        "no copy here holds: how many cannot be known"
    )


def _repairs(files: Files, known: Survey) -> Iterator[Repair]:
    contradicted = "copies contradict each other: leave the wrong one out first" if known.conflicts else None
    for copy in known.copies:
        lost = (*(found for found in excess(files, known, copy) if found.says_something), *shortfalls(known))
        name = "standalone" if known.is_voter(copy) else "from-broker"
        if copy.kraft_version == 0 and copy.static_voters:
            name = "static-voters" if known.is_voter(copy) else "from-broker"
        yield Repair(
            name=name,
            on=copy.label,
            keeps=f"everything up to offset {copy.end.offset} of epoch {copy.end.epoch}",
            loses=tuple(map(str, lost)),
            may_lose=may_lose(known, copy),
            cannot_follow=tuple(map(str, left_behind(known, copy))),
            refused=contradicted or usable(copy) or _nameless(known, copy),
            lost=lost,
        )


_ALL_THERE = "no metadata is lost."


def _majority_here(known: Survey, sound: list[Copy], repairs: tuple[Repair, ...]) -> Plan:
    names = ", ".join(str(copy.node_id) for copy in sound)
    situation = f"A majority of the voters is here and sound ({names} of {len(known.voters)})"
    lost = not_whole(known)
    situation += f". But metadata is lost, or may be: {'; '.join(lost)}." if lost else f": {_ALL_THERE}"
    best = max(sound, key=lambda copy: copy.rank)
    faulty = [copy for copy in known.copies if known.is_voter(copy) and fault_of(copy) is not None]
    mended = [copy for copy in faulty if _lacks_a_checkpoint_only(copy)]
    able = [copy for copy in known.copies if copy in sound or copy in mended]
    names = ", ".join(str(copy.node_id) for copy in able)
    steps = [*_old_voters(known), *set_aside(left_behind(known, best, adds_voters=False)), *map(_drop, mended)]
    start = f"Start controllers {names} as they are: they elect a leader by themselves"
    if mended:
        start = f"Then start controllers {names}: they elect a leader by themselves"
    steps.append(Step(text=start if len(able) > 1 else f"Start controller {names} as it is: it leads by itself"))
    steps += [_replace(copy) for copy in faulty if copy not in mended]
    steps += [
        Step(
            text=f"{copy.label} contradicts the voters, who hold the same: it never starts from that log again. Move "
            "it away, and let the node fetch it anew"
        )
        for copy in outvoted(known)
    ]
    steps += _move(known, able)
    return Plan(is_whole=True, situation=situation, repairs=repairs, steps=tuple(steps))


def _old_voters(known: Survey) -> list[Step]:
    """About controllers that vote no more since a repair, and do not know: by their own files they would elect."""
    half = unreached(known)
    if half is None:
        return []
    done, behind = half
    names = ", ".join(copy.label for copy in behind)
    return [
        Step(
            text=f"Never start {names} from these directories: they hold the voters from before the repair of "
            f"{done.label}, and would elect by those. Is it they who are to go on, and has nothing started from that "
            "repair, take it back instead, and inspect all once more",
            commands=undo_lines(known, done),
        )
    ]


def _move(known: Survey, sound: list[Copy]) -> list[Step]:
    """Who keeps the vote has its directory here: a voter with its old log would hold the old addresses."""
    voters = known.told_by.voters
    if voters is None:
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
    text = "If they do not find each other because addresses changed: write the new ones into all of them"
    away = [str(node_id) for node_id in voters.node_ids if node_id not in present]
    if away:
        text += (
            f". Name also directory and address of {', '.join(away)}, once they are here and sound; without them this "
            "takes their vote, and they join again as new ones"
        )
    return [Step(text=text, commands=lines)]


def _lacks_a_checkpoint_only(copy: Copy) -> bool:
    """Whether a damaged checkpoint alone keeps its node from starting, and older ones and the log say the same."""
    whole = tuple(found for found in copy.checkpoints if found.problem is None)
    return fault_of(msgspec.structs.replace(copy, checkpoints=whole)) is None


def _drop(copy: Copy) -> Step:
    """Before anything starts: once a leader answers, nothing offline is done to a voter any more."""
    line = command("kraft", "recover", "drop-snapshot", "--dir", copy.place.log_dir, "--missing", "rest", "--apply")
    return Step(
        text=f"{copy.label} does not start: {fault_of(copy)}. Before any controller starts, since this is refused "
        "once a leader answers",
        commands=(line,),
    )


def _replace(copy: Copy) -> Step:
    """What to do about a damaged voter while a majority is sound."""
    return Step(
        text=f"{copy.label} does not start: {fault_of(copy)}. Once the others lead, remove it from the voters, format "
        "its directory anew, let it fetch the log, and add it again"
    )


def _read_first(found: Unread) -> Step:
    """About a file without which every repair refuses."""
    if found.is_newer:
        return Step(
            text=f"{found.path}: {found.why}. Go on with a kraft of that version: this one refuses what follows"
        )
    return Step(
        text=f"{found.path}: {found.why}. Restore it from a backup of that directory. Where there is none, add "
        "--accept-lost-vote to what follows: an epoch and a vote that only this file held are forgotten then"
    )


def _majority_lost(known: Survey, repairs: tuple[Repair, ...], situation: str | None = None) -> Plan:
    """`situation`: where it is not simply that."""
    chosen = _chosen(known, repairs)
    voters = len(known.voters)
    absent = f", {', '.join(map(str, known.absent_voters))} are absent." if known.absent_voters else "."
    if not known.voters:
        situation = "No majority of the voters is known to be here and sound: no copy here says who votes."
    elif situation is None:
        situation = f"No majority of the voters is here and sound: {voters} vote, {known.majority} are needed{absent}"
    fence = Step(
        text="Make sure that no other controller of this cluster runs or can come back: an old majority that was only "
        "cut off would go on by itself. Power it off, or block its ports"
    )
    bring = Step(text="Bring a copy of every broker's metadata log here, and name it too: it may be the longest")
    first = [fence, bring] if known.absent_brokers or chosen is None else [fence]
    first += [_read_first(found) for copy in known.copies for found in copy.unread if found.is_vote or found.is_newer]
    if chosen is None and known.cluster_id is None:
        words = "Bring the meta.properties of one of these directories back, or a directory that has one; inspect all"
        return Plan(is_whole=False, situation=situation, repairs=repairs, steps=(*first, Step(text=words)))
    if chosen is None:
        last = Step(
            text="No copy that is here can be made a controller's log. Where none of the brokers' can either: restore "
            "a backup",
            commands=(_RESTORE,),
        )
        return Plan(is_whole=False, situation=situation, repairs=repairs, steps=(*first, last))
    return Plan(is_whole=False, situation=situation, repairs=repairs, steps=(*first, *_steps_for(known, *chosen)))


def _chosen(known: Survey, repairs: Sequence[Repair]) -> tuple[Copy, Repair] | None:
    """The best copy that is possible; but a surviving voter goes before it that lacks nothing but NoOps and elections:
    it keeps its directory and address, and a broker's copy may be ahead by a heartbeat of the last leader."""
    possible = [pair for pair in zip(known.copies, repairs, strict=True) if pair[1].refused is None]
    whole = [pair for pair in possible if not any(one.committed != "never" for one in pair[1].lost)]
    voters = [pair for pair in whole if known.is_voter(pair[0])]
    return next(iter([*voters, *possible]), None)


_RESTORE = "kraft snapshot restore BACKUP DIR --node-id N --voters ID@HOST:PORT:DIRECTORY_ID"


def _cut_first(known: Survey, chosen: Copy) -> list[Step]:
    """No repair passes over damage in the middle of a log without a word."""
    if chosen.stop is None or chosen.stop.is_torn:
        return []
    line = f"{cut_line(known, chosen)} --accept-data-loss"
    return [
        Step(
            text=f"The log of {chosen.label} is damaged, and what comes after that goes: keep a copy of the directory, "
            "and drop it; first without --apply",
            commands=(line, f"{line} --apply"),
        )
    ]


def _steps_for(known: Survey, chosen: Copy, repair: Repair) -> list[Step]:
    cut = _cut_first(known, chosen)
    lost = [one for one in repair.lost if one.committed != "never" and not (cut and one.label == chosen.label)]
    copies, rest = copy_words(known, [chosen]), (*absent_words(known), *(("--accept-data-loss",) if lost else ()))
    words: list[object]
    if known.is_voter(chosen):
        name = "standalone" if chosen.kraft_version > 0 else "static-voters"
        named = [] if name == "standalone" else ["--set", f"{chosen.node_id}@HOST:PORT"]
        words = ["kraft", "recover", name, "--dir", chosen.place.log_dir, *named, *copies, *rest]
        target = chosen.place.log_dir
    else:
        target = "NEW_DATA_DIR"
        words = ["kraft", "recover", "from-broker", "--broker-dir", chosen.place.log_dir, *copies, *_new(known), *rest]
    loss = "; it loses what is said above, so look for more copies before" if lost else ""
    return [
        *cut,
        Step(text=f"See what it would do; nothing is changed{loss}", commands=(command(*words),)),
        Step(text="Do it: it backs up first, and says how to undo it", commands=(command(*words, "--apply"),)),
        check_result([target]),
        *set_aside(left_behind(known, chosen)),
        Step(
            text="Start it, then follow what the command printed for the other controllers",
            commands=(start_line(ours=is_ours(known.told_by.voters)),),
        ),
    ]


def _new(known: Survey) -> list[object]:
    """The new controller: the id of one that voted, with listeners of the same names."""
    voters, image = known.told_by.voters, known.told_by.image
    ids = [int(voter.node_id) for voter in known.voters]
    ids += sorted(int(node_id) for node_id in image.cluster.controllers) if image is not None else []
    node_id: object = ids[0] if ids else "N"
    lost = None if voters is None else next((one for one in voters if one.key.node_id == node_id), voters.voters[0])
    names = [CONTROLLER_LISTENER] if lost is None else [endpoint.name for endpoint in lost.endpoints]
    ports = {GRPC_LISTENER: "GRPC-PORT"}
    endpoints = [word for name in names for word in ("--endpoint", f"{name}://HOST:{ports.get(name, 'PORT')}")]
    return ["--dir", "NEW_DATA_DIR", "--node-id", node_id, *endpoints]
