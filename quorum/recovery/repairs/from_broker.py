"""All controllers are lost: make a new controller's directory from a broker's copy of the metadata log.

Decides: which of several copies is used, where the new directory may be, and its content. Must not know: how it is
written. The broker may be running: only the valid prefix of its copy is read, and its log only grows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.directory import (
    LOCK_FILE,
    META_PROPERTIES_FILE,
    METADATA_DIRECTORY,
    MetaProperties,
    format_meta_properties,
)
from metadata_log.files.port import Files
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.image.older_release import is_of_older_release
from metadata_log.offsets import Epoch
from metadata_log.storage.checkpoint import BOOTSTRAP_CHECKPOINT, CheckpointTimes, build_checkpoint
from metadata_log.storage.formatter import bootstrap_values, keeps_bootstrap_file
from metadata_log.storage.segment import segment_bases
from metadata_log.voters import Endpoint, Voter, VoterSet
from quorum.recovery.advice.clones import of_the_clone
from quorum.recovery.advice.commands import bring_back, brokers_of, contact, is_ours, rejoin
from quorum.recovery.advice.directory_transfer import home_of, take_home
from quorum.recovery.advice.newer_release import refuse_newer_voters
from quorum.recovery.advice.standalone_command import alone_line
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.read_copies import read_copies
from quorum.recovery.evidence.judged_records import judged_evidence
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.request import (
    Proposal,
    Request,
    files_in,
    refuse_conflicts,
    refuse_damaged,
    refuse_majority,
    refuse_other_listeners,
    refuse_unusable,
)
from quorum.recovery.journal.changes import Content, FileChange, Rewrite
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.next_steps import Step
from quorum.recovery.journal.repair_record import DONE, JOURNAL_FILE, NEW_SUFFIX, audits, refuse_pending, work_root_of
from quorum.recovery.repairs.new_log import kept_log, merged, new_epoch_files, opening_batch, unvoted
from quorum.recovery.repairs.repair_context import RepairContext, look_ahead
from quorum.recovery.repairs.static_voters import StaticVoter, config_step


class NewController(msgspec.Struct, frozen=True, kw_only=True):
    """The new controller. `directory_id` applies if its directory is not formatted yet."""

    log_dir: str
    node_id: int
    endpoints: tuple[Endpoint, ...]
    directory_id: DirectoryId


def propose_from_broker(
    files: Files, brokers: Sequence[str], copies: Sequence[str], new: NewController, request: Request
) -> Proposal:
    """Make a controller's log directory from the best copy among `brokers`, log directories of brokers or other nodes.

    Args:
        copies: further log directories, for comparison.

    Raises:
        RefusedError: it is not safe. Nothing was changed.
        OSError: something cannot be read.
    """
    if not brokers:
        raise RefusedError("no broker's log directory is named: say --broker-dir")
    own = _identity(files, new)
    known = judged_evidence(files, read_copies(files, brokers, copies))
    refuse_conflicts(known)
    places = {find_place(files, path).metadata for path in brokers}
    chosen = next(copy for copy in known.copies if copy.place.metadata in places)
    _refuse_inside(known, new)
    if known.cluster_id is None:
        raise RefusedError(
            f"{chosen.place.complaint}, so its cluster is not known: name the whole log directory, not the metadata "
            "log alone"
        )
    if own is not None:
        own.check_own(new.log_dir, cluster_id=known.cluster_id, node_id=new.node_id)
    refuse_damaged(known, chosen)
    refuse_unusable(chosen)
    voters = _voters(known, chosen, new, own)
    refuse_majority(known)
    instead = "Take that copy instead: name it with --broker-dir"
    ahead = look_ahead(files, known, chosen, request, instead=instead, writes=new.endpoints, makes=[new.log_dir])
    return _proposal(files, ahead, new, own, voters, request)


def _identity(files: Files, new: NewController) -> MetaProperties | None:
    """Return the meta.properties of the target directory, or None if it is not formatted.

    Raises:
        RefusedError: it is in use for another purpose.
    """
    path = new.log_dir
    if not files.exists(path):
        return None
    if not files.is_dir(path):
        raise RefusedError(f"{path} is a file: name a new log directory")
    refuse_pending(files, path)
    made = [one for one in audits(files, work_root_of(path)).records if one.state == DONE]
    if made and made[-1].action == "from-broker" and segment_bases(list(files_in(files, path))):
        raise AlreadyDoneError(
            f"{path} holds a metadata log already, the result of `kraft recover from-broker` of {made[-1].at}: start "
            "the controller, or take it back first (kraft recover undo)"
        )
    if segment_bases(list(files_in(files, path))):
        raise RefusedError(
            f"{path} holds a metadata log already: nothing is written over it. Name a new directory; if this is a "
            "surviving controller's, use `kraft recover standalone`"
        )
    if not files.exists(f"{path}/{META_PROPERTIES_FILE}"):
        if not _is_blank(files, path):
            raise RefusedError(f"{path} is not empty and not formatted: name a new directory")
        return None
    place = find_place(files, path)
    if place.identity is None:
        raise RefusedError(f"{place.complaint}: name a new directory")
    return place.identity


def _is_blank(files: Files, path: str) -> bool:
    """Return True if the directory holds nothing, or only files of an undecided or undone repair."""
    for name in files.listdir(path):
        if name == METADATA_DIRECTORY:
            if not all(inside.endswith(NEW_SUFFIX) for inside in files.listdir(f"{path}/{name}")):
                return False
        elif name not in (LOCK_FILE, f"{JOURNAL_FILE}.tmp") and not name.endswith(NEW_SUFFIX):
            return False
    return True


def _refuse_inside(known: RepairEvidence, new: NewController) -> None:
    made = os.path.realpath(new.log_dir)
    for copy in known.copies:
        read = os.path.realpath(copy.place.log_dir)
        if f"{made}/".startswith(f"{read}/") or f"{read}/".startswith(f"{made}/"):
            raise RefusedError(f"{new.log_dir} and {copy.place.log_dir} lie in each other: name a new directory")


def _voters(known: RepairEvidence, chosen: Copy, new: NewController, own: MetaProperties | None) -> VoterSet | None:
    """Return the new controller as the only voter, or None if the voters are static."""
    image = chosen.image
    refuse_newer_voters(chosen)
    is_older = image is not None and not chosen.newer.hides_metadata and is_of_older_release(image)
    if image is None or (image.features.metadata_version is None and not is_older):
        raise RefusedError(
            f"{chosen.label}: no record that this software knows says at which metadata.version its cluster is, and a "
            "new controller's bootstrap.checkpoint does. Use the kraft that knows the release that wrote it, or a "
            "surviving controller's own directory (kraft recover standalone)"
        )
    ids = set(known.in_force.ids)
    if new.node_id in image.cluster.brokers and new.node_id not in ids:
        raise RefusedError(
            f"--node-id {new.node_id} is a broker's: give the id of a lost controller"
            + (f", one of {', '.join(map(str, sorted(ids)))}" if ids else ", or a new one")
        )
    if chosen.kraft_version == 0:
        return None
    if chosen.voters is None:
        raise RefusedError(
            f"{chosen.label} is at kraft.version {chosen.kraft_version} and names no voters: take another copy"
        )
    if not new.endpoints:
        raise RefusedError(
            "the new controller has no address, so no node could reach it. Give its listener: "
            "--endpoint LISTENER://HOST:PORT"
        )
    refuse_other_listeners(chosen.voters, new.endpoints)
    key = ReplicaKey(node_id=NodeId(new.node_id), directory_id=_directory_of(new, own))
    return VoterSet.of([Voter(key=key, endpoints=new.endpoints)])


def _directory_of(new: NewController, own: MetaProperties | None) -> DirectoryId:
    return own.directory_id if own is not None and own.directory_id is not None else new.directory_id


def _proposal(
    files: Files,
    ahead: RepairContext,
    new: NewController,
    own: MetaProperties | None,
    voters: VoterSet | None,
    request: Request,
) -> Proposal:
    chosen, node_id = ahead.kept, new.node_id
    static = () if voters is not None else (node_id,)
    batch = opening_batch(
        chosen, epoch=ahead.epoch, leader_id=node_id, voters=voters, static_voters=static, now_ms=request.now_ms
    )
    state = unvoted(ahead.epoch, kraft_version=chosen.kraft_version, static_voters=static)
    present = files_in(files, new.log_dir)

    def changes() -> Iterator[FileChange]:
        yield from (_gone(name) for name in sorted(present) if name.endswith(".checkpoint"))
        yield from kept_log(chosen, present, in_place=False)
        yield from new_epoch_files(chosen, batch, present, epoch=ahead.epoch, state=state)
        yield from _identity_files(files, ahead, new, own, request)

    key = ReplicaKey(node_id=NodeId(node_id), directory_id=_directory_of(new, own))
    facts = ahead.facts(voters, own=key)
    rewrite = Rewrite(action="from-broker", log_dir=new.log_dir, changes=merged(changes()), facts=facts)
    others = ahead.others([node_id])
    return ahead.proposal(
        "from-broker",
        (rewrite,),
        says=[
            f"{new.log_dir} becomes the log directory of controller {node_id}, from the copy of {chosen.label}",
            f"static voters become {_static(new)}" if voters is None else f"voters: {', '.join(map(str, voters))}",
        ],
        warnings=[
            *_warnings(others, node_id if node_id in ahead.others([]) else None),
            *_hard_to_find(ahead.known, new),
            *_of_a_controller(ahead.known, chosen),
        ],
        steps=_steps(ahead, new, voters, others),
    )


def _steps(ahead: RepairContext, new: NewController, voters: VoterSet | None, others: Sequence[int]) -> list[Step]:
    ours = is_ours(voters) or is_ours(ahead.kept.voters)
    leader = contact(new.endpoints)
    cluster_id = ahead.known.cluster_id
    return [
        *([config_step([_static(new)])] if voters is None else []),
        *take_home([home_of(new.node_id, new.log_dir, new.endpoints)]),
        bring_back(ours),
        *rejoin(
            ours=ours,
            cluster_id=cluster_id,
            others=others,
            brokers=brokers_of(ahead.known),
            leader=leader,
            dynamic=voters is not None,
            of=of_the_clone(ahead.known),
        ),
    ]


def _static(new: NewController) -> StaticVoter:
    """Return the new controller as every node's configuration must name it."""
    return StaticVoter(node_id=new.node_id, address=contact(new.endpoints) or "HOST:PORT")


