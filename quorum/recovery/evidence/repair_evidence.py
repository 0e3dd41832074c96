"""The evidence of a repair: several copies of one cluster's metadata log together.

Decides: the best copy, the voters in force, the committed bounds, and the nodes that are missing, as exactly as the
copies allow. Must not know: what a repair would lose, and how it is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.ids import ReplicaKey
from metadata_log.records.newer import NOTHING_NEWER, NewerParts
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.replicas.committed_bounds import (
    CommittedBounds,
    certain_bounds,
    committed_bounds,
    limited_by,
    weaker,
)
from metadata_log.tools.replicas.voters_in_force import VotersInForce, is_voter
from metadata_log.voters import Endpoint, VoterSet, majority_of
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.sidecar_files import NO_SUCH_FILE
from quorum.recovery.evidence.authoritative import StaleReplica, stale_replicas
from quorum.recovery.evidence.checked_votes import Barred, CheckedVotes, barred_copies
from quorum.recovery.evidence.conflicts import Conflict, Uncompared, conflicts_of, uncompared, with_wrong
from quorum.recovery.evidence.historical_extents import bounds_once, extents
from quorum.recovery.evidence.same_log import shows_one_log
from quorum.recovery.evidence.voters_in_force import (
    certain_voters,
    undecided,
)
from quorum.recovery.journal.audited_repairs import AuditedRepair
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import one_cluster

_EXPORT_HAS_NONE: Final = "an export has no such file"


class RepairEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The copies, the best first, and the conclusions from all of them.

    Attributes:
        in_force: the voters, by a record or a configuration.
        absent_voters, absent_brokers: nodes in the metadata, or in records behind damage, that have no copy here.
        bounds: the committed bounds by historical extents: records that accepted repairs discarded count as held.
        bounds_left: the committed bounds by the present extents.
        conflicts: pairs that contradict each other.
        uncompared: pairs that nothing proves to be of one log.
        audited: repairs by their audit files, of which no copy here has a record.
        stale: voters' copies that are not authoritative.
        barred: voters' copies from which no node must start, although their records count.
        unbarred: findings on leaders without their epoch whose nodes may start, see `CheckedVotes.unbarred`.
        undoable: log directories whose last repair can be undone, see `undo.with_undoable`.
    """

    copies: tuple[Copy, ...]
    cluster_id: str | None
    in_force: VotersInForce
    bounds: CommittedBounds
    bounds_left: CommittedBounds
    absent_voters: tuple[int, ...]
    absent_brokers: tuple[int, ...]
    conflicts: tuple[Conflict, ...]
    audited: tuple[AuditedRepair, ...] = ()
    uncompared: tuple[Uncompared, ...] = ()
    stale: tuple[StaleReplica, ...] = ()
    barred: tuple[Barred, ...] = ()
    unbarred: tuple[Finding, ...] = ()
    undoable: frozenset[str] = frozenset()

    @property
    def best(self) -> Copy:
        """The copy that no other is ahead of, by (last epoch, end). At a tie, voters come first, then intact copies."""
        return self.copies[0]

    @property
    def best_with_metadata(self) -> Copy:
        """The best copy whose metadata is known; the best copy if none is."""
        return next((copy for copy in self.copies if copy.state is not None), self.best)

    @property
    def greatest_epoch(self) -> int:
        """The greatest epoch of any leader, vote, batch or checkpoint in any copy, and of any repair in an audit file.

        A false epoch counts, too: a node may start from a copy that has it.
        """
        false = [copy.stop.false_epoch or -1 for copy in self.copies if copy.stop is not None]
        false += [int(one.end.epoch) for copy in self.copies for one in copy.prefix.checkpoints if one.is_misnamed]
        return max(*(copy.greatest_epoch for copy in self.copies), *(one.epoch for one in self.audited), *false, -1)

    @property
    def lost_votes(self) -> tuple[tuple[str, str], ...]:
        """Files that held an epoch and a vote and cannot be read, or are missing, and why."""
        unread = [(found.path, found.why) for copy in self.copies for found in copy.unread if found.forgets]
        missing = [
            (
                f"{copy.place.metadata}/{QUORUM_STATE_FILE}",
                NO_SUCH_FILE if copy.place.manifest is None else _EXPORT_HAS_NONE,
            )
            for copy in self.copies
            if copy.quorum_state is None and not any(found.is_vote for found in copy.unread)
        ]
        return (*unread, *missing)

    @property
    def newer(self) -> NewerParts:
        """All parts that a later release has written in any copy, which this release does not judge."""
        return newer_of(self.copies)

    @property
    def voters(self) -> tuple[ReplicaKey, ...]:
        """The latest voters."""
        return self.in_force.keys

    @property
    def proving_disks(self) -> tuple[str, ...]:
        """Brokers' log directories without a metadata log here that prove commits: repairs need them as copies."""
        with_log = {copy.place.log_dir for copy in self.copies}
        proving = {copy.proven.disk for copy in self.copies if copy.proven is not None}
        return tuple(sorted(proving - with_log))

    def is_voter(self, copy: Copy) -> bool:
        """Return True if its replica votes, by any voter set that may be in force."""
        return any(is_voter(copy.place.key, voters) for voters in self.in_force.sets)

    def is_authoritative(self, copy: Copy) -> bool:
        """Return True if it shows its voter's last state: then the voter counts for a majority with its records."""
        return self.is_voter(copy) and not any(one.copy is copy for one in self.stale)

    def startable(self, copies: Iterable[Copy]) -> list[Copy]:
        """Return these copies without the barred ones."""
        return [copy for copy in copies if not any(one.copy is copy for one in self.barred)]

    @property
    def undecided(self) -> str | None:
        """A sentence about a change of the voters that may or may not be in force, or None."""
        return undecided(self.in_force)

    def has_majority(self, copies: Sequence[Copy]) -> bool:
        """Return True if these copies hold a majority of every voter set that may be in force."""
        return self.in_force.has_majority(copy.place.key for copy in copies)

    @property
    def unheard_voters(self) -> tuple[int, ...]:
        """Voters without an intact authoritative log here: what they held last is not known."""
        return tuple(sorted({node_id for voters in self.in_force.sets for node_id in self._unheard(voters)}))

    def _unheard(self, voters: Sequence[ReplicaKey]) -> list[int]:
        holders = [copy for copy in self.copies if not copy.held_more and self.is_authoritative(copy)]
        return [int(one.node_id) for one in voters if not any(is_voter(copy.place.key, [one]) for copy in holders)]

    @property
    def stale_voters(self) -> frozenset[int]:
        """Nodes of voters that have copies here, but no authoritative one."""
        shown = {copy.node_id for copy in self.copies if self.is_authoritative(copy)}
        return frozenset(
            int(one.copy.node_id)
            for one in self.stale
            if one.copy.node_id is not None and one.copy.node_id not in shown
        )

    @property
    def majority_is_absent(self) -> bool:
        """Return True if records may have been committed that no copy here holds."""
        return any(len(self._unheard(voters)) >= majority_of(len(voters)) for voters in self.in_force.sets)

    @property
    def in_use(self) -> tuple[Copy, ...]:
        """Copies on which a node runs: their logs may grow."""
        return tuple(copy for copy in self.copies if copy.used_by is not None)

    def endpoints(self) -> dict[Endpoint, int]:
        """Return the endpoints of voters and registered controllers in any copy, each with its node id."""
        found: dict[Endpoint, int] = {}
        for copy in self.copies:
            for voter in copy.voters or VoterSet():
                found.update(dict.fromkeys(voter.endpoints, int(voter.key.node_id)))
            if copy.image is not None:
                for node_id, controller in copy.image.cluster.controllers.items():
                    for at in controller.listeners:
                        found[Endpoint(name=at.name, host=at.host, port=at.port)] = int(node_id)
        return found


