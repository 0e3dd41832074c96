"""The advice about voters' copies that are not authoritative.

Must not know: how they are recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.tools.findings.finding import Finding
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.next_steps import Step

_NUMBERED: Final = re.compile(r"[a-z]+[-_]?([0-9]{1,9})")


def stale_remark(known: RepairEvidence) -> str:
    """Return the sentence with the copies that count for no majority; empty without any."""
    names = ", ".join(one.copy.label for one in known.stale)
    return f" Not counted: {names}." if names else ""


def outcome_of_majority(known: RepairEvidence) -> str:
    """Return the end of a sentence about a sound majority that lacks nothing known."""
    outrun = ", ".join(one.copy.label for one in known.stale if one.is_outrun)
    if not outrun:
        return "no metadata is lost."
    return f"they hold all that a copy here holds, but {outrun} may have held more."


def kept_out(known: RepairEvidence, chosen: Copy | None = None, *, leads: bool = False) -> list[Step]:
    """Return the steps for these copies.

    `chosen`: the copy that a repair goes on from. `leads`: the other voters are a majority, and elect a leader.
    """
    older = [one for one in known.stale if one.newer is not None and one.copy is not chosen]
    others = [one for one in known.stale if one.newer is None and one.copy is not chosen and not one.rivals]
    checked = [(one.copy, one.found) for one in others if one.found is not None]
    checked += [(one.copy, one.found) for one in known.barred if one.copy is not chosen]
    others = [one for one in others if one.found is None]
    steps = unsettled_steps(known)
    steps += [
        Step(
            text=f"Leave {one.copy.label} as it is, and start nothing from it: of node {one.copy.node_id}, "
            f"{one.newer.place.log_dir} goes on"
        )
        for one in older
        if one.newer is not None
    ]
    steps += [_checked_step(copy, found, leads=leads) for copy, found in checked]
    if others:
        names, many = ", ".join(one.copy.label for one in others), len(others) > 1
        steps.append(
            Step(
                text=f"Never start {names} as {'they are' if many else 'it is'}: {'they lack' if many else 'it lacks'} "
                f"records that {'they' if many else 'it'} had acknowledged. With {'their' if many else 'its'} vote, a "
                "leader could be elected that cuts these records on all others. Once others have a leader, format "
                f"{'these directories' if many else 'this directory'} again, let {'each' if many else 'it'} fetch the "
                "log, and make it a voter again"
            )
        )
    return steps


def _checked_step(copy: Copy, found: Finding, *, leads: bool) -> Step:
    """Return the step for a finding of `kraft check`. `leads`: the others elect a leader."""
    if leads and found.is_until_compared:
        return Step(text=f"Start {copy.label} only once the others lead, and it fetches the rest: {found.meaning}")
    return Step(text=f"{copy.label}: {found.advice}")


def unsettled_steps(known: RepairEvidence) -> list[Step]:
    """Return one step a node that has several directories, if nothing shows on which of them it ran last."""
    steps: dict[int | None, Step] = {}
    for one in known.stale:
        if one.rivals and one.copy.node_id not in steps:
            copies = (one.copy, *one.rivals)
            names = " and ".join(sorted(copy.place.log_dir for copy in copies))
            hints = "".join(hint for copy in copies for hint in _named_by_path(known, copy))
            steps[one.copy.node_id] = Step(
                text=f"Start nothing from {names} yet: all have the node.id and directory.id of node {one.copy.node_id}"
                ". Find out on which of them it ran last: log.dirs in its configuration names that directory. Move "
                f"each other one away, whole, or restore its own {META_PROPERTIES_FILE}{hints}. Then inspect all again"
            )
    return list(steps.values())


def _named_by_path(known: RepairEvidence, copy: Copy) -> Iterator[str]:
    """Yield a sentence if the path contains the id of an absent voter."""
    names = [_NUMBERED.fullmatch(part) for part in copy.place.log_dir.split("/")]
    numbers = {int(found[1]) for found in names if found is not None} & set(known.absent_voters)
    for node in sorted(numbers):
        yield f". The path {copy.place.log_dir} names node {node}, of which no other directory is here"
