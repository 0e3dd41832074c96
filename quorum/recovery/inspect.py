"""Looking at copies: what `kraft recover inspect` says, and what every repair begins with.

Decides: which directories a look at many leaves out, and why; a repair leaves none out. Must not know: how it is shown.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.files.port import Files
from metadata_log.format.epochs import EpochStart
from metadata_log.offsets import Epoch, Offset
from quorum.recovery.advice import Step
from quorum.recovery.copies import Copy
from quorum.recovery.copy_parts import Stop
from quorum.recovery.copy_reader import read_copy
from quorum.recovery.errors import RefusedError
from quorum.recovery.journal import again
from quorum.recovery.obstacles import Interruption, interruption, of_interruptions
from quorum.recovery.places import Place, find_place
from quorum.recovery.plan import Plan, make_plan
from quorum.recovery.rivals import heed_rivals, rivals_of
from quorum.recovery.running import running_voters
from quorum.recovery.survey import Survey, survey
from quorum.recovery.undo import with_undoable


class Unjudged(msgspec.Struct, frozen=True, kw_only=True):
    """A directory that nothing can be said of, and why. `may_hold_more`: it may yet be a copy of this cluster's log.

    `node_id`: whose it is, where that can be read.
    """

    path: str
    problem: str
    may_hold_more: bool = False
    node_id: int | None = None


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """What is there, what is left out of that, and what to do."""

    survey: Survey
    plan: Plan
    unjudged: tuple[Unjudged, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether a majority of the voters is here and sound, every directory was judged, and all agree.

        A voter's only copy that does not speak for it is none to start from, whatever the others are.
        """
        untrue = [one for one in self.survey.silent if one.newer is None]
        return self.plan.is_whole and not (self.unjudged or self.survey.conflicts or self.survey.uncompared or untrue)


def read_copies(files: Files, paths: Sequence[str]) -> list[Copy]:
    """The copies at these paths, each once.

    Raises:
        RefusedError: one is none.
        OSError: one cannot be read.
    """
    places: dict[str, Place] = {}
    for path in paths:
        place = _new_place(files, path, places)
        places[os.path.realpath(place.metadata)] = place
    return confirmed(files, [read_copy(files, place) for place in places.values()])


def confirmed(files: Files, copies: Sequence[Copy]) -> list[Copy]:
    """The same, with all read once more that end before an epoch which their own files deny and other nodes' logs have:
    then those files are older than the log, as where it was copied from a running node."""
    return [_with_confirmed(files, copy, copies) for copy in copies]


def _with_confirmed(files: Files, copy: Copy, copies: Sequence[Copy]) -> Copy:
    others = [other for other in copies if other.node_id != copy.node_id]
    stop = copy.stop
    if stop is None or stop.false_epoch is None or not any(_begins(other, stop) for other in others):
        return copy
    starts = [(span.epoch, span.start_offset) for other in others for span in other.spans]
    starts.append((stop.false_epoch, stop.offset))
    known = frozenset(EpochStart(epoch=Epoch(epoch), start_offset=Offset(offset)) for epoch, offset in starts)
    return read_copy(files, copy.place, confirmed=known)


def _begins(copy: Copy, stop: Stop) -> bool:
    """Whether this log has the epoch there that another one's files deny, be it that its own do, too."""
    own = copy.stop
    is_same = own is not None and (own.false_epoch, own.offset) == (stop.false_epoch, stop.offset)
    return is_same or copy.epoch_at(stop.offset) == stop.false_epoch


def _new_place(files: Files, path: str, known: dict[str, Place]) -> Place:
    """`known`: those before, by the paths of their logs with links resolved."""
    place = find_place(files, path)
    same = known.get(os.path.realpath(place.metadata))
    if same is not None and same.log_dir == place.log_dir:
        raise RefusedError(f"{place.log_dir} is named twice: name each copy once")
    if same is not None:
        raise RefusedError(f"{place.log_dir} and {same.log_dir} are one directory: name each copy once")
    return place


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The copies of one cluster in the order of their paths, what is left out, and where a repair was interrupted."""

    copies: tuple[Copy, ...]
    unjudged: tuple[Unjudged, ...]
    interrupted: tuple[Interruption, ...]


def read_each(files: Files, paths: Sequence[str]) -> Reading:
    """Read them; what is no copy, cannot be read or is of another cluster than most is left out, and why.

    Raises:
        MetadataLogError, OSError: there is none to judge; of one path, what is wrong with it.
    """
    places: dict[str, Place] = {}
    copies: list[Copy] = []
    unjudged: list[Unjudged] = []
    interrupted: list[Interruption] = []
    for path in paths:
        place = None
        try:
            place = _new_place(files, path, places)
            places[os.path.realpath(place.metadata)] = place
            found = interruption(files, place)
            interrupted += [] if found is None else [found]
            copies.append(read_copy(files, place))
        except (MetadataLogError, OSError) as error:
            if len(paths) == 1 and not interrupted:
                raise
            found_id = None if place is None else place.node_id
            unjudged.append(msgspec.structs.replace(_unjudged(path, error), node_id=found_id))
    if not copies:
        said = "; ".join([*(one.problem for one in unjudged), *(_finish_first(one) for one in interrupted)])
        raise RefusedError(f"none of these directories can be judged: {said}")
    copies, foreign = _of_one_cluster(copies)
    return Reading(
        copies=tuple(confirmed(files, copies)), unjudged=(*unjudged, *foreign), interrupted=tuple(interrupted)
    )


def inspect_copies(files: Files, paths: Sequence[str]) -> Inspection:
    """Read and compare them, see `read_each`.

    Raises:
        MetadataLogError, OSError: there is none to judge; of one path, what is wrong with it.
    """
    reading = read_each(files, paths)
    known = with_undoable(files, survey(reading.copies))
    if reading.interrupted:
        first = of_interruptions(reading.interrupted, paths)
        plan = Plan(is_whole=False, situation=first.situation, repairs=(), steps=first.steps)
        return Inspection(survey=known, plan=plan, unjudged=reading.unjudged)
    unread = [one for one in reading.unjudged if one.may_hold_more]
    plan = make_plan(files, _without(known, unread))
    if not running_voters(known):
        plan = heed_rivals(files, rivals_of(files, known), plan, paths)
    if unread:
        plan = msgspec.structs.replace(plan, steps=(_read_first(unread), *plan.steps))
    return Inspection(survey=known, plan=plan, unjudged=reading.unjudged)


def _without(known: Survey, unread: Sequence[Unjudged]) -> Survey:
    """The same, where no command of the plan calls gone (--missing) what is there and cannot be read.

    Where one of those does not say whose it is, it may be any absent node's.
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
        remedy = "copy to another disk what can be read of it, and name that"
        if isinstance(error, PermissionError):
            remedy = "run this as the user that the node runs as, or as root"
        problem = f"{error.filename or path} cannot be read ({error.strerror or error}): {remedy}"
        return Unjudged(path=path, problem=problem, may_hold_more=True)
    return Unjudged(path=path, problem=str(error), may_hold_more=not isinstance(error, RefusedError))


def _read_first(unread: Sequence[Unjudged]) -> Step:
    names = ", ".join(one.path for one in unread)
    return Step(
        text=f"Before any repair, mend what keeps {names} from being read, and inspect all once more: what no other "
        "copy has may stand there"
    )


def _of_one_cluster(copies: Sequence[Copy]) -> tuple[list[Copy], list[Unjudged]]:
    """The copies of the cluster that most of them are of (of the first, where as many are of each), and the others."""
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