def newer_of(copies: Iterable[Copy]) -> NewerParts:
    """Return all parts of these copies that a later release has written, which this release does not judge."""
    return NOTHING_NEWER.plus(*(part for copy in copies for part in copy.newer.parts))


def with_audited_repairs(known: RepairEvidence, repairs: Iterable[AuditedRepair]) -> RepairEvidence:
    """Return the evidence with those repairs of `repairs` whose epoch no log here has reached."""
    return msgspec.structs.replace(known, audited=tuple(one for one in repairs if one.epoch > known.best.end.epoch))


def evidence_of(copies: Sequence[Copy]) -> RepairEvidence:
    """Compare these copies.

    Raises:
        RefusedError: they are of several clusters, or there are no copies.
    """
    if not copies:
        raise RefusedError("no copy of a metadata log is named")
    cluster_id = one_cluster([copy.place.identity for copy in copies], [copy.place.log_dir for copy in copies])
    ranked, voters, conflicts, checked = _weighed(copies)
    nodes = {copy.node_id for copy in ranked}
    images = [copy.last_image for copy in ranked if copy.last_image is not None]
    brokers = {int(node_id) for node_id in images[0].cluster.brokers} if images else set()
    brokers = brokers.union(*(copy.prefix.behind.brokers for copy in ranked))
    of_one_log = [copy for copy in ranked if shows_one_log(ranked[0], copy)]
    stale = stale_replicas(of_one_log, voters, checked=checked)
    left, bounds = _bounds(of_one_log, stale, voters)
    in_force = certain_voters(ranked, bounds.lower)
    before = in_force.before
    if before:
        stale = stale_replicas(of_one_log, voters, before, checked=checked)
        both = [_bounds(of_one_log, stale, one) for one in (voters, before)]
        left, bounds = (weaker(*each) for each in zip(*both, strict=True))
    certain = certain_bounds(extents(of_one_log, ()), checked.voters, checked.tie)
    left, bounds = (
        _with_lower(left, certain),
        _with_lower(bounds, bounds if bounds.lower > max(left.lower, certain.lower) else certain),
    )
    voting = {int(voter.node_id) for voter in (*voters, *before)}.union(*(copy.prefix.behind.voters for copy in ranked))
    running = [copy for copy in ranked if copy.used_by is not None]
    if any(is_voter(copy.place.key, (*voters, *before)) for copy in running):  # by now a majority may hold more
        left, bounds = (msgspec.structs.replace(each, upper=None) for each in (left, bounds))
    barred = tuple(barred_copies(checked, of_one_log, [one.copy for one in stale], in_force))
    return RepairEvidence(
        copies=tuple(ranked),
        cluster_id=cluster_id,
        in_force=in_force,
        bounds=limited_by(bounds, checked.tie),
        bounds_left=left,
        absent_voters=tuple(sorted(voting - nodes)),
        absent_brokers=tuple(sorted(one for one in brokers - nodes - voting if one >= 0)),
        conflicts=conflicts,
        uncompared=tuple(uncompared(ranked, conflicts)),
        stale=stale,
        barred=barred,
        unbarred=checked.unbarred(barred),
    )


