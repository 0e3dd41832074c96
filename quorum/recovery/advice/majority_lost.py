"""The plan without a sound majority of the voters: one copy is made the quorum's log.

Decides: which copy is the best to keep. Must not know: how the repair is done.
"""

from __future__ import annotations

from collections.abc import Sequence

from metadata_log.files.port import Files
from quorum.recovery.advice.clones import clone_remark
from quorum.recovery.advice.commands import ACCEPT_LOST_VOTE, brokers_of
from quorum.recovery.advice.discarded_records import endangered
from quorum.recovery.advice.faults import aside_lines, mends, move_away, no_majority
from quorum.recovery.advice.lent_checkpoint import borrow
from quorum.recovery.advice.majority_here import sound_voters
from quorum.recovery.advice.newer_release import leave_to_its_release
from quorum.recovery.advice.possible_repairs import Plan, Repair
from quorum.recovery.advice.repair_steps import before_repair, steps_for
from quorum.recovery.advice.stale_replicas import kept_out, stale_remark, unsettled_steps
from quorum.recovery.advice.unplayed import cut_unplayed
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.sidecar_files import Unread
from quorum.recovery.evidence.lost_records import shortfalls
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.next_steps import Step, command, step_of

_RESTORE = command(
    "kraft", "snapshot", "restore", "BACKUP", "DIR", "--node-id", "N", "--voters", "ID@HOST:PORT:DIRECTORY_ID"
)


def majority_lost(files: Files, known: RepairEvidence, repairs: tuple[Repair, ...], lack: str | None = None) -> Plan:
    """Return the plan without a majority. `lack`: the situation, if a majority is here but lacks committed records."""
    chosen, situation = _chosen(known, repairs), lack
    if situation is None or not known.voters:
        situation = no_majority(known)
    situation += stale_remark(known) + (f" And {known.undecided}." if known.undecided is not None else "")
    situation += clone_remark(known)
    sound = known.startable(sound_voters(known))
    fit = [] if lack is not None or endangered(known) else [copy for copy in sound if not mends(copy)]
    is_longest_unknown = chosen is None and not brokers_of(known)
    first = before_repair(known, fit, asks_brokers=bool(known.absent_brokers) or is_longest_unknown)
    first += move_away(copy for copy in known.copies if copy in fit or (chosen is not None and copy is chosen[0]))
    unread = [(copy, found) for copy in known.copies for found in copy.unread if not found.tells_epoch]
    files_first = [_read_first(copy, found) for copy, found in unread if found.is_vote or found.is_newer]
    cuts = cut_unplayed(files, known, fit, None if chosen is None else chosen[0].rank)
    if cuts:
        first += [*unsettled_steps(known), *files_first]
        return Plan(is_whole=False, situation=situation, repairs=repairs, steps=(*first, *cuts))
    first += [*kept_out(known, None if chosen is None else chosen[0]), *files_first]
    if chosen is None and known.cluster_id is None:
        words = "Bring the meta.properties of one of these directories back, or a directory that has one; inspect all"
        return Plan(is_whole=False, situation=situation, repairs=repairs, steps=(*first, Step(text=words)))
    if chosen is None:
        last = step_of(
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


def _chosen(known: RepairEvidence, repairs: Sequence[Repair]) -> tuple[Copy, Repair] | None:
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


def _read_first(copy: Copy, found: Unread) -> Step:
    """Return the step for a file without which every repair refuses."""
    if found.is_newer:
        return Step(
            text=f"{found.path}: {found.why}. Go on with a kraft of that version: this one refuses what follows"
        )
    aside = aside_lines(copy, found)
    text = f"{found.path}: {found.why}. {'Move it away, and restore it' if aside else 'Restore it'} from a backup of "
    text += f"that directory, and inspect all again. Without a backup, go on with {ACCEPT_LOST_VOTE}, which is in the "
    text += "next commands: an epoch and a vote that only this file held are then forgotten"
    return step_of(text=text, commands=aside)
