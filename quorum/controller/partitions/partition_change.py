"""The change of one partition when its ISR or brokers change: ISR, ELR, leader, reassignment.

Decides only by the partition and the given rules. Must not know: topic names, or the cluster. The order of the steps
matters. A reassignment completes first. Then the ELR follows from the wanted ISR, and a leader is elected from both.
The record has the resulting differences.

Sources: KIP-966 (eligible leader replicas; the last known leader), KIP-704 (leader recovery state), KIP-455
(reassignment), PartitionChangeRecord.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from metadata_log.ids import DirectoryId, NodeId, TopicId
from metadata_log.image import NO_LEADER, RECOVERING, PartitionImage
from metadata_log.records import PartitionChangeRecord

LEADER_UNCHANGED: Final = NodeId(-2)
RECOVERY_STATE_UNCHANGED: Final = -1

_T = TypeVar("_T")


class ElectionRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules for a topic's partitions under one event."""

    is_acceptable: Callable[[PartitionImage, NodeId], bool]
    """Returns True if a broker may lead the partition: it is active, and its replica's directory is online."""
    min_isr: int
    elr_enabled: bool
    allows_unclean: bool
    bumps_epoch_on_shrink: bool
    writes_directories: bool
    default_directory: Callable[[NodeId], DirectoryId]
    prefers_first_replica: bool = False
    """True if the first replica replaces the present leader as soon as it can lead."""
    unclean_shutdown: NodeId = NO_LEADER
    """A broker that has returned without a clean stop: its replicas are no longer eligible."""


class Reassignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The target replicas of a partition for now, and the ones being added and removed (KIP-455)."""

    replicas: tuple[NodeId, ...]
    adding: tuple[NodeId, ...] = ()
    removing: tuple[NodeId, ...] = ()


class _Target:
    """The target state of the partition, which the steps of `change_of` refine."""

    __slots__ = ("adding", "elr", "isr", "recovery", "removing", "replicas")

    def __init__(
        self, partition: PartitionImage, isr: tuple[NodeId, ...], recovery: int, reassignment: Reassignment | None
    ) -> None:
        placed = partition if reassignment is None else reassignment
        self.isr = isr
        self.replicas = placed.replicas
        self.removing = placed.removing
        self.adding = placed.adding
        self.elr = partition.elr
        self.recovery = recovery


class _Election(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    leader: NodeId
    is_unclean: bool = False


def change_of(
    topic_id: TopicId,
    partition: PartitionImage,
    rules: ElectionRules,
    *,
    isr: tuple[NodeId, ...],
    recovery: int | None = None,
    reassignment: Reassignment | None = None,
) -> PartitionChangeRecord | None:
    """Return the record for the wanted ISR and reassignment (None: the present replicas), or None without a change.

    The record includes all consequences: ELR, leader, epochs and a completed reassignment.
    """
    recovery = partition.leader_recovery_state if recovery is None else recovery
    target = _Target(partition, isr, recovery, reassignment)
    _complete_reassignment(target)
    if rules.elr_enabled:
        target.elr = _eligible(partition, target, rules)
    election = _elect(partition, target, rules)
    is_new = election.leader != partition.leader
    leader = election.leader if is_new else LEADER_UNCHANGED
    if is_new:
        _give_lead(target, election)
    if (is_new and election.is_unclean) or not rules.elr_enabled:
        target.elr = ()
    if not target.isr and not rules.elr_enabled:
        # Without an ELR, the last member stays in the ISR, fenced or not: only it may lead again.
        target.isr = partition.isr
    if leader == LEADER_UNCHANGED and _needs_epoch_bump(partition, target, rules):
        leader = partition.leader
    return _record(topic_id, partition, target, leader, rules)


def _complete_reassignment(target: _Target) -> None:
    """Complete the reassignment if every added replica is in sync: the removed ones then leave (KIP-455)."""
    if not target.removing and not target.adding:
        return
    isr = tuple(replica for replica in target.isr if replica not in target.removing)
    replicas = tuple(replica for replica in target.replicas if replica not in target.removing)
    if (target.removing and (not isr or not replicas)) or not set(target.adding) <= set(isr):
        return
    # When the replication factor shrinks, the ISR must not shrink below what is left of the replicas.
    if len(target.adding) < len(target.removing) and not set(replicas) <= set(isr):
        return
    target.isr, target.replicas, target.removing, target.adding = isr, replicas, (), ()


def _eligible(partition: PartitionImage, target: _Target, rules: ElectionRules) -> tuple[NodeId, ...]:
    """Return the ELR: while the ISR is below its minimum, replicas that leave it stay eligible (KIP-966).

    Exceptions are a broker that may have lost data, and a former replica, which has deleted its data.
    """
    if len(target.isr) >= rules.min_isr:
        return ()
    eligible = {*partition.elr, *partition.isr}.difference(target.isr, (rules.unclean_shutdown,))
    eligible.intersection_update(target.replicas)
    return partition.elr if eligible == set(partition.elr) else tuple(sorted(eligible))


def _elect(partition: PartitionImage, target: _Target, rules: ElectionRules) -> _Election:
    """Elect the present leader if it can lead, otherwise the first candidate, otherwise an unclean leader.

    Candidates are the ISR, or the ELR if the ISR is empty.
    """
    is_acceptable = rules.is_acceptable
    candidates = target.isr or target.elr
    first = target.replicas[0]
    if rules.prefers_first_replica and first in candidates and is_acceptable(partition, first):
        return _Election(leader=first)
    if partition.leader in candidates and is_acceptable(partition, partition.leader):
        return _Election(leader=partition.leader)
    for replica in target.replicas:
        if replica in candidates and is_acceptable(partition, replica):
            return _Election(leader=replica)
    if rules.elr_enabled and not candidates and len(partition.last_known_elr) == 1:
        last_leader = partition.last_known_elr[0]
        if is_acceptable(partition, last_leader):
            return _Election(leader=last_leader, is_unclean=True)
    if rules.allows_unclean:
        for replica in target.replicas:
            if is_acceptable(partition, replica):
                return _Election(leader=replica, is_unclean=True)
    return _Election(leader=NO_LEADER)


def _give_lead(target: _Target, election: _Election) -> None:
    """Make a leader from outside the ISR its only member; one from outside the ELR, too, must recover (KIP-704)."""
    if election.leader in target.elr:
        target.isr = (election.leader,)
        target.elr = tuple(replica for replica in target.elr if replica != election.leader)
    elif election.is_unclean:
        target.isr = (election.leader,)
        target.recovery = RECOVERING


def _needs_epoch_bump(partition: PartitionImage, target: _Target, rules: ElectionRules) -> bool:
    """Return True if an unchanged leader needs a new epoch, so that all replicas notice the change."""
    if not set(partition.replicas) <= set(target.replicas):
        return True
    return rules.bumps_epoch_on_shrink and not set(partition.isr) <= set(target.isr)


def _last_known(partition: PartitionImage, leader: NodeId, rules: ElectionRules) -> tuple[NodeId, ...] | None:
    """Return the new `last_known_elr`, or None: the last leader after its loss, () once the partition has one again."""
    if not rules.elr_enabled:
        return None
    if leader == NO_LEADER and not partition.last_known_elr:
        return (partition.leader,)
    if leader >= 0 and partition.last_known_elr:
        return ()
    return None


def _record(
    topic_id: TopicId, partition: PartitionImage, target: _Target, leader: NodeId, rules: ElectionRules
) -> PartitionChangeRecord | None:
    record = PartitionChangeRecord(
        topic_id=topic_id,
        partition_id=partition.partition_id,
        isr=_if_changed(target.isr, partition.isr),
        leader=leader,
        replicas=_if_changed(target.replicas, partition.replicas),
        removing_replicas=_if_changed(target.removing, partition.removing),
        adding_replicas=_if_changed(target.adding, partition.adding),
        leader_recovery_state=(
            RECOVERY_STATE_UNCHANGED if target.recovery == partition.leader_recovery_state else target.recovery
        ),
        directories=_if_changed(_directories(partition, target.replicas, rules), partition.directories),
        eligible_leader_replicas=_if_changed(target.elr, partition.elr),
        last_known_elr=_last_known(partition, leader, rules),
    )
    is_unchanged = record == PartitionChangeRecord(topic_id=topic_id, partition_id=partition.partition_id)
    return None if is_unchanged else record


def _directories(
    partition: PartitionImage, replicas: tuple[NodeId, ...], rules: ElectionRules
) -> tuple[DirectoryId, ...]:
    if replicas == partition.replicas or not rules.writes_directories:
        return partition.directories
    known = dict(zip(partition.replicas, partition.directories, strict=True))
    return tuple(known[replica] if replica in known else rules.default_directory(replica) for replica in replicas)


def _if_changed(wanted: tuple[_T, ...], current: tuple[_T, ...]) -> tuple[_T, ...] | None:
    return None if wanted == current else wanted
