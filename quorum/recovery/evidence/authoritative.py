"""Authoritative copies: each shows its voter's last state.

Decides: which voters' copies are not, and why.

The records in a copy were held by its voter, whatever happened since. Only the voter's last state shows which records
it lacked, and that the node may vote from there. A stale copy counts for no majority. It sets no upper bound of the
commits, and an election that it made possible proves nothing either.

A copy is stale for any of these reasons:
- It holds nothing and others do (a disk that was formatted again).
- A newer copy of its voter is here.
- By another log, its node led or voted in a later epoch than the copy shows.
- It has lost the vote that elected the leader of its epoch.
- It elected a leader that lacked committed records, or records of an elector.
- Its node led the last epoch, and another log has more of it.
- It lacks committed records, and so do too many voters for a majority to hold them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.ids import ReplicaKey
from metadata_log.tools.check.duplicates import are_in_order
from metadata_log.tools.findings.facts import ForgottenVote
from metadata_log.tools.read.control_facts import Election
from metadata_log.tools.replicas.committed_bounds import outrunners
from metadata_log.tools.replicas.first_vote import is_first_vote
from metadata_log.tools.replicas.given_votes import HeldElection, forgotten_vote
from metadata_log.tools.replicas.restored_voters import restored_voter
from metadata_log.tools.replicas.voters_in_force import is_voter
from metadata_log.voters import majority_of
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.conflicts import common_end, is_passed_over
from quorum.recovery.evidence.historical_extents import forgetful
from quorum.recovery.evidence.same_log import shows_one_log


class StaleReplica(msgspec.Struct, frozen=True, kw_only=True):
    """A voter's copy that is not authoritative. `newer`: the newer copy of the same voter.

    `rivals`: other copies of the same directory, if nothing shows on which of them the node ran last.
    `vote`: its log may be whole, but its quorum-state has lost this vote.
    `is_outrun`: its node led the last epoch, and may have held more of it than any copy here.
    """

    copy: Copy
    why: str
    newer: Copy | None = None
    rivals: tuple[Copy, ...] = ()
    vote: ForgottenVote | None = None
    is_outrun: bool = False

    def __str__(self) -> str:
        return f"{self.copy.label} {self.why}"


def stale_replicas(copies: Sequence[Copy], *sets: Sequence[ReplicaKey]) -> tuple[StaleReplica, ...]:
    """Return the copies that are not authoritative, in the order of the voters.

    There are two voter sets, the latest and the one before it, while it is not proven which is in force.
    """
    by_set = [[[copy for copy in copies if is_voter(copy.place.key, [voter])] for voter in voters] for voters in sets]
    found: dict[int, StaleReplica] = {}
    for by_voter in by_set:
        for one in (one for own in by_voter for one in _each(copies, own, by_voter)):
            found.setdefault(id(one.copy), one)
    lacking = [_lacking(copies, [[copy for copy in own if id(copy) not in found] for own in each]) for each in by_set]
    # A follower behind an uncommitted removal is one too many by the smaller set alone: both sets must agree.
    in_all = (one for key, one in lacking[0].items() if all(key in others for others in lacking))
    return (*found.values(), *in_all)


def _each(copies: Sequence[Copy], own: Sequence[Copy], by_voter: Sequence[Sequence[Copy]]) -> Iterator[StaleReplica]:
    """Yield the stale copies of one voter, each judged by its own state and by elections in other logs."""
    newest = max(own, key=_age, default=None)
    rivals = [] if newest is None else [newest, *(one for one in own if is_rival(one, newest))]
    for copy in own:
        others = tuple(one for one in rivals if one is not copy)
        if 0 < len(others) < len(rivals):
            names = " and ".join(one.place.log_dir for one in others)
            said = f"has the node.id and directory.id of {names}, and nothing says which of them the node ran on last"
            yield StaleReplica(copy=copy, why=said, rivals=others)
            continue
        if copy is not newest and newest is not None:
            than = "holds as much" if _age(copy) == _age(newest) else "is newer"
            yield StaleReplica(
                copy=copy, why=f"counts only once: another copy of it {than} ({newest.place.log_dir})", newer=newest
            )
            continue
        why = (
            _emptied(copies, copy, by_voter)
            or _set_back(copies, copy)
            or _misled(copies, copy)
            or _outgrown(copies, copy, [one for each in by_voter for one in each])
        )
        outrun = _outrun(copies, copy, by_voter) if why is None else None
        why = why or outrun
        vote = _forgotten(copies, copy) if why is None else None
        if copy.used_by is None and (why is not None or vote is not None):
            said = why or ("" if vote is None else vote.predicate())
            yield StaleReplica(copy=copy, why=said, vote=vote, is_outrun=outrun is not None)


def _age(copy: Copy) -> tuple[int, int, bool]:
    """Return a key that never falls while a node runs: its greatest epoch, then the historical extent of its log."""
    return copy.greatest_epoch, copy.proved_end, copy.stop is None


def is_rival(one: Copy, other: Copy) -> bool:
    """Return True if both have one directory.id, and nothing shows on which of them the node ran last.

    A damaged copy is judged by its damage, and a copy in use by its process; an export is no directory.
    """
    if one is other or any(copy.place.manifest or copy.held_more or copy.used_by is not None for copy in (one, other)):
        return False
    directories = [copy.place.identity and copy.place.identity.directory_id for copy in (one, other)]
    if directories[0] is None or directories[0] != directories[1]:
        return False
    return not are_in_order(_progress(one), _progress(other))


def _progress(copy: Copy) -> tuple[int, int, int]:
    state = copy.quorum_state
    return int(copy.end.epoch), int(copy.end.offset), -1 if state is None else int(state.leader_epoch)


def _emptied(copies: Sequence[Copy], copy: Copy, by_voter: Sequence[Sequence[Copy]]) -> str | None:
    """Return why an empty directory does not show its voter's last state, or None.

    An empty one is stale if others have records, or may have. An exception is a node that was killed after its vote for
    the very first leader: it never held a record.
    """
    if copy.end.offset > 0:
        return None
    holder = max(copies, key=lambda other: other.rank)
    if copy.proved_end == 0 and is_first_vote(copy.quorum_state, copy.node_id, holder.prefix.elections):
        return None
    if holder.end.offset > 0:
        return f"holds no record, and {holder.label} holds {holder.end.offset}: its log is gone, or never was there"
    if all(by_voter):
        return None
    return "holds no record, and not all voters are here: one that is not may hold all that this one lost"


def _set_back(copies: Sequence[Copy], copy: Copy) -> str | None:
    """Return a sentence about the node's part in a later epoch than its directory shows, or None."""
    if copy.quorum_state is None or copy.node_id is None:
        return None
    elections = ((_name_among(copies, other), election) for other in copies for election in other.prefix.elections)
    restored = restored_voter(copy.node_id, copy.greatest_epoch, elections)
    return None if restored is None else restored.predicate()


