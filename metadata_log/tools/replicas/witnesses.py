"""Replicas as witnesses against each other: what one says alone, and others deny, accuses no other node.

Decides: which LeaderChange, and which set of voters, may judge other nodes. Must not know: what they are judged for.

A replica denies a record if its batches follow one another, it has the offset, and it has no such record there. Where
as many deny a record as bear it out, nothing is known, and no node is judged by it. What one log has alone, and no
other can deny, is believed of the leader's own log. So it is if another node's quorum-state names that leader.
A LeaderChange in its leader's own log, which its quorum-state bears out, is believed though other logs differ there.
Of two leaders of one epoch each wrote its own, and each is evidence against the one that voted for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from metadata_log.ids import ReplicaKey
from metadata_log.tools.findings.finding import Severity
from metadata_log.tools.read.contents import voter_keys
from metadata_log.tools.read.control_facts import Election
from metadata_log.tools.verify.checkpoint import CheckpointReport
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.verify.voters import VotersLog, is_denied

_Key: TypeAlias = tuple[int, int, int]
"""Of a LeaderChange: epoch, leader, offset."""


class Witnesses:
    """The replicas of one log, known by their number in `logs`, and which of their records may judge others."""

    def __init__(self, logs: Sequence[VotersLog]) -> None:
        self._logs = logs
        self._holders: dict[_Key, set[int]] = {}
        """The replicas that have a LeaderChange at its offset."""
        self._leaders: dict[int, dict[int, set[int]]] = {}
        """By epoch and leader, the replicas that name that leader."""
        for index, election in self._every_election():
            self._holders.setdefault(_key(election), set()).add(index)
            self._leaders.setdefault(election.epoch, {}).setdefault(election.leader_id, set()).add(index)

    def elections(self) -> dict[int, list[tuple[int, Election]]]:
        """Return the LeaderChanges that judge other nodes, by epoch, each with the number of its holder."""
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
        """Return True if more replicas bear a LeaderChange out than deny it, and it is not one log's word alone."""
        holders = self._holders[_key(election)]
        if any(self._is_own(election, index) for index in holders):
            return True
        if len(self._deniers(election)) >= len(holders):
            return False
        return len(holders) > 1 or self._is_known_elsewhere(election, min(holders))

    def _is_own(self, election: Election, index: int) -> bool:
        """Return True if the log is that of the leader, who was elected by votes and went on from there.

        A leader writes its quorum-state before its LeaderChange.
        """
        log = self._logs[index]
        state = log.facts.quorum_state
        if log.node_id != election.leader_id or not election.granting or election.is_repairs:
            return False
        has_led = state is None or (state.leader_epoch, state.leader_id) == (election.epoch, election.leader_id)
        went_on = state is not None and state.leader_epoch > election.epoch
        return log.facts.is_sound and (has_led or went_on)

    def lone(self) -> Iterator[tuple[int, Election]]:
        """Yield the LeaderChanges that one log has alone, that no other can deny, and that judge no node."""
        for index, election in self._every_election():
            is_alone = len(self._holders[_key(election)]) == 1 and not self._deniers(election)
            if is_alone and not self._is_known_elsewhere(election, index):
                yield index, election

    def _deniers(self, election: Election) -> set[int]:
        """Return those that have another record there, or another leader of that epoch."""
        found = {index for index, log in enumerate(self._logs) if _covers(log.facts, election.offset)}
        for leader_id, naming in self._leaders[election.epoch].items():
            found |= naming if leader_id != election.leader_id else set()
        return found - self._holders[_key(election)]

    def _is_known_elsewhere(self, election: Election, holder: int) -> bool:
        """Return True if the log is the leader's own, or another node's quorum-state names that leader."""
        if self._logs[holder].node_id == election.leader_id or len(self._logs) < 2:
            return True
        states = (log.facts.quorum_state for index, log in enumerate(self._logs) if index != holder)
        return any(
            state is not None and (state.leader_epoch, state.leader_id) == (election.epoch, election.leader_id)
            for state in states
        )

    def voters_of(self, index: int) -> tuple[ReplicaKey, ...] | None:
        """Return the voters that a replica names; None if it names none, or others deny them."""
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
        return None if is_denied else voting.voters

    def _is_denied(self, index: int, checkpoint: CheckpointReport) -> bool:
        """Return True if a checkpoint's own log, or other replicas, say otherwise of the quorum at its end."""
        own = self._logs[index]
        if any(found.file == checkpoint.path and found.severity is Severity.ERROR for found in own.facts.findings):
            return True
        return is_denied(checkpoint, own, self._logs)


def _key(election: Election) -> _Key:
    return election.epoch, election.leader_id, election.offset


def _covers(report: LogFacts, offset: int) -> bool:
    return report.is_sound and report.start_offset <= offset < report.end_offset


def _has_voters(report: LogFacts, offset: int, voters: Sequence[ReplicaKey]) -> bool:
    return any(
        change.offset == offset and change.voters is not None and voter_keys(change.voters) == tuple(voters)
        for change in report.quorum_changes
    )