def _warnings(others: Sequence[int], reused: int | None) -> tuple[str, ...]:
    """Return warnings about lost controllers that come back. `reused`: the lost id that the new controller has."""
    found = []
    if others:
        found.append(
            f"should a lost controller ({', '.join(map(str, others))}) turn up again, it must not start from its old "
            "directory"
        )
    if reused is not None:
        found.append(
            f"should the old disk of controller {reused} turn up again, nothing must start from it: two nodes would "
            f"call themselves {reused}"
        )
    return tuple(found)


def _hard_to_find(known: RepairEvidence, new: NewController) -> Iterator[str]:
    """Yield sentences about an id or an address that no controller had: brokers' configurations may not name it."""
    servers = "controller.quorum.bootstrap.servers (or controller.quorum.voters)"
    image = known.best_with_metadata.image
    ids = set(known.in_force.ids) | {*map(int, image.cluster.controllers if image else ())}
    if ids and new.node_id not in ids:
        yield (
            f"--node-id {new.node_id} never was a controller's here, those were {', '.join(map(str, sorted(ids)))}: "
            f"brokers find this one only if their {servers} names its address"
        )
    had = {f"{endpoint.host}:{endpoint.port}" for endpoint in known.endpoints()}
    if had and new.endpoints and not any(f"{one.host}:{one.port}" in had for one in new.endpoints):
        yield (
            f"no lost controller listened at {', '.join(map(str, new.endpoints))}, but at {', '.join(sorted(had))}: "
            f"name the new address in {servers} of every node, and restart it"
        )


