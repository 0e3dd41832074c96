"""Rewrite the voter set, its endpoints or its directory ids, in the directories of all voters.

Decides: the new set, which log all directories get, and when that may be done. Must not know: how it is written.

Every voter of the new set must have its directory here. A voter with its old log would hold the old set, and could
elect a leader and commit with others of that set. All directories get the same bytes: the best of their logs, and one
more batch. If a run is interrupted between two directories, the next run gives the others the log of the first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import msgspec

from metadata_log.files.port import Files
from metadata_log.ids import DirectoryId, InvalidIdError, NodeId, ReplicaKey, id_text, parse_directory_id
from metadata_log.voters import GRPC_LISTENER, Endpoint, InvalidVoterError, Voter, VoterSet, kafka_listener_name
from quorum.recovery.advice.clones import of_the_clone
from quorum.recovery.advice.commands import brokers_of, contact, is_ours, never_again, rejoin, start_line
from quorum.recovery.advice.directory_transfer import homes_of, take_home
from quorum.recovery.advice.newer_release import refuse_newer_voters
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.guards.addresses import refuse_no_host
from quorum.recovery.guards.request import Proposal, Request, refuse_second_quorum
from quorum.recovery.journal.changes import Rewrite
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError, WrongOptionError
from quorum.recovery.journal.next_steps import Command, Step, command, step_of
from quorum.recovery.repairs.new_log import opening_batch, unvoted
from quorum.recovery.repairs.repair_context import RepairContext, look_ahead
from quorum.recovery.repairs.targets import read_targets

_SET: Final = re.compile(
    r"(?P<id>\d+)@(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:@/\[\]\s]*):(?P<port>\d+)(/(?P<grpc>\d+))?(:(?P<directory>[\w-]+))?",
    re.ASCII,
)


class NamedVoter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A voter as `--set` names it. `directory_id`: None keeps the present one."""

    node_id: int
    host: str
    port: int
    grpc_port: int | None
    directory_id: DirectoryId | None


def parse_named_voter(text: str) -> NamedVoter:
    """Parse a voter written `id@host:port[/grpc-port][:directory-id]`.

    Raises:
        WrongOptionError: it is not written so.
    """
    match = _SET.fullmatch(text.strip())
    if match is None:
        raise WrongOptionError(f"--set {text!r}: write id@host:port, id@host:port/grpc-port, and perhaps :directory-id")
    refuse_no_host(f"--set {text!r}", match["host"].strip("[]"))
    ports = [int(match["port"]), *([int(match["grpc"])] if match["grpc"] else [])]
    for port in ports:
        if not 0 < port < 1 << 16:
            raise WrongOptionError(f"--set {text!r}: {port} is not a port")
    try:
        directory_id = None if match["directory"] is None else parse_directory_id(match["directory"])
    except InvalidIdError as error:
        raise WrongOptionError(f"--set {text!r}: {error}") from error
    return NamedVoter(
        node_id=int(match["id"]),
        host=match["host"].strip("[]"),
        port=ports[0],
        grpc_port=ports[1] if len(ports) > 1 else None,
        directory_id=directory_id,
    )


def propose_voters(
    files: Files, targets: Sequence[str], copies: Sequence[str], named: Sequence[NamedVoter], request: Request
) -> Proposal:
    """Make `named` the voters, in the log directories `targets` of all of them.

    Raises:
        RefusedError: it is not safe. Nothing was changed.
        OSError: something cannot be read.
    """
    found = read_targets(files, targets, copies, named)
    known, owned, source = found.known, found.owned, found.source
    refuse_newer_voters(source)
    if source.kraft_version == 0 or source.voters is None:
        raise RefusedError(
            f"{source.label} is at kraft.version 0: the configuration names its voters. Use `kraft recover "
            "static-voters`"
        )
    voters = _new_set(source, owned, named)
    _refuse_partial(owned, voters)
    refuse_second_quorum(known, owned)
    if all(copy.voters == voters and copy.rank == source.rank for copy in owned):
        raise AlreadyDoneError("these voters are already in all the directories: there is nothing to change")
    instead = "Bring that copy's log here first (kraft recover inspect)"
    writes = [at for voter in voters for at in voter.endpoints]
    is_begun = found.is_begun and source.voters == voters
    ahead = look_ahead(files, known, source, request, instead=instead, writes=writes, is_begun=is_begun)
    return _proposal(files, ahead, owned, voters, request)


def _new_set(source: Copy, owned: Sequence[Copy], named: Sequence[NamedVoter]) -> VoterSet:
    before = source.voters or VoterSet()
    listener = kafka_listener_name(before)
    try:
        voters = VoterSet.of(_voter(before, owned, one, listener) for one in named)
    except InvalidVoterError as error:
        raise WrongOptionError(f"--set: {error}") from error
    where = [(at.host, at.port) for voter in voters for at in voter.endpoints]
    twice = next((at for at in where if where.count(at) > 1), None)
    if twice is not None:
        raise WrongOptionError(f"--set: {twice[0]}:{twice[1]} is named twice: give each voter its own address")
    return voters


