"""Several replicas as one quorum: its voters, its committed bounds, and the replicas that lack committed records.

Must not know: how a log is read, and where replicas diverge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.tools.findings.advice import LOST_HERE
from metadata_log.tools.findings.finding import Finding, Severity, finding
from metadata_log.tools.findings.remedy import no_start
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.committed_bounds import CommittedBounds, certain_bounds, committed_bounds
from metadata_log.tools.replicas.first_vote import is_first_vote
from metadata_log.tools.replicas.judge import ReplicaView
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.same_log import SameLog, contradiction, named_directories, same_log, traces_of
from metadata_log.tools.replicas.voters_in_force import (
    NamedVoters,
    VotersInForce,
    is_voter,
    latest_set,
    may_be_voter,
    voters_in_force,
)
from metadata_log.tools.replicas.witnesses import Witnesses
from metadata_log.tools.verify.log_facts import LogFacts, voter_sets
from metadata_log.tools.words import join_names
from metadata_log.voters import majority_of


class ReplicaSet:
    """Replicas of one log, with the voters and committed bounds that they prove together.

    Args:
        bare: nodes whose directories hold no metadata log.
        voters, bounds: given if other evidence proves more than these replicas.
    """

    def __init__(
        self,
        replicas: Sequence[Replica],
        bare: Sequence[NodeSource] = (),
        *,
        voters: VotersInForce | None = None,
        bounds: CommittedBounds | None = None,
    ) -> None:
        self.replicas = _labelled(replicas)
        self.bare = tuple(bare)
        self._known_voters = voters
        self._known_bounds = bounds

    @cached_property
    def voters(self) -> VotersInForce:
        """The voters in force."""
        if self._known_voters is not None:
            return self._known_voters
        by_latest = committed_bounds([replica.extent for replica in self.replicas], latest_set(self._named).keys)
        return voters_in_force(self._named, by_latest.lower)

    @cached_property
    def bounds(self) -> CommittedBounds:
        """The committed bounds."""
        if self._known_bounds is not None:
            return self._known_bounds
        return certain_bounds([replica.extent for replica in self.replicas], self.voters)

    def with_bounds(self, bounds: CommittedBounds) -> ReplicaSet:
        """Return the same replicas and voters with other committed bounds."""
        return ReplicaSet(self.replicas, self.bare, voters=self.voters, bounds=bounds)

    def is_voter(self, replica: Replica) -> bool:
        """Return True if its directory id is that of a voter in force; a static voter is known by its node id alone."""
        return is_voter(replica.key, self.voters.keys)

    def same_log(self, one: Replica, other: Replica) -> SameLog:
        """Return whether two of the replicas are of one log: shown, denied or unknown.

        Raises:
            OSError: a segment cannot be read any more.
        """
        return same_log(traces_of(one.facts), traces_of(other.facts))

    def shows_one_log(self, one: Replica, other: Replica) -> bool:
        """Return True if something shows that two of the replicas are of one log.

        Raises:
            OSError: a segment cannot be read any more.
        """
        return self.same_log(one, other) is SameLog.SHOWN

    def has_majority(self, replicas: Iterable[Replica]) -> bool:
        """Return True if these are a majority of every voter set that may be in force."""
        return self.voters.has_majority(replica.key for replica in replicas)

    def may_be_voter(self, replica: Replica) -> bool:
        """Return True if it is a voter in force, or has a voter's node id and no directory id that denies it."""
        return may_be_voter(replica.key, self.voters.keys)

    def is_listed_as_voter(self, replica: Replica) -> bool:
        """Return True if tables show it as a voter: it is one, or may be one with an unreadable `meta.properties`."""
        return self.is_voter(replica) or (replica.source.identity is None and self.may_be_voter(replica))

    @cached_property
    def _named(self) -> list[NamedVoters]:
        """The voters that each replica names, those of the most advanced replica first."""
        ranked = _ranked(self.replicas)
        witnesses = witnesses_of(ranked)
        return [_named(replica, witnesses.voters_of(index)) for index, replica in enumerate(ranked)]

    @property
    def views(self) -> list[ReplicaView]:
        """The facts of the replicas for `Judge`."""
        return [
            ReplicaView(
                label=replica.label,
                node_id=replica.source.node_id,
                is_voter=self.is_voter(replica),
                last_epoch=replica.facts.last_epoch,
                known_committed=replica.extent.known_committed,
                committed_before=replica.facts.committed_before,
                is_sound=replica.facts.is_sound,
                denied_epochs=_denied_epochs(replica.facts),
                denied_batches=_denied_batches(replica.facts),
            )
            for replica in self.replicas
        ]