def _weighed(
    copies: Sequence[Copy],
) -> tuple[list[Copy], tuple[ReplicaKey, ...], tuple[Conflict, ...], CheckedVotes]:
    """Return the copies, the best first, their voters and conflicts, and the findings on their votes.

    A copy that others prove wrong is never the best, and names no voters.
    """
    ranked = sorted(copies, key=lambda copy: (copy.rank, _is_intact(copy)), reverse=True)
    voters = certain_voters(ranked, 0).keys
    ranked.sort(key=lambda copy: (copy.rank, is_voter(copy.place.key, voters), _is_intact(copy)), reverse=True)
    conflicts = tuple(conflicts_of(ranked))
    of_one_log = [copy for copy in ranked if shows_one_log(ranked[0], copy)]
    checked = CheckedVotes(of_one_log)
    conflicts = tuple(with_wrong(one, checked.contradicted) for one in conflicts)
    wrong = [one.wrong for one in conflicts if one.wrong is not None]
    right = [copy for copy in ranked if not any(copy is one for one in wrong)]
    ranked = [*right, *(copy for copy in ranked if any(copy is one for one in wrong))]
    return ranked, certain_voters(right or ranked, 0).keys, conflicts, checked


def _is_intact(copy: Copy) -> bool:
    """Return True if nothing of its log and no file beside it is damaged or missing."""
    is_whole = not copy.held_more and copy.passed_over is None
    return is_whole and copy.state is not None and not copy.unread and copy.quorum_problem is None


def _with_lower(bounds: CommittedBounds, certain: CommittedBounds) -> CommittedBounds:
    """Return the bounds with another lower one; no upper one if that is below it."""
    upper = None if bounds.upper is None or bounds.upper < certain.lower else bounds.upper
    return msgspec.structs.replace(bounds, lower=certain.lower, because=certain.because, upper=upper)


def _bounds(
    copies: Sequence[Copy], stale: Sequence[StaleReplica], voters: Sequence[ReplicaKey]
) -> tuple[CommittedBounds, CommittedBounds]:
    older = [one.copy for one in stale]
    left = committed_bounds(extents(copies, older), voters)
    return left, bounds_once(copies, older, voters, left)
