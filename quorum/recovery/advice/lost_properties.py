"""Directories whose meta.properties is missing, damaged or another node's, and what it has to say.

Decides: whose directory it is, and the values of its file. Must not know: what follows for the other copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.ids import ZERO_DIRECTORY_ID, NodeId, id_text
from metadata_log.tools.read.peer_names import id_among_peers
from quorum.recovery.advice.commands import inspect_line
from quorum.recovery.advice.possible_repairs import Plan
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.other_disks import of_other_nodes
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.next_steps import Step, step_of


class LostProperties(msgspec.Struct, frozen=True, kw_only=True):
    """An absent voter's directory, which its meta.properties does not say. `why`: a sentence without its subject."""

    copy: Copy
    owner: int
    why: str

    @property
    def file(self) -> str:
        """The path of the file."""
        return f"{self.copy.place.log_dir}/{META_PROPERTIES_FILE}"


def lost_properties(known: RepairEvidence) -> tuple[LostProperties, ...]:
    """Return all such directories: by the directory id in the file, or by its path beside those of its peers."""
    found = [
        LostProperties(copy=one.copy, owner=one.facts.owner, why=one.facts.meaning())
        for one in of_other_nodes(known)
        if one.copy.place.manifest is None
    ]
    peers = {Path(copy.place.log_dir): copy.node_id for copy in known.copies if copy.node_id is not None}
    for copy in known.copies:
        if copy.place.identity is None and not copy.place.is_newer:
            owner = id_among_peers(Path(copy.place.log_dir), peers)
            if owner is not None:
                why = f"{copy.place.complaint}; by its path beside those of its peers it is node {owner}'s"
                found.append(LostProperties(copy=copy, owner=owner, why=why))
    return tuple(one for one in found if one.owner in known.absent_voters and one.copy.used_by is None)


def without_lost(known: RepairEvidence, lost: Sequence[LostProperties]) -> RepairEvidence:
    """Return the same without these voters among the absent ones: no command may take their votes."""
    owners = {one.owner for one in lost}
    return msgspec.structs.replace(
        known, absent_voters=tuple(node for node in known.absent_voters if node not in owners)
    )


def restored_first(known: RepairEvidence, lost: Sequence[LostProperties], plan: Plan) -> Plan:
    """Return the plan with the files' restoration before all else; `plan` was made by `without_lost`.

    Where a majority is sound without these voters, it may start meanwhile. No other repair is of use before.
    """
    if not lost:
        return plan
    labels = {one.copy.label: one for one in lost}
    said = "; ".join(f"{one.copy.place.log_dir} is node {one.owner}'s, and {one.file} does not say so" for one in lost)
    repairs = tuple(
        msgspec.structs.replace(repair, refused=f"restore {labels[repair.on].file} first")
        if repair.on in labels
        else repair
        for repair in plan.repairs
    )
    kept = [step for step in plan.steps if not step.recovers]
    return msgspec.structs.replace(
        plan,
        situation=f"{plan.situation} {said}.",
        repairs=repairs,
        steps=(*_restore(known, lost), *(kept if plan.is_whole else ())),
    )


def _restore(known: RepairEvidence, lost: Sequence[LostProperties]) -> list[Step]:
    steps = [
        Step(
            text=f"Do not start {one.copy.place.log_dir}: {one.why}. While the node is stopped, restore {one.file} "
            f"from a backup of this directory, or write it by hand: {_values(known, one)}. Do not format the "
            "directory: it would get another directory.id, with which a voter has no vote"
        )
        for one in lost
    ]
    return [*steps, step_of(text="Then inspect all again", commands=(inspect_line(known),))]


def _values(known: RepairEvidence, one: LostProperties) -> str:
    named = None if known.best_with_metadata.voters is None else known.best_with_metadata.voters.get(NodeId(one.owner))
    values = [f"node.id={one.owner}", "version=1"]
    if known.cluster_id is not None:
        values.insert(0, f"cluster.id={known.cluster_id}")
    if named is not None and named.key.directory_id != ZERO_DIRECTORY_ID:
        values.append(f"directory.id={id_text(named.key.directory_id)}")
    return ", ".join(values)
