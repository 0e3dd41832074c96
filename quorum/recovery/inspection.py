"""Reading many copies at once, for `kraft recover inspect` and `verify`.

Decides: which directories are left out, and why (a repair leaves none out). Must not know: how the result is printed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.errors import MetadataLogError
from metadata_log.files.links import remedy
from metadata_log.files.port import Files
from quorum.recovery.advice.lost_properties import lost_properties, restored_first, without_lost
from quorum.recovery.advice.obstacles import Interruption, interruption, of_interruptions
from quorum.recovery.advice.plan import make_plan
from quorum.recovery.advice.possible_repairs import Plan
from quorum.recovery.advice.running_nodes import running_voters
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.foreign_copies import foreign_copies
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.lone_records import with_lone_records
from quorum.recovery.copies.partition_proof import BrokersDisk, brokers_disks, is_bare_disk, with_partition_proofs
from quorum.recovery.copies.read_copies import _new_place, confirmed
from quorum.recovery.evidence.judged_records import judged_evidence
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import Place
from quorum.recovery.journal.next_steps import Step
from quorum.recovery.journal.repair_record import again
from quorum.recovery.repairs.conflicting_repairs import conflicting_repairs_of, with_conflicting_repairs
from quorum.recovery.repairs.undo import with_undoable


class Unjudged(msgspec.Struct, frozen=True, kw_only=True):
    """A directory that cannot be judged, and why. `may_hold_more`: it may still be a copy of this cluster's log.

    `node_id`: the node that owns it, if that can be read.
    """

    path: str
    problem: str
    may_hold_more: bool = False
    node_id: int | None = None


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """The copies of one cluster, the directories left out, and the plan."""

    evidence: RepairEvidence
    plan: Plan
    unjudged: tuple[Unjudged, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Return True if a majority of the voters is here and intact, every directory was judged, and all agree.

        A voter whose only copy is not authoritative, or must not start, makes this False, whatever the others are.
        """
        untrue = [one for one in self.evidence.stale if one.newer is None]
        known = self.evidence
        faults = (self.unjudged, known.conflicts, known.uncompared, untrue, known.barred, lost_properties(known))
        return self.plan.is_whole and not any(faults)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The copies of one cluster in the order of their paths, what is left out, and the interrupted repairs."""

    copies: tuple[Copy, ...]
    unjudged: tuple[Unjudged, ...]
    interrupted: tuple[Interruption, ...]


def read_each(files: Files, paths: Sequence[str]) -> Reading:
    """Read these directories. Leave out each that is no copy, cannot be read, or is of another cluster than most.

    Raises:
        MetadataLogError, OSError: none can be judged. For a single path: the reason why it cannot.
    """
    places: dict[str, Place] = {}
    copies: list[Copy] = []
    unjudged: list[Unjudged] = []
    interrupted: list[Interruption] = []
    disks, unlisted = _brokers_disks(files, paths)
    for path in paths:
        place = None
        try:
            if path in unlisted:
                raise unlisted[path]
            place = _new_place(files, path, places)
            places[os.path.realpath(place.metadata)] = place
            found = interruption(files, place)
            interrupted += [] if found is None else [found]
            copies.append(read_copy(files, place))
        except (MetadataLogError, OSError) as error:
            if len(paths) == 1 and not interrupted:
                raise
            found_id = None if place is None else place.node_id
            bare = isinstance(error, RefusedError) and is_bare_disk(files, path, disks)
            left_out = _bare_disk(path) if bare else _unjudged(path, error)
            unjudged.append(msgspec.structs.replace(left_out, node_id=found_id))
    if not copies:
        said = "; ".join([*(one.problem for one in unjudged), *(_finish_first(one) for one in interrupted)])
        raise RefusedError(f"none of these directories can be judged: {said}")
    copies, foreign = _of_one_cluster(copies)
    of_others = foreign_copies(files, copies)
    foreign += [Unjudged(path=one.place.log_dir, problem=f"{one.label}: {why}") for one, why in of_others]
    ours = [copy for copy in copies if all(copy is not other for other, _ in of_others)]
    ours = with_partition_proofs(files, confirmed(files, ours), disks)
    return Reading(copies=tuple(ours), unjudged=(*unjudged, *foreign), interrupted=tuple(interrupted))


def _brokers_disks(
    files: Files, paths: Sequence[str]
) -> tuple[list[BrokersDisk], dict[str, MetadataLogError | OSError]]:
    """Return the disks with partitions, and the paths that cannot be listed, each with its error."""
    found: list[BrokersDisk] = []
    errors: dict[str, MetadataLogError | OSError] = {}
    for path in paths:
        try:
            found += brokers_disks(files, [path])
        except (MetadataLogError, OSError) as error:
            errors[path] = error
    return found, errors


def _bare_disk(path: str) -> Unjudged:
    return Unjudged(
        path=path,
        problem=f"{path} holds no metadata log. Its partition directories count as proofs of commits. The broker's "
        f"copy of the log is in the log directory that holds {METADATA_DIRECTORY}: name that, too",
    )


def inspect_copies(files: Files, paths: Sequence[str]) -> Inspection:
    """Read and compare the copies, see `read_each`.

    Raises:
        MetadataLogError, OSError: none can be judged. For a single path: the reason why it cannot.
    """
    reading = read_each(files, paths)
    known = with_undoable(files, judged_evidence(files, with_lone_records(files, reading.copies)))
    # Before any plan: a directory in the middle of a repair is partly old and partly new.
    if reading.interrupted:
        first = of_interruptions(reading.interrupted, paths)
        plan = Plan(is_whole=False, situation=first.situation, repairs=(), steps=first.steps)
        return Inspection(evidence=known, plan=plan, unjudged=reading.unjudged)
    unread = [one for one in reading.unjudged if one.may_hold_more]
    lost, judged = lost_properties(known), _without(known, unread)
    plan = make_plan(files, without_lost(judged, lost))
    if not running_voters(known):
        plan = with_conflicting_repairs(files, conflicting_repairs_of(files, known), plan, paths)
    plan = restored_first(known, lost, plan)
    if unread:
        is_refused = (judged.absent_voters, judged.absent_brokers) != (known.absent_voters, known.absent_brokers)
        steps = tuple(map(_after_reading, plan.steps)) if is_refused else plan.steps
        plan = msgspec.structs.replace(plan, steps=(_read_first(unread), *steps))
    return Inspection(evidence=known, plan=plan, unjudged=reading.unjudged)


def _without(known: RepairEvidence, unread: Sequence[Unjudged]) -> RepairEvidence:
    """Return the same without absent nodes whose directory is here but cannot be read.

    Otherwise the plan's commands would declare them --missing. A directory without a known owner may be any absent
    node's.
    """
    there = {one.node_id for one in unread}
    return msgspec.structs.replace(
        known,
        absent_voters=() if None in there else tuple(node for node in known.absent_voters if node not in there),
        absent_brokers=() if None in there else tuple(node for node in known.absent_brokers if node not in there),
    )


def _finish_first(one: Interruption) -> str:
    return one.problem if one.record is None else f"{one.problem}: run it again: {again(one.record, one.log_dir)}"


def _unjudged(path: str, error: MetadataLogError | OSError) -> Unjudged:
    if isinstance(error, OSError):
        todo = remedy(error) or "copy to another disk what can be read of it, and name that"
        todo += ", or as root" if isinstance(error, PermissionError) else ""
        problem = f"{error.filename or path} cannot be read ({error.strerror or error}): {todo}"
        return Unjudged(path=path, problem=problem, may_hold_more=True)
    return Unjudged(path=path, problem=str(error), may_hold_more=not isinstance(error, RefusedError))


def _read_first(unread: Sequence[Unjudged]) -> Step:
    names = ", ".join(one.path for one in unread)
    return Step(
        text=f"Before any repair, fix what keeps {names} from being read, and inspect all again: it may hold records "
        "that no other copy has"
    )


def _after_reading(step: Step) -> Step:
    """Return the step with a sentence if it is a repair, which refuses while a node's copy is not here."""
    if not step.repairs:
        return step
    return msgspec.structs.replace(step, text=f"{step.text}. Until step 1 is done, this is refused")


def _of_one_cluster(copies: Sequence[Copy]) -> tuple[list[Copy], list[Unjudged]]:
    """Return the copies of the most frequent cluster, and the others. At a tie the first copy's cluster counts."""
    by_cluster: dict[str, list[Copy]] = {}
    for copy in copies:
        cluster = _cluster_of(copy)
        if cluster is not None:
            by_cluster.setdefault(cluster, []).append(copy)
    if len(by_cluster) < 2:
        return list(copies), []
    chosen = max(by_cluster, key=lambda cluster: len(by_cluster[cluster]))
    foreign = [
        Unjudged(
            path=copy.place.log_dir,
            problem=f"{copy.label} is of another cluster, {cluster}, not of {chosen}: inspect it by itself, or with "
            "others of its cluster",
        )
        for cluster, others in by_cluster.items()
        if cluster != chosen
        for copy in others
    ]
    ours = (None, chosen)
    return [copy for copy in copies if _cluster_of(copy) in ours], foreign


def _cluster_of(copy: Copy) -> str | None:
    return None if copy.place.identity is None else copy.place.identity.cluster_id
