"""What is said, and done, about copies that do not speak for their voters.

Decides: the words. Must not know: how it is found out.
"""

from __future__ import annotations

from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import Survey
from quorum.recovery.journal.repair_facts import Step


def told_of_silent(known: Survey) -> str:
    """Behind the situation: which copies are counted for no majority; empty where all are."""
    names = ", ".join(one.copy.label for one in known.silent)
    return f" Not counted: {names}." if names else ""


def kept_out(known: Survey, chosen: Copy | None = None) -> list[Step]:
    """What becomes of them; `chosen`: the one that a repair goes on from."""
    older = [one for one in known.silent if one.newer is not None and one.copy is not chosen]
    others = [one for one in known.silent if one.newer is None and one.copy is not chosen]
    steps = [
        Step(
            text=f"Leave {one.copy.label} as it is, and start nothing from it: of node {one.copy.node_id}, "
            f"{one.newer.place.log_dir} goes on"
        )
        for one in older
        if one.newer is not None
    ]
    if others:
        names, many = ", ".join(one.copy.label for one in others), len(others) > 1
        steps.append(
            Step(
                text=f"Never start {names} as {'they are' if many else 'it is'}: with a vote that forgot what it had "
                "acknowledged, a leader is elected who cuts it on all others. Once others lead, format "
                f"{'these directories' if many else 'this directory'} anew, let {'each' if many else 'it'} fetch the "
                "log, and make it a voter again"
            )
        )
    return steps