def _voter(before: VoterSet, owned: Sequence[Copy], one: NamedVoter, listener: str) -> Voter:
    known = before.get(NodeId(one.node_id))
    own = next((copy.place.identity for copy in owned if copy.node_id == one.node_id), None)
    directory_id = one.directory_id or (None if own is None else own.directory_id)
    if directory_id is None:
        raise RefusedError(
            f"--set {one.node_id}: no --dir is of node {one.node_id}, so its directory id is not known. Name its "
            "directory, or leave the node out, and let it join later"
        )
    endpoints = [Endpoint(name=listener, host=one.host, port=one.port)]
    if one.grpc_port is not None:
        endpoints.append(Endpoint(name=GRPC_LISTENER, host=one.host, port=one.grpc_port))
    elif known is not None and known.endpoint(GRPC_LISTENER) is not None:
        raise RefusedError(
            f"--set {one.node_id}: this voter has a GRPC listener, too: write {one.node_id}@{one.host}:{one.port}/"
            "GRPC-PORT"
        )
    key = ReplicaKey(node_id=NodeId(one.node_id), directory_id=directory_id)
    if known is None:
        return Voter(key=key, endpoints=tuple(endpoints))
    return msgspec.structs.replace(known, key=key, endpoints=tuple(endpoints))


def _refuse_partial(owned: Sequence[Copy], voters: VoterSet) -> None:
    """Refuse unless the voters and the directories to change match one to one."""
    nodes = [copy.node_id for copy in owned]
    for copy in owned:
        identity = copy.place.identity
        if identity is None:
            continue
        voter = voters.get(identity.node_id)
        if voter is None:
            raise RefusedError(f"{copy.label} is not among --set: name node {identity.node_id}, or leave its --dir out")
        if voter.key.directory_id != identity.directory_id:
            own = "none" if identity.directory_id is None else id_text(identity.directory_id)
            raise RefusedError(
                f"--set gives node {identity.node_id} the directory id {id_text(voter.key.directory_id)}, but that of "
                f"{copy.place.log_dir} is {own}"
            )
    for voter in voters:
        if voter.key.node_id not in nodes:
            raise RefusedError(
                f"voter {voter.key.node_id} of --set has no --dir: with its old log it would hold the old voters. "
                "Bring its directory here, or leave it out, and let it join later"
            )


def _proposal(
    files: Files, ahead: RepairContext, owned: Sequence[Copy], voters: VoterSet, request: Request
) -> Proposal:
    source, ids = ahead.kept, [int(node_id) for node_id in voters.node_ids]
    leader_id = source.node_id if source.node_id is not None else ids[0]
    batch = opening_batch(source, epoch=ahead.epoch, leader_id=leader_id, voters=voters, now_ms=request.now_ms)
    left = [copy for copy in owned if ahead.lacks(copy)]
    state = unvoted(ahead.epoch, kraft_version=1)
    rewrites = tuple(
        Rewrite(
            action="voters",
            log_dir=copy.place.log_dir,
            changes=ahead.log_into(files, copy, batch, state),
            facts=ahead.facts(voters, own=copy.place.key),
        )
        for copy in left
    )
    gone = ahead.others(ids)
    ours = is_ours(voters)
    leader = contact(voters.voters[0].endpoints)
    return ahead.proposal(
        "voters",
        rewrites,
        says=[
            f"voters become {', '.join(map(str, voters))}",
            *_changed(source.voters or VoterSet(), voters),
            _where_to(source, owned, left),
        ],
        warnings=_warnings(gone, brokers_of(ahead.known)),
        steps=[
            *_start_all(owned, voters, ours, brokers_of(ahead.known)),
            *rejoin(
                ours=ours,
                cluster_id=ahead.known.cluster_id,
                others=gone,
                brokers=brokers_of(ahead.known),
                leader=leader,
                of=of_the_clone(ahead.known),
            ),
        ],
    )


def _where_to(source: Copy, owned: Sequence[Copy], left: Sequence[Copy]) -> str:
    if source not in left:
        names = ", ".join(copy.place.log_dir for copy in left)
        return f"{source.label} has these voters already, by the same command: its log goes into {names}, too"
    if len(owned) > 1:
        return f"the log of {source.label}, the best of them, goes into all {len(owned)} directories"
    return f"the log of {source.label} goes on with that"


def _changed(before: VoterSet, after: VoterSet) -> Iterator[str]:
    """Yield a line for each voter, before and after."""
    for voter in after:
        old = before.get(voter.key.node_id)
        if old is None:
            yield f"voter {voter.key.node_id}: none -> {_at(voter)}"
        elif old != voter:
            yield f"voter {voter.key.node_id}: {_at(old)} -> {_at(voter)}"
        else:
            yield f"voter {voter.key.node_id}: {_at(old)}, as before"
    for voter in before:
        if after.get(voter.key.node_id) is None:
            yield f"voter {voter.key.node_id}: {_at(voter)} -> none"


def _at(voter: Voter) -> str:
    return f"{', '.join(map(str, voter.endpoints)) or 'no address'} (directory {id_text(voter.key.directory_id)})"


def _warnings(gone: Sequence[int], brokers: Collection[int]) -> tuple[str, ...]:
    if not gone:
        return ()
    return (never_again(gone, brokers),)


def _start_all(owned: Sequence[Copy], voters: VoterSet, ours: bool, brokers: Collection[int]) -> list[Step]:
    at = ",".join(contact(voter.endpoints) or "HOST:PORT" for voter in voters)
    return [
        step_of(
            text="In every node's configuration, controllers' and brokers': the new addresses",
            commands=(
                Command(f"controller.quorum.bootstrap.servers={at}"),
                Command("listeners=... (each controller its own)"),
            ),
        ),
        *take_home(homes_of(owned, voters, brokers)),
        step_of(text="Start the controllers, each in its directory", commands=(start_line(ours=ours),)),
        step_of(
            text="See that one leads, then restart the brokers",
            commands=(
                command("kraft", "quorum", "describe", "--bootstrap-controller", at)
                if ours
                else command("bin/kafka-metadata-quorum.sh", "--bootstrap-controller", at, "describe", "--status"),
            ),
        ),
    ]
