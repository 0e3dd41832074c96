"""What becomes of one partition when its ISR or the brokers around it change: ISR, ELR, leader, reassignment.

Decides by the partition and the rules given; knows neither topics' names nor the cluster. The order of the steps is
the meaning: a reassignment completes first, then the ELR follows from the wanted ISR, then a leader is elected from
both, and what then differs from the partition is the record.

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
    """What holds for a topic's partitions while one event is dealt with."""

    is_acceptable: Callable[[PartitionImage, NodeId], bool]
    """Whether a broker may lead the partition: active, and its replica's directory online."""
    min_isr: int
    elr_enabled: bool
    allows_unclean: bool
    bumps_epoch_on_shrink: bool
    writes_directories: bool
    default_directory: Callable[[NodeId], DirectoryId]
    prefers_first_replica: bool = False
    """Whether the first replica leads as soon as it can, also where another does."""
    unclean_shutdown: NodeId = NO_LEADER
    """A broker that came back without a clean stop: its replicas can no longer be eligible."""


class Reassignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All replicas that a partition shall have for now, and which of them come and which go (KIP-455)."""

    replicas: tuple[NodeId, ...]
    adding: tuple[NodeId, ...] = ()
    removing: tuple[NodeId, ...] = ()


class _Target:
    """The partition as it shall be; each step of `change_of` narrows it down."""

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
    """The record that takes the partition to the wanted ISR and replicas (None: those that it has), with all that
    follows from it; None if nothing changes."""
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
        # Without an ELR the last member stays in the ISR, fenced or not: it alone may lead again.
        target.isr = partition.isr
    if leader == LEADER_UNCHANGED and _needs_epoch_bump(partition, target, rules):
        leader = partition.leader
    return _record(topic_id, partition, target, leader, rules)


def _complete_reassignment(target: _Target) -> None:
    """A reassignment is complete once every added replica is in sync; the removed ones then leave (KIP-455)."""
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
    """While the ISR is below its minimum, who leaves it stays eligible, unless it may have lost data (KIP-966), or is
    no replica any more: then it will have deleted its copy."""
    if len(target.isr) >= rules.min_isr:
        return ()
    eligible = {*partition.elr, *partition.isr}.difference(target.isr, (rules.unclean_shutdown,))
    eligible.intersection_update(target.replicas)
    return partition.elr if eligible == set(partition.elr) else tuple(sorted(eligible))


def _elect(partition: PartitionImage, target: _Target, rules: ElectionRules) -> _Election:
    """The leader stays if it can; then the first replica in sync (eligible, if none is); then the last resorts."""
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
    """A leader from outside the ISR becomes all of it; one that was not even eligible must recover (KIP-704)."""
    if election.leader in target.elr:
        target.isr = (election.leader,)
        target.elr = tuple(replica for replica in target.elr if replica != election.leader)
    elif election.is_unclean:
        target.isr = (election.leader,)
        target.recovery = RECOVERING


def _needs_epoch_bump(partition: PartitionImage, target: _Target, rules: ElectionRules) -> bool:
    """Whether the leader keeps its place but needs a new epoch, so that everyone notices."""
    if not set(partition.replicas) <= set(target.replicas):
        return True
    return rules.bumps_epoch_on_shrink and not set(partition.isr) <= set(target.isr)


def _last_known(partition: PartitionImage, leader: NodeId, rules: ElectionRules) -> tuple[NodeId, ...] | None:
    """The last leader is remembered when a partition first loses its leader, and forgotten when it has one again."""
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