def _named(replica: Replica, recorded: tuple[ReplicaKey, ...] | None) -> NamedVoters:
    """Return the voters that a replica names. `recorded`: those of its log; None if other logs deny them."""
    facts = replica.facts
    at = -1 if facts.voters is None else facts.voters.offset
    earlier = [each for each in voter_sets(facts) if each.offset < at]
    return NamedVoters(
        recorded=recorded,
        recorded_at=at,
        before=earlier[-1].voters if earlier else (),
        static=replica.source.static_voters or facts.static_voters,
        electors=tuple(map(NodeId, facts.elections[-1].voters)) if facts.elections else (),
        is_repaired=any(election.is_repairs for election in facts.elections),
    )


_OF_EPOCHS: Final = (
    "epoch_without_leader",
    "epoch_went_back",
    "epoch_file_wrong",
    "foreign_batch",
    "quorum_state_behind",
    "two_leaders",
)


def _denied_epochs(report: LogFacts) -> frozenset[int]:
    """Return the offsets of batches whose epoch the log itself or a sidecar file denies."""
    found = (one.offset for one in report.findings if one.kind in _OF_EPOCHS and one.offset is not None)
    return frozenset({*found, *report.false_starts})


def _denied_batches(report: LogFacts) -> frozenset[tuple[str, int]]:
    """Return the file and position of each batch that has an error by its own log."""
    errors = (one for one in report.findings if one.severity is Severity.ERROR and one.file in report.segments)
    return frozenset((one.file, one.position) for one in errors if one.file is not None and one.position is not None)


def _labelled(replicas: Sequence[Replica]) -> tuple[Replica, ...]:
    """Return the replicas with unique labels: if two are of one node, the labels have their paths."""
    ids = [replica.source.node_id for replica in replicas]
    return tuple(
        msgspec.structs.replace(replica, label=_label(replica.source, is_unique=ids.count(node_id) == 1))
        for replica, node_id in zip(replicas, ids, strict=True)
    )


def _label(source: NodeSource, *, is_unique: bool) -> str:
    return source.label if is_unique else f"{source.label} ({source.path})"


def _ranked(replicas: Sequence[Replica]) -> list[Replica]:
    return sorted(replicas, key=lambda replica: (replica.facts.last_epoch, replica.reach), reverse=True)


def witnesses_of(replicas: Sequence[Replica]) -> Witnesses:
    """Return these replicas as witnesses, by their index."""
    return Witnesses([one.voters_log for one in replicas])


def lacking_copies(view: ReplicaSet) -> list[Replica]:
    """Return the voters' replicas that lack committed records, if no majority of voters can have these records."""
    lacking, _ = _lacking(view, view.voters.keys)
    return [copy for one in lacking for copy in one] if _is_lost(view) else []


def _is_lost(view: ReplicaSet) -> bool:
    """Return True if in each voter set that may be in force, no majority can have all committed records."""
    for voters in view.voters.sets:
        lacking, bare = _lacking(view, voters)
        if len(voters) - len(lacking) - len(bare) >= majority_of(len(voters)):
            return False
    return True


