"""Replicas as witnesses against each other: a record that other replicas deny must not accuse another node.

Decides: which LeaderChange, and which voter set, is believed. Must not know: the findings that follow from it.

A replica confirms a record if it has the record at the same offset. It denies the record if its batches follow one
another and reach that offset, but it has another record there. These rules decide:

- A LeaderChange in the leader's own log, confirmed by the leader's `quorum-state`, is believed even if other logs
  differ. Two leaders of one epoch have each written their own, and both are evidence against a voter that voted twice.
- If at least as many replicas deny a record as confirm it, it is not believed.
- A record that only one log has, and no other log can deny, needs support. It is believed if that log is the leader's
  own, or if another node's `quorum-state` names that leader.
- No log is the leader's own in an epoch that its `quorum-state` has not reached. Nor is it if that file names another
  leader of the epoch, or if the log holds a record of it that no controller writes.
- A voter set that no leader writes, and that only one log has, is not believed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from metadata_log.directory import QuorumState
from metadata_log.ids import ReplicaKey
from metadata_log.tools.findings.finding import Cause, Severity
from metadata_log.tools.read.contents import voter_keys
from metadata_log.tools.read.control_facts import Election
from metadata_log.tools.verify.checkpoint import CheckpointReport
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.verify.voters import VotersLog, is_denied

_Key: TypeAlias = tuple[int, int, int]
"""Epoch, leader and offset of a LeaderChange."""


class Witnesses:
    """The replicas of one log, by their index in `logs`, and the records of them that are believed."""

    def __init__(self, logs: Sequence[VotersLog]) -> None:
        self._logs = logs
        self._holders: dict[_Key, set[int]] = {}
        """The replicas that have this LeaderChange at its offset."""
        self._leaders: dict[int, dict[int, set[int]]] = {}
        """By epoch and leader, the replicas that name that leader."""
        for index, election in self._every_election():
            self._holders.setdefault(_key(election), set()).add(index)
            self._leaders.setdefault(election.epoch, {}).setdefault(election.leader_id, set()).add(index)

    def elections(self) -> dict[int, list[tuple[int, Election]]]:
        """Return the believed LeaderChanges by epoch, each with the index of its replica."""
        found: dict[int, list[tuple[int, Election]]] = {}
        believed: dict[_Key, bool] = {}
        for index, election in self._every_election():
            key = _key(election)
            if key not in believed:
                believed[key] = self._is_believed(election)
            if believed[key]:
                found.setdefault(election.epoch, []).append((index, election))
        return found

    def _every_election(self) -> Iterator[tuple[int, Election]]:
        for index, log in enumerate(self._logs):
            yield from ((index, election) for election in log.facts.elections)

    def _is_believed(self, election: Election) -> bool:
        """Return True if a LeaderChange may accuse other nodes, by the rules at the top of this module."""
        holders = self._holders[_key(election)]
        if any(self._is_own(election, index) for index in holders):
            return True
        if len(self._deniers(election)) >= len(holders):
            return False
        return len(holders) > 1 or self._is_known_elsewhere(election, min(holders))

    def _is_own(self, election: Election, index: int) -> bool:
        """Return True if this is the log of the elected leader, and its `quorum-state` does not deny the epoch.

        After the leader went on to a later epoch, its `quorum-state` no longer shows this one.
        """
        log = self._logs[index]
        state = log.facts.quorum_state
        if not self._is_leaders(election, index) or not election.granting or election.is_repairs:
            return False
        has_led = state is None or (state.leader_epoch, state.leader_id) == (election.epoch, election.leader_id)
        went_on = state is not None and state.leader_epoch > election.epoch
        return log.facts.is_sound and (has_led or went_on)

    def _is_leaders(self, election: Election, index: int) -> bool:
        """Return True if this is the elected leader's log, and all its records of that epoch may be the leader's.

        A leader writes `quorum-state` before its LeaderChange. A file of an older epoch denies the record, and so does
        one that names another leader of that epoch.
        """
        log = self._logs[index]
        is_its = log.node_id == election.leader_id and not _denies(log.facts.quorum_state, election)
        return is_its and not has_impossible_record(log.facts, election.epoch)

    def lone(self) -> Iterator[tuple[int, Election]]:
        """Yield the LeaderChanges that only one log has, that no other log can deny, and that are not believed."""
        for index, election in self._every_election():
            is_alone = len(self._holders[_key(election)]) == 1 and not self._deniers(election)
            if is_alone and not self._is_known_elsewhere(election, index):
                yield index, election

    def _deniers(self, election: Election) -> set[int]:
        """Return the replicas that have another record at that offset, or another leader of that epoch."""
        found = {index for index, log in enumerate(self._logs) if _covers(log.facts, election.offset)}
        for leader_id, naming in self._leaders[election.epoch].items():
            found |= naming if leader_id != election.leader_id else set()
        return found - self._holders[_key(election)]

    def _is_known_elsewhere(self, election: Election, holder: int) -> bool:
        """Return True if the log is the leader's own, or another node's `quorum-state` names that leader.

        A single log has no witnesses: then its records are believed.
        """
        if self._is_leaders(election, holder) or len(self._logs) < 2:
            return True
        states = (log.facts.quorum_state for index, log in enumerate(self._logs) if index != holder)
        return any(
            state is not None and (state.leader_epoch, state.leader_id) == (election.epoch, election.leader_id)
            for state in states
        )

    def voters_of(self, index: int) -> tuple[ReplicaKey, ...] | None:
        """Return the voters that a replica names, or None if it names no voters, or others deny them."""
        report = self._logs[index].facts
        voting = report.voters
        if voting is None:
            return None
        if voting.offset < 0:
            named = [one for one in report.checkpoints if one.voters is not None]
            return None if not named or self._is_denied(index, named[-1]) else voting.voters
        bearing = [one for one in self._logs if _has_voters(one.facts, voting.offset, voting.voters)]
        denying = [one for one in self._logs if _covers(one.facts, voting.offset) and one not in bearing]
        is_denied = bool(denying) and (len(bearing) == 1 or len(denying) > len(bearing))
        is_wrong = len(self._logs) > len(bearing) == 1 and _has_wrong_voters(report, voting.offset)
        return None if is_denied or is_wrong else voting.voters

    def _is_denied(self, index: int, checkpoint: CheckpointReport) -> bool:
        """Return True if the checkpoint has an error, or its own log or other replicas deny its voters."""
        own = self._logs[index]
        if any(found.file == checkpoint.path and found.severity is Severity.ERROR for found in own.facts.findings):
            return True
        return is_denied(checkpoint, own, self._logs)


def _denies(state: QuorumState | None, election: Election) -> bool:
    if state is None or state.leader_epoch > election.epoch:
        return False
    return state.leader_epoch < election.epoch or state.leader_id not in (-1, election.leader_id)


def has_impossible_record(report: LogFacts, epoch: int) -> bool:
    """Return True if the log shows, by itself, a record of that epoch that no controller writes."""
    return any(
        one.cause is Cause.RECORDS and one.counts and one.epoch == epoch and one.file in report.segments
        for one in report.findings
    )


def _key(election: Election) -> _Key:
    return election.epoch, election.leader_id, election.offset


def _covers(report: LogFacts, offset: int) -> bool:
    return report.is_sound and report.start_offset <= offset < report.end_offset


def _has_wrong_voters(report: LogFacts, offset: int) -> bool:
    """Return True if the log shows, by itself, that no leader writes the voter set at that offset."""
    return any(
        one.severity is Severity.ERROR and one.offset == offset and one.file in report.segments
        for one in report.findings
    )


def _has_voters(report: LogFacts, offset: int, voters: Sequence[ReplicaKey]) -> bool:
    return any(
        change.offset == offset and change.voters is not None and voter_keys(change.voters) == tuple(voters)
        for change in report.quorum_changes
    )
