"""Change static voters (kraft.version 0): the configuration names them, and quorum-state and the log repeat them.

Decides: the lines of the configuration, the faults of a given one, and the voters in the directories. Must not know:
how they are written.

Kafka 3.9 and older refuses to start if `quorum-state` names other voters than `controller.quorum.voters`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.files.port import Files
from metadata_log.voters import CONTROLLER_LISTENER, Endpoint
from quorum.recovery.advice.commands import brokers_of, never_again, rejoin, start_line
from quorum.recovery.advice.directory_transfer import Home, take_home
from quorum.recovery.advice.newer_release import refuse_newer_voters
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.guards.addresses import refuse_no_host
from quorum.recovery.guards.request import Proposal, Request
from quorum.recovery.journal.changes import Rewrite
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError, WrongOptionError
from quorum.recovery.journal.next_steps import Command, Step, step_of
from quorum.recovery.repairs.new_log import opening_batch, unvoted
from quorum.recovery.repairs.repair_context import RepairContext, look_ahead
from quorum.recovery.repairs.targets import read_targets

VOTERS_KEY = "controller.quorum.voters"
BOOTSTRAP_KEY = "controller.quorum.bootstrap.servers"
_STATIC = re.compile(r"(?P<id>\d+)@(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:@/\[\]\s]*):(?P<port>\d+)", re.ASCII)


class StaticVoter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A voter in the form of the configuration."""

    node_id: int
    address: str

    def __str__(self) -> str:
        return f"{self.node_id}@{self.address}"

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint at which it is probed."""
        host, _, port = self.address.rpartition(":")
        return Endpoint(name=CONTROLLER_LISTENER, host=host.strip("[]"), port=int(port))


def parse_static_voter(text: str) -> StaticVoter:
    """Parse a voter written `id@host:port`.

    Raises:
        WrongOptionError: it is not written so.
    """
    match = _STATIC.fullmatch(text.strip())
    if match is None or not 0 < int(match["port"]) < 1 << 16:
        raise WrongOptionError(f"{text!r} is no static voter: write id@host:port")
    refuse_no_host(f"{text!r}", match["host"].strip("[]"))
    return StaticVoter(node_id=int(match["id"]), address=f"{match['host']}:{int(match['port'])}")


def propose_static_voters(
    files: Files, targets: Sequence[str], copies: Sequence[str], named: Sequence[StaticVoter], request: Request
) -> Proposal:
    """Make `named` the static voters; `targets` are the log directories of all of them.

    Raises:
        RefusedError: it is not safe. Nothing was changed.
        OSError: something cannot be read.
    """
    found = read_targets(files, targets, copies, named)
    known, owned, source = found.known, found.owned, found.source
    refuse_newer_voters(source)
    if source.kraft_version > 0:
        raise RefusedError(
            f"{source.label} is at kraft.version {source.kraft_version}: the log names its voters, and those of the "
            "configuration are ignored. Use `kraft recover standalone` or `kraft recover voters`"
        )
    ids = _check_members(owned, named)
    if all(set(copy.static_voters) == set(ids) and copy.end.epoch == source.end.epoch for copy in owned):
        raise AlreadyDoneError(
            "the directories name these voters already: only the configuration has to say "
            f"{VOTERS_KEY}={','.join(map(str, named))}"
        )
    instead = "Bring that copy's log here first (kraft recover inspect)"
    writes = [voter.endpoint for voter in named]
    is_begun = found.is_begun and set(source.static_voters) == set(ids)
    ahead = look_ahead(files, known, source, request, instead=instead, writes=writes, is_begun=is_begun)
    return _proposal(files, ahead, owned, named, request)


def _check_members(owned: Sequence[Copy], named: Sequence[StaticVoter]) -> list[int]:
    ids = [voter.node_id for voter in named]
    twice = next((node_id for node_id in ids if ids.count(node_id) > 1), None)
    if twice is not None:
        raise WrongOptionError(f"--set names node {twice} twice: each once")
    nodes = [copy.node_id for copy in owned]
    for copy in owned:
        if copy.node_id not in ids:
            raise RefusedError(f"{copy.label} is not among --set: name node {copy.node_id}, or leave its --dir out")
    absent = [node_id for node_id in ids if node_id not in nodes]
    if absent:
        raise RefusedError(
            f"voter {absent[0]} of --set has no --dir: started from an empty directory, such voters could elect each "
            "other and begin an empty log. Begin with the voters whose directories are here"
        )
    return ids


def _proposal(
    files: Files, ahead: RepairContext, owned: Sequence[Copy], named: Sequence[StaticVoter], request: Request
) -> Proposal:
    source, ids = ahead.kept, [voter.node_id for voter in named]
    batch = opening_batch(
        source,
        epoch=ahead.epoch,
        leader_id=source.node_id if source.node_id is not None else ids[0],
        voters=None,
        static_voters=ids,
        now_ms=request.now_ms,
    )
    before = list(source.static_voters)
    state = unvoted(ahead.epoch, kraft_version=0, static_voters=ids)
    rewrites = tuple(
        Rewrite(
            action="static-voters",
            log_dir=copy.place.log_dir,
            changes=ahead.log_into(files, copy, batch, state),
            facts=msgspec.structs.replace(
                ahead.facts(own=copy.place.key), static_voters_before=tuple(before), static_voters_after=tuple(ids)
            ),
        )
        for copy in owned
        if ahead.lacks(copy)
    )
    gone = ahead.others(ids)
    return ahead.proposal(
        "static-voters",
        rewrites,
        says=[f"static voters become {', '.join(map(str, named))}; before: {', '.join(map(str, before))}"],
        warnings=_warnings(gone),
        steps=_steps(ahead, owned, named, gone),
    )


def _homes(owned: Sequence[Copy], named: Sequence[StaticVoter], brokers: Collection[int]) -> list[Home]:
    addresses = {voter.node_id: voter.address for voter in named}
    return [
        Home(
            node_id=copy.node_id,
            log_dir=copy.place.log_dir,
            address=addresses.get(-1 if copy.node_id is None else copy.node_id),
            is_broker=copy.node_id in brokers,
        )
        for copy in owned
    ]


def _steps(
    ahead: RepairContext, owned: Sequence[Copy], named: Sequence[StaticVoter], gone: Sequence[int]
) -> list[Step]:
    start = step_of(
        text="Start the controllers, and wait until one leads. Then restart the brokers"
        if len(named) > 1
        else "Start the controller, and wait until it leads. Then restart the brokers",
        commands=(start_line(ours=False),),
    )
    leader = named[0].address
    known = ahead.known
    again = rejoin(
        ours=False, cluster_id=known.cluster_id, others=gone, brokers=brokers_of(known), leader=leader, dynamic=False
    )
    return [config_step(named), *take_home(_homes(owned, named, brokers_of(known))), start, *again]


def _warnings(gone: Sequence[int]) -> tuple[str, ...]:
    if not gone:
        return ()
    return (never_again(gone, of_old="with the old configuration"),)


def config_step(named: Sequence[StaticVoter]) -> Step:
    """Return the step with the configuration line of every node."""
    return step_of(
        text="In the configuration of every node, controllers and brokers alike",
        commands=(Command(f"{VOTERS_KEY}={','.join(map(str, named))}"),),
    )


def config_problems(
    properties: Mapping[str, str], named: Sequence[StaticVoter], path: str, *, shown: Mapping[str, str] | None = None
) -> list[str]:
    """Return sentences about a node's configuration that differs from these voters.

    `shown`: values for messages, if the node's own come from a resolved reference.
    """
    problems = []
    wanted = ",".join(map(str, named))
    said = properties.get(VOTERS_KEY, "")
    try:
        found = {str(parse_static_voter(word)) for word in said.split(",") if word.strip()}
    except MetadataLogError as error:
        found = {str(error)}
    if found != {str(voter) for voter in named}:
        text = (shown or {}).get(VOTERS_KEY, said)
        problems.append(f"{path}: {VOTERS_KEY} is {text or 'not set'}, and must be {wanted}")
    if properties.get(BOOTSTRAP_KEY):
        problems.append(f"{path}: {BOOTSTRAP_KEY} is set: with static voters it must not be, remove the line")
    return problems