def _lacking(view: ReplicaSet, voters: Sequence[ReplicaKey]) -> tuple[list[list[Replica]], list[NodeSource]]:
    """Return the replicas of each voter that lacks committed records on all of them, and the voters without a log."""
    lacking: list[list[Replica]] = []
    bare: list[NodeSource] = []
    for voter in voters if view.bounds.lower else ():
        copies = [replica for replica in view.replicas if is_voter(replica.key, [voter])]
        if copies and all(replica.reach < view.bounds.lower and not replica.facts.is_unread for replica in copies):
            lacking.append(copies)
        if not copies:
            bare += [node for node in view.bare if node.node_id == voter.node_id][:1]
    return lacking, bare


def lost_commits(view: ReplicaSet) -> Iterator[Finding]:
    """Yield a finding for each voter that lacks committed records, if no majority can have them any more."""
    lower, voters = view.bounds.lower, view.voters.keys
    if not voters or not lower:
        return
    copies, bare = _lacking(view, voters)
    lacking = [max(one, key=lambda replica: replica.reach) for one in copies]
    count = len(lacking) + len(bare)
    if not _is_lost(view):
        return
    names = join_names([replica.label for replica in lacking] + [node.label for node in bare])
    accused = _who_lost(lacking, bare, view)
    lack = f"{names} {'lack' if count > 1 else 'lacks'} it, {count} of {len(voters)} voters"
    committed = f"all before offset {lower} was committed ({view.bounds.because})"
    advice = LOST_HERE if _others_can_lead(view, accused) else None
    for node in bare:
        meaning = f"{committed}, and there is no log here: {lack}"
        yield finding("committed_lost", meaning, node_id=node.node_id, file=str(node.path), offset=0, advice=advice)
    for replica in accused:
        meaning = f"{committed}, but the log ends at {replica.facts.end_offset}: {lack}"
        yield finding(
            "committed_lost",
            meaning,
            node_id=replica.source.node_id,
            file=replica.last_place,
            offset=replica.facts.end_offset,
            epoch=replica.facts.last_epoch,
            advice=advice,
        )


def _others_can_lead(view: ReplicaSet, accused: Sequence[Replica]) -> bool:
    """Return True if the voters that lost nothing are a majority, and only one with all committed records can win.

    A voter grants no vote to a shorter log (Raft 5.4.1). So the voters that lag must be no majority by themselves.
    """
    nodes = {replica.source.node_id for replica in accused}
    for voters in view.voters.sets:
        others = [voter for voter in voters if voter.node_id not in nodes]
        whole = [voter for voter in others if _reaches(view, voter)]
        present = [voter for voter in others if any(is_voter(replica.key, [voter]) for replica in view.replicas)]
        needed = majority_of(len(voters))
        if not whole or len(present) < needed or len(present) - len(whole) >= needed:
            return False
    return True


def _reaches(view: ReplicaSet, voter: ReplicaKey) -> bool:
    return any(is_voter(one.key, [voter]) and one.reach >= view.bounds.lower for one in view.replicas)


def _who_lost(lacking: Sequence[Replica], bare: Sequence[NodeSource], view: ReplicaSet) -> Sequence[Replica]:
    """Return the replicas that provably had the lost records, if these losses alone explain the lost majority.

    Otherwise return all that lack the records. A voter may simply lag behind: it never had them, and lost nothing.
    """
    shown = [one for one in lacking if one.facts.proved_end > one.reach]
    never_had = len(lacking) - len(shown)
    is_explained = bool(shown) or bool(bare)
    return (
        shown if is_explained and len(view.voters.keys) - never_had >= majority_of(len(view.voters.keys)) else lacking
    )


