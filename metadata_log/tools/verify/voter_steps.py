"""The rules for voter sets: which set a log may name, which set may follow another, and who may elect a leader.

Must not know: files.

Source: KIP-853. A leader adds or removes one voter, and takes the next change only after that has committed. If two
voters changed at once, a majority of the old set and one of the new need not share a voter. Both could then elect a
leader. A replaced disk is one removed voter and, later, one added voter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metadata_log.ids import ReplicaKey, id_text
from metadata_log.records import LeaderChangeMessage, VotersRecord
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.control_facts import Election, Voting
from metadata_log.tools.words import join_names
from metadata_log.voters import majority_of


def voter_ids_fault(voters: Sequence[ReplicaKey]) -> str | None:
    """Return why these are no voter set at all, as the end of a sentence about the record, or None."""
    if not voters:
        return "leaves no voter"
    ids = [voter.node_id for voter in voters]
    twice = next((node_id for node_id in ids if ids.count(node_id) > 1), None)
    return None if twice is None else f"names node {twice} twice"


def voter_addresses_fault(record: VotersRecord) -> str | None:
    """Return the end of a sentence that names the voters without an address, or None.

    A leader adds a voter only with an endpoint of the leader's own listener (KIP-853).
    """
    silent = [str(voter.voter_id) for voter in record.voters if not voter.endpoints]
    return f"names no address of node {join_names(silent)}: no other voter can reach it" if silent else None


def voters_step_fault(before: Sequence[ReplicaKey], after: Sequence[ReplicaKey]) -> str | None:
    """Return the end of a sentence on the changes between two sets if they are more than one voter, or None."""
    gone = [voter for voter in before if voter not in after]
    new = [voter for voter in after if voter not in before]
    if len(gone) + len(new) <= 1:
        return None
    parts = [f"{what} {_named(voters)}" for what, voters in (("removes", gone), ("adds", new)) if voters]
    return f"{' and '.join(parts)} at once, where a leader changes one voter at a time"


def _named(voters: Sequence[ReplicaKey]) -> str:
    return join_names([f"node {voter.node_id} (directory {id_text(voter.directory_id)})" for voter in voters])


def electorate_fault(election: Election, voting: Voting) -> str | None:
    """Return a sentence if the leader, or a node that granted it a vote, is not in `voting`; None if all are.

    A first leader writes its own set into the batch of its LeaderChange.
    """
    ids = {int(voter.node_id) for voter in voting.voters}
    strangers = ({*election.granting, election.leader_id} & set(election.voters)) - ids
    if not strangers:
        return None
    names = ", ".join(map(str, sorted(strangers)))
    return (
        f"node {election.leader_id} became leader of epoch {election.epoch}, but {names} had no vote: the voters by "
        f"the KRaftVoters at offset {voting.offset} were {', '.join(map(str, sorted(ids)))}"
    )


def votes_faults(election: Election, *, was_removed: bool) -> Iterator[tuple[str, str]]:
    """Yield the kind and the meaning of each fault in a LeaderChange's own lists of voters and granted votes.

    Args:
        was_removed: True if the leader is no voter any more. A leader that removes itself may win again, with the
            votes of the others.
    """
    voters, granting = set(election.voters), set(election.granting)
    who = f"node {election.leader_id} became leader of epoch {election.epoch}"
    strangers = (granting | {election.leader_id}) - voters
    if was_removed:
        strangers -= {election.leader_id}
    if strangers:
        names = ", ".join(map(str, sorted(strangers)))
        yield (
            "leader_not_voter",
            f"{who}, but {names} had no vote: the voters were {', '.join(map(str, sorted(voters)))}",
        )
    needed = majority_of(len(voters))
    if len(granting & voters) < needed and not (election.is_repairs and not granting):
        meaning = f"{who} with {len(granting & voters)} of {len(voters)} votes, where {needed} are a majority"
        yield "leader_without_majority", meaning


def election_of(record: LeaderChangeMessage, batch: LocatedBatch, file: str, *, offset: int, is_late: bool) -> Election:
    """Return the content of a LeaderChange and its place in the log."""
    header = batch.header
    return Election(
        epoch=header.partition_leader_epoch,
        leader_id=record.leader_id,
        voters=tuple(voter.voter_id for voter in record.voters),
        granting=tuple(voter.voter_id for voter in record.granting_voters),
        offset=offset,
        file=file,
        position=batch.position,
        is_repairs=header.base_offset > 0 and (header.count > 1 or not record.granting_voters),
        is_late=is_late,
    )
