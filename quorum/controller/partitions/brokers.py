"""The cluster's data for placement and elections, computed once for each state of the cluster.

Decides: which brokers are active, which may get new replicas, and the directory of a new replica (KIP-841, KIP-858,
KIP-1066). Must not know: topics.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.ids import (
    LOST_DIRECTORY_ID,
    MIGRATING_DIRECTORY_ID,
    UNASSIGNED_DIRECTORY_ID,
    DirectoryId,
    NodeId,
)
from metadata_log.image import BrokerRegistration, ClusterImage

_MOST_KNOWN: Final = 4096
"""The largest number of cached placements; a full cache is cleared."""


class RackBrokers(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The usable brokers of one rack, each list in ascending order."""

    unfenced: tuple[NodeId, ...]
    fenced: tuple[NodeId, ...]


class Brokers(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One state of the cluster. `racks` are sorted by name, the brokers without one first."""

    active: frozenset[NodeId]
    """Brokers that are neither fenced nor in controlled shutdown."""
    racks: tuple[RackBrokers, ...]
    usable: int
    usable_unfenced: int
    default_directories: dict[NodeId, DirectoryId]
    """The directory of a new replica on each registered broker."""


class NewPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The initial state of a partition; the first of the ISR leads it. `directories` is empty below 3.7-IV2."""

    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    directories: tuple[DirectoryId, ...]


class NewPartitions:
    """A cache of initial partition states, by replicas, in one state of the cluster: most new partitions are equal."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._known: dict[tuple[tuple[NodeId, ...], bool], NewPartition] = {}

    def on(self, replicas: tuple[NodeId, ...], *, has_directories: bool) -> NewPartition:
        """Return the initial state of a partition on these registered brokers."""
        known = self._known.get((replicas, has_directories))
        if known is not None:
            return known
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        active, default = self._brokers.active, self._brokers.default_directories
        made = self._known[replicas, has_directories] = NewPartition(
            replicas=replicas,
            isr=replicas if active.issuperset(replicas) else tuple(broker for broker in replicas if broker in active),
            directories=tuple(default[broker] for broker in replicas) if has_directories else (),
        )
        return made


def prepare(cluster: ClusterImage) -> Brokers:
    """Return the data of all registrations. A fenced broker is usable, but only after all unfenced ones."""
    registrations = [broker for _, broker in sorted(cluster.brokers.items())]
    usable = [broker for broker in registrations if _is_usable(broker)]
    names = sorted({broker.rack for broker in usable}, key=lambda rack: (rack is not None, rack or ""))
    racks = tuple(
        RackBrokers(
            unfenced=tuple(broker.broker_id for broker in usable if broker.rack == name and not broker.fenced),
            fenced=tuple(broker.broker_id for broker in usable if broker.rack == name and broker.fenced),
        )
        for name in names
    )
    return Brokers(
        active=frozenset(broker.broker_id for broker in registrations if is_active(broker)),
        racks=racks,
        usable=len(usable),
        usable_unfenced=sum(len(rack.unfenced) for rack in racks),
        default_directories={broker.broker_id: default_directory(broker) for broker in registrations},
    )


def is_active(broker: BrokerRegistration) -> bool:
    """Return True if the broker may lead: it is neither fenced nor shutting down."""
    return not broker.fenced and not broker.in_controlled_shutdown


def _is_usable(broker: BrokerRegistration) -> bool:
    # A broker that has completed its shutdown is fenced: it counts again, because it may return.
    is_leaving = broker.in_controlled_shutdown and not broker.fenced
    return not is_leaving and broker.has_uncordoned_directory


def default_directory(broker: BrokerRegistration | None) -> DirectoryId:
    """Return a new replica's directory: the broker's only one, or unassigned until the broker reports it."""
    if broker is None:
        return UNASSIGNED_DIRECTORY_ID
    if not broker.directories:
        return MIGRATING_DIRECTORY_ID
    return broker.directories[0] if len(broker.directories) == 1 else UNASSIGNED_DIRECTORY_ID


def has_online_directory(broker: BrokerRegistration, directory: DirectoryId) -> bool:
    """Return True if a replica in `directory` can be alive on this broker; an unassigned one always can."""
    if directory in (UNASSIGNED_DIRECTORY_ID, MIGRATING_DIRECTORY_ID):
        return True
    if directory == LOST_DIRECTORY_ID:
        return False
    return not broker.directories or directory in broker.directories