def voters_without_log(view: ReplicaSet) -> Iterator[Finding]:
    """Yield a finding for each voter without a record, if other replicas have records and it may have had them."""
    if not any(replica.reach for replica in view.replicas):
        return
    for node in view.bare:
        if any(voter.node_id == node.node_id for voter in view.voters.keys):
            meaning = f"node {node.node_id} is a voter, and {node.path} holds no metadata log"
            yield finding("voter_without_log", meaning, node_id=node.node_id, file=str(node.path))
    for replica in view.replicas:
        if replica.reach or replica.facts.is_unread or not view.may_be_voter(replica):
            continue
        state = replica.facts.quorum_state
        best = _ranked(view.replicas)[0].facts.elections
        if not replica.facts.proved_end and is_first_vote(state, replica.source.node_id, best):
            continue
        knew = state is not None and state.leader_epoch > 0
        meaning = f"{replica.label} is a voter, and its log holds nothing, while others have records" + (
            f"; it took part in epoch {state.leader_epoch} by its quorum-state" if knew and state is not None else ""
        )
        yield finding(
            "voter_without_log",
            meaning,
            severity=Severity.ERROR if knew else None,
            node_id=replica.source.node_id,
            file=replica.last_place,
            offset=0,
        )


def absent_voters(view: ReplicaSet, parents: Sequence[Path], unread: Iterable[int | None]) -> Iterator[Finding]:
    """Yield a finding for each voter that is not among the nodes below the given parent directories.

    Nothing is reported if all nodes there have one id: these are copies of one node, not a cluster.
    """
    here = {replica.source.node_id for replica in view.replicas} | {node.node_id for node in view.bare} | {*unread}
    for parent in parents[:1] if len(here) > 1 else ():
        for voter in view.voters.keys:
            if voter.node_id not in here:
                names = join_names([str(path) for path in parents])
                meaning = f"node {voter.node_id} is a voter, and nothing below {names} is of it"
                yield finding("voter_absent", meaning, node_id=int(voter.node_id), file=str(parent))


def short_logs(view: ReplicaSet) -> Iterator[Finding]:
    """Yield a finding for each replica that ends below the high watermark that it reported at its export."""
    for replica in view.replicas:
        mark = replica.source.high_watermark
        if mark is not None and mark > replica.reach and not replica.facts.is_unread:
            meaning = f"the replica gave {mark} as its high watermark, but its log ends at {replica.reach}"
            yield finding(
                "below_high_watermark",
                meaning,
                node_id=replica.source.node_id,
                file=replica.last_place,
                offset=replica.reach,
            )


def nothing_in_common(view: ReplicaSet, *, with_any: bool = False) -> Iterator[Finding]:
    """Yield a note for each replica whose log ends before another's begins, since the two cannot be compared.

    If their metadata contradicts each other, the finding is instead that they are of different clusters.

    Args:
        with_any: True to report only replicas that share an offset with no other replica.
    """
    for replica in view.replicas:
        start, end = replica.facts.start_offset, replica.facts.end_offset
        later = [other for other in view.replicas if other.facts.start_offset >= end > start]
        if not later or replica.facts.is_unread:
            continue
        denied = next(filter(None, (_not_of_one_cluster(replica, other) for other in later)), None)
        if denied is not None:
            yield denied
            continue
        others = (other.facts for other in view.replicas if other is not replica)
        if with_any and any(max(start, other.start_offset) < min(end, other.end_offset) for other in others):
            continue
        begins = join_names([f"{other.label} (from {other.facts.start_offset} on)" for other in later])
        yield finding(
            "nothing_in_common",
            f"its log ends at {end}, before that of {begins}: there is no offset at which they could be compared",
            node_id=replica.source.node_id,
            file=replica.last_place,
            offset=end,
        )


def _not_of_one_cluster(one: Replica, other: Replica) -> Finding | None:
    """Return the finding that two logs are of different clusters, which accuses neither, or None if they are not."""
    why = contradiction(traces_of(one.facts), traces_of(other.facts))
    if why is None or named_directories(one.facts.known_voters) & named_directories(other.facts.known_voters):
        return None
    return undecided_clusters(f"{one.label} and {other.label} are not of one cluster: {why}")


def undecided_clusters(what: str) -> Finding:
    """Return the finding that logs are of several clusters; it accuses no log."""
    advice = no_start(
        "start none of them before it is known which is this cluster's: name more copies of the log, the other "
        "controllers' and brokers', until a majority holds one side"
    )
    return finding("foreign_cluster", f"{what}; and nothing here says whose log is another's", advice=advice)
