"""Authoritative copies: each shows its voter's last state.

Decides: which voters' copies are not, and why.

The records in a copy were held by its voter, whatever happened since. Only the voter's last state shows which records
it lacked, and that the node may vote from there. A stale copy counts for no majority. It sets no upper bound of the
commits, and an election that it made possible proves nothing either.

A copy is stale for any of these reasons:
- It holds nothing and others do (a disk that was formatted again).
- A newer copy of its voter is here.
- By another log, its node led or voted in a later epoch than the copy shows.
- Its votes or its leader contradict the other logs, by a finding of `kraft check`.
- It elected a leader that lacked committed records, or records of an elector.
- Its node led the last epoch, and other logs have more of it, by a finding of `kraft check`.
- It has other bytes than most logs, by a finding of `kraft check`.
- It lacks committed records, and so do too many voters for a majority to hold them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from metadata_log.ids import ReplicaKey
from metadata_log.tools.check.duplicates import are_in_order
from metadata_log.tools.findings.facts import ForgottenVote, VoterRestored
from metadata_log.tools.findings.finding import Cause, Finding
from metadata_log.tools.read.control_facts import Election
from metadata_log.tools.replicas.first_vote import is_first_vote
from metadata_log.tools.replicas.restored_voters import restored_voter
from metadata_log.tools.replicas.voters_in_force import is_voter
from metadata_log.tools.replicas.witnesses import has_impossible_record
from metadata_log.voters import majority_of
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.checked_votes import CheckedVotes
from quorum.recovery.evidence.conflicts import common_end, is_passed_over
from quorum.recovery.evidence.historical_extents import forgetful
from quorum.recovery.evidence.same_log import shows_one_log

_WITHOUT_SUBJECT: Final = (VoterRestored, ForgottenVote)
"""Facts whose sentence a program may have without its subject, which it names itself."""


class StaleReplica(msgspec.Struct, frozen=True, kw_only=True):
    """A voter's copy that is not authoritative. `newer`: the newer copy of the same voter.

    `rivals`: other copies of the same directory, if nothing shows on which of them the node ran last.
    `found`: the finding of `kraft check` that says so.
    `is_outrun`: its node led the last epoch, and may have held more of it than any copy here.
    """

    copy: Copy
    why: str
    newer: Copy | None = None
    rivals: tuple[Copy, ...] = ()
    found: Finding | None = None
    is_outrun: bool = False

    def __str__(self) -> str:
        is_sentence = self.found is not None and not isinstance(self.found.facts, _WITHOUT_SUBJECT)
        return f"{self.copy.label}: {self.why}" if is_sentence else f"{self.copy.label} {self.why}"


def stale_replicas(
    copies: Sequence[Copy], *sets: Sequence[ReplicaKey], checked: CheckedVotes | None = None
) -> tuple[StaleReplica, ...]:
    """Return the copies that are not authoritative, in the order of the voters. `checked`: their votes, if known.

    There are two voter sets, the latest and the one before it, while it is not proven which is in force.
    """
    votes = checked or CheckedVotes(copies)
    by_set = [[[copy for copy in copies if is_voter(copy.place.key, [voter])] for voter in voters] for voters in sets]
    found: dict[int, StaleReplica] = {}
    for by_voter in by_set:
        for one in (one for own in by_voter for one in _each(copies, own, by_voter, votes)):
            found.setdefault(id(one.copy), one)
    lacking = [_lacking(copies, [[copy for copy in own if id(copy) not in found] for own in each]) for each in by_set]
    # A follower behind an uncommitted removal is one too many by the smaller set alone: both sets must agree.
    in_all = (one for key, one in lacking[0].items() if all(key in others for others in lacking))
    return (*found.values(), *in_all)


def _each(
    copies: Sequence[Copy], own: Sequence[Copy], by_voter: Sequence[Sequence[Copy]], votes: CheckedVotes
) -> Iterator[StaleReplica]:
    """Yield the stale copies of one voter, each judged by its own state and by elections in other logs."""
    newest = max(own, key=_age, default=None)
    rivals = [] if newest is None else [newest, *(one for one in own if is_rival(one, newest))]
    for copy in own:
        others = tuple(one for one in rivals if one is not copy)
        if 0 < len(others) < len(rivals):
            names = " and ".join(one.place.log_dir for one in others)
            said = f"has the node.id and directory.id of {names}, and nothing shows on which of them the node ran last"
            yield StaleReplica(copy=copy, why=said, rivals=others)
            continue
        if copy is not newest and newest is not None:
            than = "holds as much" if _age(copy) == _age(newest) else "is newer"
            yield StaleReplica(
                copy=copy, why=f"counts only once: another copy of it {than} ({newest.place.log_dir})", newer=newest
            )
            continue
        own_fault = None if copy.used_by is not None else _own_fault(copies, copy, by_voter, votes)
        if own_fault is not None:
            yield own_fault


def _own_fault(
    copies: Sequence[Copy], copy: Copy, by_voter: Sequence[Sequence[Copy]], votes: CheckedVotes
) -> StaleReplica | None:
    """Return why the only or newest copy of a voter is not authoritative, the gravest reason first, or None."""
    emptied, found = _emptied(copies, copy, by_voter), votes.doubting(copy)
    if emptied is not None:
        return StaleReplica(copy=copy, why=emptied)
    wrong = votes.contradicted(copy)
    if wrong is not None and copy.state is not None and not copy.held_more:  # otherwise the plan says what is wrong
        return StaleReplica(copy=copy, why=wrong.meaning, found=wrong)
    if found is not None and not isinstance(found.facts, ForgottenVote):
        return StaleReplica(copy=copy, why=_said(found), found=found)
    voting = [one for each in by_voter for one in each]
    why = _set_back(copies, copy) or _misled(copies, copy) or _outgrown(copies, copy, voting)
    if why is not None:
        return StaleReplica(copy=copy, why=why)
    outrun = _outrun(copies, copy, votes)
    if outrun is not None and not _is_held(copies, copy, by_voter):
        return StaleReplica(copy=copy, why=outrun.meaning, found=outrun, is_outrun=True)
    return None if found is None else StaleReplica(copy=copy, why=_said(found), found=found)


def _said(found: Finding) -> str:
    """Return the sentence of the finding, without its subject if a program may leave that out."""
    return found.facts.predicate() if isinstance(found.facts, _WITHOUT_SUBJECT) else found.meaning


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
        gone = "its log is damaged before any record" if copy.is_damaged else "its log is gone, or never was there"
        return f"holds no record, and {holder.label} holds {holder.end.offset}: {gone}"
    if all(by_voter):
        return None
    return "holds no record, and not all voters are here: a missing voter may hold everything that this one lost"


def _set_back(copies: Sequence[Copy], copy: Copy) -> str | None:
    """Return a sentence about the node's part in a later epoch than its directory shows, or None.

    `kraft check` accuses no node by a LeaderChange that a single log has. But a node that may lack what it acknowledged
    must not vote.
    """
    if copy.quorum_state is None or copy.node_id is None:
        return None
    elections = ((_name_among(copies, other), election) for other in copies for election in _elections(other))
    restored = restored_voter(copy.node_id, copy.greatest_epoch, elections)
    return None if restored is None else restored.predicate()


def _elections(copy: Copy) -> Iterator[Election]:
    """Yield the elections in its log, without one whose epoch has another leader by the `quorum-state` beside it.

    An epoch of which the log has a record that no controller writes proves no election either.
    """
    state = copy.quorum_state
    for election in copy.prefix.elections:
        if copy.replica is not None and has_impossible_record(copy.replica.facts, election.epoch):
            continue
        is_last = state is not None and state.leader_epoch == election.epoch
        if state is None or not is_last or state.leader_id in (-1, election.leader_id):
            yield election


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
        for election in _elections(holder):
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
                    f"was committed before, by the log of {prover.label}: at least one elector had been restored from "
                    "an older copy"
                )
    return None


def _outgrown(copies: Sequence[Copy], copy: Copy, voting: Sequence[Copy]) -> str | None:
    """Return a sentence about the node's part in electing a leader whose log was shorter than an elector's, or None.

    A voter grants no vote to a candidate whose log is shorter (Raft 5.4.1). So an elector had been restored from an
    older copy, or its log is no longer the one that it voted with. `kraft check` names that elector alone. But if an
    older copy voted, the leader lacks committed records, and must not be elected again.
    """
    for holder in copies:
        for election in _elections(holder):
            electors = {election.leader_id, *election.granting}
            if election.is_repairs or copy.node_id not in electors:
                continue
            longer = next((one for one in voting if one.node_id in electors and _outgrows(one, holder, election)), None)
            if longer is not None and not electors & forgetful(copies, longer, election.offset):
                whose = "its own log" if longer is copy else f"the log of {longer.label}, which did so, too,"
                return (
                    f"took part in electing node {election.leader_id}, whose epoch {election.epoch} began at offset "
                    f"{election.offset} (by the log of {holder.label}), and {whose} goes on past that in epoch "
                    f"{longer.epoch_at(election.offset)}. No voter votes for a shorter log than its own, so at least "
                    "one elector had been restored from an older copy"
                )
    return None


def _outrun(copies: Sequence[Copy], copy: Copy, votes: CheckedVotes) -> Finding | None:
    """Return the finding of `kraft check` that logs have more of the epoch that the node led last, or None.

    Damage, a repair, or a node that runs explains a shorter log.
    """
    if copy.went_on or copy.is_damaged or any(done.new_epoch is None for done in copy.audited.accepted):
        return None
    if any(one.used_by is not None for one in copies):
        return None
    return votes.outrun(copy)


def _is_held(copies: Sequence[Copy], lacking: Copy, by_voter: Sequence[Sequence[Copy]]) -> bool:
    """Return True if a majority of the voters holds the longest log, without this copy: then nothing is in doubt."""
    furthest = max(int(copy.end.offset) for copy in copies)
    holding = [own for own in by_voter if any(int(one.end.offset) >= furthest for one in own if one is not lacking)]
    return len(holding) >= majority_of(len(by_voter))


def _is_impossible(copy: Copy) -> bool:
    """Return True if its own records say what cannot be: then it is no witness against others."""
    found = () if copy.replica is None else copy.replica.facts.findings
    return copy.prefix.unplayed is not None or any(one.counts and one.cause is Cause.RECORDS for one in found)


def _outgrows(copy: Copy, holder: Copy, election: Election) -> bool:
    """Return True if its log has all that the leader began with, and goes on from there in an older epoch."""
    begun = 0 <= copy.epoch_at(election.offset) < election.epoch and not _is_impossible(copy)
    return begun and shows_one_log(copy, holder) and common_end(copy, holder) == election.offset


def _is_passed_over(copies: Sequence[Copy], prover: Copy, election: Election) -> bool:
    """Return True if the leader began at an offset where this log proves a record of an older epoch committed."""
    if not prover.start_offset <= election.offset < proved_committed(prover) or _is_accepted_loss(copies, prover):
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
        if end == 0 or _is_accepted_loss(copies, prover):
            continue
        lack = [copy for own in by_voter for copy in own if _lacks(copies, copy, prover, end)]
        if len(by_voter) - len(lack) >= majority:
            continue
        names = ", ".join(str(copy.node_id) for copy in lack)
        proof = f"which the log of {prover.label} proves committed"
        if prover.proven is not None and prover.proven.end == end:
            proof = f"which were committed ({prover.proven.because})"
        why = (
            f"lacks records before offset {end}, {proof}; of {len(by_voter)} voters, {names} "
            "lack them, too many for a commit: at least one was restored from an older copy, or copied earlier"
        )
        found |= {id(copy): StaleReplica(copy=copy, why=why) for copy in lack if id(copy) not in found}
    return found


def proved_committed(copy: Copy) -> int:
    """Return the offset before which a log's records are proven committed.

    The proof is its checkpoint, a leader's records, or brokers' partition directories.
    """
    by_checkpoint = 0 if copy.origin is None else int(copy.origin.end.offset)
    return max(copy.prefix.committed_before, by_checkpoint, 0 if copy.proven is None else copy.proven.end)


def is_proved(prover: Copy, copy: Copy, offset: int) -> bool:
    """Return True if the log of `prover` proves committed the record that `copy` holds at `offset`."""
    epoch = copy.epoch_at(offset)
    if epoch < 0 or prover.epoch_at(offset) != epoch:
        return False
    return min(proved_committed(prover), common_end(prover, copy)) > offset


def _is_accepted_loss(copies: Sequence[Copy], prover: Copy) -> bool:
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