def _forgotten(copies: Sequence[Copy], copy: Copy) -> ForgottenVote | None:
    """Return the vote that its quorum-state has lost, by the LeaderChange in a log that no more logs deny than have."""
    state, key, image = copy.quorum_state, copy.place.key, copy.image
    if state is None or key is None or image is None:
        return None
    by_path = sorted(copies, key=lambda one: (-1 if one.node_id is None else one.node_id, one.place.log_dir))
    held = [
        HeldElection(on=_name_among(copies, one), voter_sets=one.prefix.voter_sets, election=election)
        for one in by_path
        for election in one.prefix.elections
        if election.epoch == state.leader_epoch and not _is_denied(copies, election)
    ]
    return forgotten_vote(key, state, image.features.metadata_version, held)


def _is_denied(copies: Sequence[Copy], election: Election) -> bool:
    """Return True if as many logs have a record of another epoch at its offset as have the LeaderChange."""
    at = [epoch for copy in copies if (epoch := copy.epoch_at(election.offset)) >= 0]
    return 2 * at.count(election.epoch) <= len(at)


def _name_among(copies: Sequence[Copy], copy: Copy) -> str:
    """Return the name of a copy as `kraft check` has it: with its path only beside another of the node."""
    has_namesake = any(one is not copy and one.node_id == copy.node_id for one in copies)
    return copy.label if has_namesake or copy.node_id is None else f"node {copy.node_id}"


def _misled(copies: Sequence[Copy], copy: Copy) -> str | None:
    """Return a sentence about the node's part in electing a leader that lacked committed records, or None.

    At least one of the electors had been restored from an older copy, and nothing shows which.
    """
    held = [(one, {(election.epoch, election.offset) for election in one.prefix.elections}) for one in copies]
    for holder in copies:
        for election in holder.prefix.elections:
            electors, at = {election.leader_id, *election.granting}, (election.epoch, election.offset)
            if election.is_repairs or copy.node_id not in electors:
                continue
            others = (one for one, known in held if at not in known)
            prover = next((one for one in others if _is_passed_over(copies, one, election)), None)
            if prover is None or common_end(copy, prover) >= proved_committed(prover):
                continue
            if not electors & forgetful(copies, prover, election.offset):
                return (
                    f"took part in electing node {election.leader_id}, whose epoch {election.epoch} began at offset "
                    f"{election.offset} (by the log of {holder.label}), though all before {proved_committed(prover)} "
                    f"was committed before, by the log of {prover.label}: one at least of those who elected had been "
                    "set back to an older copy"
                )
    return None


def _outgrown(copies: Sequence[Copy], copy: Copy, voting: Sequence[Copy]) -> str | None:
    """Return a sentence about the node's part in electing a leader whose log was shorter than an elector's, or None.

    A voter grants no vote to a candidate whose log is shorter (Raft 5.4.1). So an elector had been restored from an
    older copy, or its log is no longer the one that it voted with.
    """
    for holder in copies:
        for election in holder.prefix.elections:
            electors = {election.leader_id, *election.granting}
            if election.is_repairs or copy.node_id not in electors:
                continue
            longer = next((one for one in voting if one.node_id in electors and _outgrows(one, holder, election)), None)
            if longer is not None and not electors & forgetful(copies, longer, election.offset):
                whose = "its own log" if longer is copy else f"the log of {longer.label}, which did so, too,"
                return (
                    f"took part in electing node {election.leader_id}, whose epoch {election.epoch} began at offset "
                    f"{election.offset} (by the log of {holder.label}), and {whose} goes on past that in epoch "
                    f"{longer.epoch_at(election.offset)}: nobody votes for a shorter log than its own, so one at least "
                    "of those who elected had been set back to an older copy"
                )
    return None


