"""A majority is lost for good: make a surviving voter the only one.

Decides: when that may be done, and the new voter set. Must not know: how it is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from metadata_log.files.port import Files
from metadata_log.ids import ReplicaKey, id_text
from metadata_log.voters import Endpoint, Voter, VoterSet
from quorum.recovery.advice.clones import of_the_clone
from quorum.recovery.advice.commands import bring_back, brokers_of, contact, is_ours, never_again, rejoin
from quorum.recovery.advice.directory_transfer import home_of, take_home
from quorum.recovery.advice.epochs_at_end import refuse_ended
from quorum.recovery.advice.newer_release import refuse_newer_voters
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.request import (
    Proposal,
    Request,
    files_in,
    refuse_broker,
    refuse_damaged,
    refuse_majority,
    refuse_nameless,
    refuse_other_listeners,
    refuse_unusable,
)
from quorum.recovery.journal.changes import FileChange, Rewrite
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError
from quorum.recovery.repairs.new_log import kept_log, merged, new_epoch_files, opening_batch, unvoted
from quorum.recovery.repairs.repair_context import RepairContext, look_ahead
from quorum.recovery.repairs.targets import read_target


def propose_standalone(
    files: Files, target: str, copies: Sequence[str], request: Request, *, endpoints: Sequence[Endpoint] = ()
) -> Proposal:
    """Make the node whose log directory is `target` the only voter.

    Args:
        copies: other nodes' log directories, for comparison.
        endpoints: its new endpoints as a controller; default: those in the log.

    Raises:
        RefusedError: it is not safe. Nothing was changed.
        OSError: something cannot be read.
    """
    known, own = read_target(files, target, copies)
    refuse_damaged(known, own)
    refuse_unusable(own)
    refuse_broker(own)
    voter = _voter(own, endpoints)
    _refuse_needless(known, own, voter)
    instead = "Make a controller from that copy instead (kraft recover inspect says how)"
    ahead = look_ahead(files, known, own, request, instead=instead, writes=voter.endpoints)
    return _proposal(files, ahead, voter, request)


def _voter(own: Copy, endpoints: Sequence[Endpoint]) -> Voter:
    identity, voters = refuse_nameless(own.place), own.voters
    refuse_newer_voters(own)
    if own.kraft_version == 0 or voters is None:
        raise RefusedError(
            f"{own.label} is at kraft.version 0: the configuration names its voters, not the log. Use `kraft recover "
            "static-voters`"
        )
    if identity.directory_id is None:
        raise RefusedError(f"{own.place.log_dir}/meta.properties names no directory.id, and a voter needs one")
    known = voters.get(identity.node_id)
    if known is None and not endpoints:
        names = ", ".join(map(str, voters.node_ids))
        raise RefusedError(
            f"{own.label} is no voter (those are {names}): to make it one, say where it listens as a controller, "
            "--endpoint CONTROLLER://HOST:PORT"
        )
    refuse_other_listeners(voters, endpoints)
    key = ReplicaKey(node_id=identity.node_id, directory_id=identity.directory_id)
    if known is None:
        return Voter(key=key, endpoints=tuple(endpoints))
    return msgspec.structs.replace(known, key=key, endpoints=tuple(endpoints) or known.endpoints)


def _refuse_needless(known: RepairEvidence, own: Copy, voter: Voter) -> None:
    if own.voters is not None and own.voters == VoterSet.of([voter]):
        refuse_ended(known)
        raise AlreadyDoneError(f"{own.label} is the only voter already: start it, there is nothing to repair")
    if len(known.voters) > 1:
        refuse_majority(known)


def _proposal(files: Files, ahead: RepairContext, voter: Voter, request: Request) -> Proposal:
    own, node_id = ahead.kept, int(voter.key.node_id)
    voters = VoterSet.of([voter])
    present = files_in(files, own.place.log_dir)
    batch = opening_batch(own, epoch=ahead.epoch, leader_id=node_id, voters=voters, now_ms=request.now_ms)
    state = unvoted(ahead.epoch, kraft_version=1)

    def changes() -> Iterator[FileChange]:
        yield from kept_log(own, present, in_place=True)
        yield from new_epoch_files(own, batch, present, epoch=ahead.epoch, state=state)

    others = ahead.others([node_id])
    ours = is_ours(voters)
    brokers = brokers_of(ahead.known)
    leader = contact(voter.endpoints)
    rewrite = Rewrite(
        action="standalone",
        log_dir=own.place.log_dir,
        changes=merged(changes()),
        facts=ahead.facts(voters, own=voter.key),
    )
    return ahead.proposal(
        "standalone",
        (rewrite,),
        says=[
            f"{own.label} becomes the only voter: {voter}",
            *([] if own.stop is None else [f"a torn write is cut: {own.stop}"]),
        ],
        warnings=_warnings(others, voter, brokers),
        steps=[
            *take_home([home_of(node_id, own.place.log_dir, voter.endpoints, brokers)]),
            bring_back(ours),
            *rejoin(
                ours=ours,
                cluster_id=ahead.known.cluster_id,
                others=others,
                brokers=brokers,
                leader=leader,
                of=of_the_clone(ahead.known),
            ),
        ],
    )


def _warnings(others: Sequence[int], voter: Voter, brokers: Collection[int]) -> tuple[str, ...]:
    if not others:
        return ()
    return (
        f"{never_again(others, brokers)}: an old majority would go on by itself. Directory "
        f"{id_text(voter.key.directory_id)} of node {voter.key.node_id} is the quorum now",
    )
