"""The plan for a cluster of which these copies are left: every repair that is possible, and the best one.

Decides: which situation this is. Must not know: the steps of each, and how they are done.
"""

from __future__ import annotations

import msgspec

from metadata_log.files.port import Files
from quorum.recovery.advice.discarded_records import keep_first
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
from quorum.recovery.advice.faults import rebuild_epochs, rename_first
from quorum.recovery.advice.majority_here import lacking, majority_here, sound_voters, whole_voters
from quorum.recovery.advice.majority_lost import majority_lost
from quorum.recovery.advice.obstacles import held_back, obstacle, unsettled
from quorum.recovery.advice.possible_repairs import Plan, possible_repairs
from quorum.recovery.advice.running_nodes import running_voters, situation_of, steps_of
from quorum.recovery.evidence.repair_evidence import RepairEvidence


def make_plan(files: Files, known: RepairEvidence) -> Plan:
    """Return the plan for these copies."""
    plan, observers = _plan(files, known), observers_near_end(known)
    if not observers:
        return plan
    steps = (*plan.steps, *observer_steps(observers))
    situation = f"{plan.situation} {situation_of_observers(observers)}"
    return msgspec.structs.replace(plan, is_whole=False, situation=situation, steps=steps)


def _plan(files: Files, known: RepairEvidence) -> Plan:
    counted = sound_voters(known)
    sound = known.startable(counted)
    is_majority = known.has_majority(sound)
    running, near = running_voters(known), near_end(known)
    ended = near if is_ended(near) or any(is_to_reset(known, copy) for copy in near) else ()
    if running and ended:
        situation = f"{situation_near_end(known, ended)} {situation_of(running)}"
        return Plan(is_whole=False, situation=situation, repairs=(), steps=steps_near_end(known, ended))
    if running:
        situation = f"{situation_of(running)} {situation_near_end(known, near)}" if near else situation_of(running)
        return Plan(is_whole=is_majority, situation=situation, repairs=(), steps=steps_of(known, running))
    repairs = tuple(possible_repairs(files, known))
    found = obstacle(files, known) or (None if is_majority else unsettled(known))
    if found is not None:
        return Plan(is_whole=False, situation=found.situation, repairs=repairs, steps=found.steps)
    if ended:
        steps = steps_near_end(known, ended)
        return Plan(is_whole=False, situation=situation_near_end(known, ended), repairs=repairs, steps=steps)
    whole = whole_voters(known)
    lack = lacking(known, whole) if known.has_majority(whole) else None
    held = None if is_majority or lack is not None else held_back(known, counted)
    if held is not None:
        plan = Plan(is_whole=False, situation=held.situation, repairs=repairs, steps=held.steps)
    elif is_majority and lack is None:
        plan = majority_here(known, sound, repairs)
    else:
        plan = majority_lost(files, known, repairs, lack)
    if near:
        situation = f"{plan.situation} {situation_near_end(known, near)}"
        plan = msgspec.structs.replace(plan, situation=situation, steps=(*plan.steps, *steps_near_end(known, near)))
    return msgspec.structs.replace(
        plan, steps=(*rename_first(known), *rebuild_epochs(known, known.copies), *keep_first(known), *plan.steps)
    )