def _outrun(copies: Sequence[Copy], copy: Copy, by_voter: Sequence[Sequence[Copy]]) -> str | None:
    """Return a sentence about the logs that have more of the epoch that the node led last, or None.

    Damage, a repair, or a node that runs explains a shorter log. If a majority of the voters holds the longest one,
    nothing in it is in doubt.
    """
    if copy.went_on or copy.is_damaged or any(done.new_epoch is None for done in copy.audited.accepted):
        return None
    if any(one.used_by is not None for one in copies):
        return None
    extents = {id(one): one.extent for one in copies}
    further = outrunners(tuple(extents.values()), extents[id(copy)])
    ahead = [one for one in copies if extents[id(one)] in further and common_end(copy, one) == copy.end.offset]
    if not ahead:
        return None
    furthest = max(ahead, key=lambda one: int(one.end.offset))
    holding = [own for own in by_voter if any(int(one.end.offset) >= furthest.end.offset for one in own)]
    if len(holding) >= majority_of(len(by_voter)):
        return None
    return (
        f"led epoch {copy.end.epoch}, but its log ends at offset {copy.end.offset}, and the log of {furthest.label} "
        f"has records of that epoch up to {furthest.end.offset}: a leader has each record first, so this log has lost "
        "its end, or was copied earlier"
    )


def _outgrows(copy: Copy, holder: Copy, election: Election) -> bool:
    """Return True if its log has all that the leader began with, and goes on from there in an older epoch."""
    begun = 0 <= copy.epoch_at(election.offset) < election.epoch
    return begun and shows_one_log(copy, holder) and common_end(copy, holder) == election.offset


def _is_passed_over(copies: Sequence[Copy], prover: Copy, election: Election) -> bool:
    """Return True if the leader began at an offset where this log proves a record of an older epoch committed."""
    if not prover.start_offset <= election.offset < proved_committed(prover) or _was_let_go(copies, prover):
        return False
    return 0 <= prover.epoch_at(election.offset) < election.epoch


def _lacking(copies: Sequence[Copy], by_voter: Sequence[Sequence[Copy]]) -> dict[int, StaleReplica]:
    """Return the voters' copies that lack proven committed records, if they are too many for a majority to hold those.

    So many cannot all have lagged, and nothing shows which of them did.
    """
    majority = majority_of(len(by_voter))
    found: dict[int, StaleReplica] = {}
    for prover in copies:
        end = proved_committed(prover)
        if end == 0 or _was_let_go(copies, prover):
            continue
        lack = [copy for own in by_voter for copy in own if _lacks(copies, copy, prover, end)]
        if len(by_voter) - len(lack) >= majority:
            continue
        names = ", ".join(str(copy.node_id) for copy in lack)
        why = (
            f"lacks records before offset {end}, which the log of {prover.label} proves committed; too many do "
            f"for that ({names} of {len(by_voter)} voters): one at least was set back to an older copy, "
            "or copied earlier"
        )
        found |= {id(copy): StaleReplica(copy=copy, why=why) for copy in lack if id(copy) not in found}
    return found


def proved_committed(copy: Copy) -> int:
    """Return the offset up to which a log proves its records committed: by its checkpoint, or a leader's records."""
    return max(copy.prefix.committed_before, 0 if copy.origin is None else int(copy.origin.end.offset))


def is_proved(prover: Copy, copy: Copy, offset: int) -> bool:
    """Return True if the log of `prover` proves committed the record that `copy` holds at `offset`."""
    epoch = copy.epoch_at(offset)
    if epoch < 0 or prover.epoch_at(offset) != epoch:
        return False
    return min(proved_committed(prover), common_end(prover, copy)) > offset


def _was_let_go(copies: Sequence[Copy], prover: Copy) -> bool:
    """Return True if a repair in another log began, or may have begun, after every epoch of this log."""
    return any(
        (copy.repair is not None and copy.repair.epoch > prover.end.epoch) or is_passed_over(copies, copy, prover)
        for copy in copies
    )


def _lacks(copies: Sequence[Copy], copy: Copy, prover: Copy, end: int) -> bool:
    """Return True if its log shows that it lacks some of those records.

    Damage, a running node or an accepted repair explains a shorter log, and a log of unknown origin shows nothing.
    """
    if copy.stop is not None or copy.short is not None or copy.used_by is not None or not shows_one_log(copy, prover):
        return False
    common = common_end(copy, prover)
    return common < end and copy.node_id not in forgetful(copies, prover, common)