def _of_a_controller(known: RepairEvidence, chosen: Copy) -> Iterator[str]:
    """Yield a sentence if the copy is a surviving voter's: it can go on in place, under its own id and address."""
    if known.is_voter(chosen):
        yield (
            f"{chosen.label} is a surviving controller's directory, not a broker's: `{alone_line(known, chosen)}` "
            "makes it go on in place; leave it as it is from now on if you make a new one"
        )


def _gone(name: str) -> FileChange:
    """Return the removal of a checkpoint with the voters that the directory was formatted with."""
    return FileChange(name=f"{METADATA_DIRECTORY}/{name}", content=None)


def _identity_files(
    files: Files, ahead: RepairContext, new: NewController, own: MetaProperties | None, request: Request
) -> Iterator[FileChange]:
    """Yield `bootstrap.checkpoint`, if a cluster with these features has one, and meta.properties."""
    image = ahead.kept.image
    level = 0 if image is None else image.features.metadata_version or 0
    has_one = files.exists(f"{new.log_dir}/{BOOTSTRAP_CHECKPOINT}")
    if level and image is not None and keeps_bootstrap_file(level) and not has_one:
        values = bootstrap_values(level, dict(image.features.levels.items()))
        times = CheckpointTimes.at(request.now_ms, last_contained_ms=0)
        data = b"".join(build_checkpoint(values, epoch=Epoch(0), times=times))
        yield FileChange(name=BOOTSTRAP_CHECKPOINT, content=Content(data=data))
    if own is None or own.directory_id is None:
        properties = MetaProperties(
            cluster_id=ahead.known.cluster_id or "", node_id=NodeId(new.node_id), directory_id=new.directory_id
        )
        data = format_meta_properties(properties, request.now_ms)
        yield FileChange(name=META_PROPERTIES_FILE, content=Content(data=data))
