"""Give all log directories of a node another cluster id, for a cloned or restored volume.

Decides: when that may be done. Must not know: how it is written. Nodes of two clusters with one id would accept each
other's requests, so a clone needs its own id before it starts. The metadata topic's own id changes with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, MetaProperties, format_meta_properties
from metadata_log.files.port import Files, parent_of
from metadata_log.ids import DirectoryId, doubt_of_cluster_id, id_text, why_no_cluster_id
from quorum.recovery.advice.newer_release import not_checked
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import evidence_of
from quorum.recovery.guards.liveness import EndpointState, ProbeResult, silence
from quorum.recovery.guards.request import Proposal, Request
from quorum.recovery.journal.changes import Content, FileChange, Rewrite
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError, WrongOptionError
from quorum.recovery.journal.log_directories import Place, find_place, find_target
from quorum.recovery.journal.next_steps import Step, command, step_of
from quorum.recovery.journal.repair_facts import RepairFacts
from quorum.recovery.journal.repair_record import refuse_pending
from quorum.recovery.repairs.audit_facts import unchecked_fact
from quorum.recovery.repairs.own_ids import OwnIds, new_own_ids

_KEEPS_ALL: Final = "every byte of the logs: only meta.properties holds the id"
_KEEPS_RECORDS: Final = "all records of the logs, with the metadata topic's new own id in those that name it"


def propose_cluster_id(
    files: Files, targets: Sequence[str], new_id: str, request: Request, *, is_a_clone: bool
) -> Proposal:
    """Give log directories, of one node or of several nodes of one cluster, the cluster id `new_id`.

    Args:
        is_a_clone: the cluster that the directories were cloned from goes on elsewhere, under the old id.

    Raises:
        RefusedError: it is not safe. Nothing was changed.
        OSError: something cannot be read.
    """
    _check_id(new_id)
    doubt = doubt_of_cluster_id(new_id, "--to")
    places = [find_target(files, path) for path in targets]
    identities = [_identity(files, place) for place in places]
    if len({os.path.realpath(place.log_dir) for place in places}) < len(places):
        raise WrongOptionError("a directory is named twice: name each once")
    copies = [read_copy(files, place) for place in places if files.exists(place.metadata)]
    old = _old_id(identities, copies, new_id, is_a_clone=is_a_clone)
    asked = _refuse_live(copies, old, request, is_a_clone=is_a_clone)
    others = siblings_of(files, places, copies, old=old, new=new_id)
    due = [pair for pair in zip(places, identities, strict=True) if pair[1].cluster_id != new_id]
    own_ids = new_own_ids(files, [place for place, _ in due], new_id)
    rewrites = tuple(_rewrite(place, identity, new_id, request.now_ms, copies, own_ids) for place, identity in due)
    return Proposal(
        action="cluster-id",
        rewrites=rewrites,
        says=(
            f"{', '.join(one.log_dir for one in rewrites)} of cluster {old}: of cluster {new_id} from now on",
            *own_ids.sentences(),
        ),
        keeps=_KEEPS_RECORDS if own_ids.new_ids else _KEEPS_ALL,
        warnings=(
            *(() if doubt is None else (doubt,)),
            *own_ids.problems,
            *_changed_again(copies, own_ids),
            *_addresses(copies),
            *_told_of(others),
            *silence(asked),
            *not_checked(copies),
        ),
        asked=asked,
        steps=(
            *_do_the_others(others, new_id, is_a_clone=is_a_clone),
            *_steps(copies, is_a_clone=is_a_clone),
        ),
        is_a_part=True,
    )


def _old_id(identities: Sequence[MetaProperties], copies: Sequence[Copy], new_id: str, *, is_a_clone: bool) -> str:
    """Return the cluster id of the directories that do not have `new_id` yet."""
    old = sorted({identity.cluster_id for identity in identities} - {new_id})
    if len(old) > 1:
        raise RefusedError(f"these directories are of several clusters: {', '.join(old)}. Name those of one cluster")
    if not old:
        nothing = f"all these directories are of cluster {new_id} already, so nothing was changed"
        another = "`kraft storage random-uuid` makes one"
        if not is_a_clone and all(copy.audited.cloned is None for copy in copies):
            raise AlreadyDoneError(f"{nothing}: start them, or give them another id ({another})")
        steps = _steps(copies, is_a_clone=is_a_clone)
        due = ". ".join(": ".join([step.text, *step.commands]) for step in steps)
        raise AlreadyDoneError(f"{nothing}. {due}. Or, if they are to have another id: {another}")
    return old[0]


def _voting(copies: Sequence[Copy]) -> list[Copy]:
    """Return the copies whose own logs name them voters."""
    return [copy for copy in copies if evidence_of([copy]).is_voter(copy)]


def _addresses(copies: Sequence[Copy]) -> Iterator[str]:
    """Yield a sentence about voters' addresses in controllers' logs: they are still those of the old cluster.

    A broker's log does not matter here: a broker gets the voters from its leader.
    """
    voting = [copy.label for copy in _voting(copies)]
    if not voting:
        return
    if not any(copy.voters is not None for copy in copies):
        yield (
            f"{', '.join(voting)}: the configuration holds the voters' addresses (controller.quorum.voters). Before "
            "anything starts, name the new ones there"
        )
        return
    yield (
        f"{', '.join(voting)}: the voters' addresses in the log are those of the old cluster. If the new ones differ, "
        "change them before anything starts: with `kraft recover standalone --endpoint LISTENER://HOST:PORT` if one "
        "controller is here, with `kraft recover voters` if all are"
    )


def _steps(copies: Sequence[Copy], *, is_a_clone: bool) -> Iterator[Step]:
    whole = "clone" if is_a_clone else "cluster"
    yield Step(text=f"Do the same with every other log directory of the {whole}, brokers' too, before anything starts")
    voting = [copy.place.log_dir for copy in _voting(copies)]
    yield step_of(
        text="After the last of them, and before anything starts: bring copies of the other nodes' metadata logs to a "
        "controller's host, and inspect all. That says how they get a quorum at addresses of their own",
        commands=(command("kraft", "recover", "inspect", *(voting or ["CONTROLLER_DIR"]), "COPY"),),
    )


def _told_of(others: Siblings) -> Iterator[str]:
    if others.paths:
        names = ", ".join(others.paths)
        yield f"{names} of the same node and cluster: not named, and no node starts with directories of two clusters"
    yield from others.elsewhere


def _do_the_others(others: Siblings, new_id: str, *, is_a_clone: bool) -> list[Step]:
    if not others.paths:
        return []
    dirs = [word for path in others.paths for word in ("--dir", path)]
    more = ["--is-a-clone", "--apply"] if is_a_clone else ["--apply"]
    line = command("kraft", "recover", "cluster-id", *dirs, "--to", new_id, *more)
    return [step_of(text="Give the node's other log directories here the same id", commands=(line,))]


def _check_id(text: str) -> None:
    why = why_no_cluster_id(text, "--to")
    if why is not None:
        raise WrongOptionError(why)


def _identity(files: Files, place: Place) -> MetaProperties:
    refuse_pending(files, place.log_dir)
    if place.identity is None:
        raise RefusedError(f"{place.complaint}: only a formatted log directory has a cluster id")
    return place.identity


def _refuse_live(copies: Sequence[Copy], old: str, request: Request, *, is_a_clone: bool) -> tuple[ProbeResult, ...]:
    """Refuse if the old cluster is alive, unless these directories are a clone's. Return the probes' results."""
    endpoints = list(dict.fromkeys(endpoint for copy in copies for endpoint in evidence_of([copy]).endpoints()))
    answers = tuple(request.ask([*endpoints, *request.more_endpoints]))
    for answer in answers:
        is_live = answer.heard in (EndpointState.LEADER, EndpointState.CONTROLLER) and answer.cluster_id in (None, old)
        if is_live and not is_a_clone:
            raise RefusedError(
                f"cluster {old} lives: {answer.address} answers ({answer.said}). If these directories are a clone of "
                "its, and that cluster goes on, say --is-a-clone; if they are its own, leave them"
            )
    return answers


def _changed_again(copies: Sequence[Copy], own_ids: OwnIds) -> Iterator[str]:
    """Yield a warning if the id changes again: the new own id is computed from the previous one.

    Nodes whose cluster ids changed in another order have other own ids.
    """
    for copy in copies:
        if own_ids.new_ids and copy.audited.cloned is not None:
            yield (
                f"{copy.label}: its cluster id was changed before, and its new own id follows from the last one. "
                "Give every node the same cluster ids in the same order, or undo the change first (`kraft "
                "recover undo`): a node follows no leader whose log has another own id"
            )


def _rewrite(
    place: Place, identity: MetaProperties, new_id: str, now_ms: int, copies: Sequence[Copy], own_ids: OwnIds
) -> Rewrite:
    properties = msgspec.structs.replace(identity, cluster_id=new_id)
    change = FileChange(name=META_PROPERTIES_FILE, content=Content(data=format_meta_properties(properties, now_ms)))
    facts = RepairFacts(
        node_id=int(identity.node_id),
        cluster_id_before=identity.cluster_id,
        cluster_id_after=new_id,
        last_epoch=next((int(copy.end.epoch) for copy in copies if copy.place is place), None),
        metadata_topic_ids=own_ids.new_names(place.log_dir),
        not_checked=unchecked_fact(copies),
    )
    changes = (*own_ids.changes.get(place.log_dir, ()), change)
    return Rewrite(action="cluster-id", log_dir=place.log_dir, changes=changes, facts=facts)


class Siblings(msgspec.Struct, frozen=True, kw_only=True):
    """`paths`: log directories of the same nodes and cluster next to the named ones. `elsewhere`: sentences."""

    paths: tuple[str, ...]
    elsewhere: tuple[str, ...]


def siblings_of(files: Files, places: Sequence[Place], copies: Sequence[Copy], *, old: str, new: str) -> Siblings:
    """Find other log directories of these nodes that are still of cluster `old`; those of `new` are done already.

    `copies`: the metadata logs among `places`.
    """
    nodes = {place.node_id for place in places}
    given = {os.path.realpath(place.log_dir) for place in places}
    found: dict[str, Place] = {}
    elsewhere: list[str] = []
    for parent in sorted({parent_of(path) for path in given}):
        try:
            names = sorted(files.listdir(parent))
        except OSError as error:
            elsewhere.append(
                f"{parent} cannot be listed ({error.strerror or error}): look there for other directories of these "
                "nodes"
            )
            continue
        for path in (os.path.join(parent, name) for name in names):
            if path not in given and files.exists(f"{path}/{META_PROPERTIES_FILE}"):
                place = find_place(files, path)
                if place.identity is not None and place.identity.cluster_id in (old, new) and place.node_id in nodes:
                    found[path] = place
    seen = {_directory_of(place) for place in (*places, *found.values())}
    elsewhere += _unseen(places, copies, seen)
    due = tuple(path for path, place in found.items() if place.identity is None or place.identity.cluster_id == old)
    return Siblings(paths=due, elsewhere=tuple(dict.fromkeys(elsewhere)))


def _unseen(places: Sequence[Place], copies: Sequence[Copy], seen: set[DirectoryId | None]) -> list[str]:
    """Return sentences about directories that these nodes registered as brokers and that are not here."""
    said = []
    for node_id in sorted({place.node_id for place in places if place.node_id is not None}):
        for copy in copies:
            brokers = (
                {} if copy.image is None else {int(one): broker for one, broker in copy.image.cluster.brokers.items()}
            )
            unseen = [one for one in brokers[node_id].directories if one not in seen] if node_id in brokers else []
            if unseen:
                names = ", ".join(map(id_text, unseen))
                said.append(
                    f"broker {node_id} registered a log directory of id {names}, too, which is not here: it is on "
                    "another disk or host, and the broker does not start while its directories are of two clusters"
                )
    return said


def _directory_of(place: Place) -> DirectoryId | None:
    return None if place.identity is None else place.identity.directory_id
