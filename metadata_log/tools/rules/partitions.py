"""Rules for one partition: how its replicas, ISR, leader and eligible leaders must relate.

Must not know: which record made it so.

Source: KIP-631 (leader and ISR are replicas, the leader is in the ISR), KIP-455 (replicas that are being added or
removed are replicas meanwhile), KIP-966 (eligible leaders are replicas outside the ISR).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from metadata_log.image import NO_LEADER


class Assignment(Protocol):
    """The fields of a partition that are checked: broker ids."""

    @property
    def replicas(self) -> tuple[int, ...]: ...
    @property
    def isr(self) -> tuple[int, ...]: ...
    @property
    def leader(self) -> int: ...
    @property
    def elr(self) -> tuple[int, ...]: ...
    @property
    def last_known_elr(self) -> tuple[int, ...]: ...
    @property
    def removing(self) -> tuple[int, ...]: ...
    @property
    def adding(self) -> tuple[int, ...]: ...


def broken_rules(partition: Assignment) -> dict[str, str]:
    """Return the finding kinds of the rules that the partition breaks, each with words for its wrong value."""
    replicas, isr, leader = partition.replicas, partition.isr, partition.leader
    moving = partition.removing or partition.adding
    is_plain = not partition.elr and not partition.last_known_elr and not moving
    if is_plain and leader in isr and (isr is replicas or isr == replicas) and not _has_twice(replicas):
        return {}
    broken: dict[str, str] = {}
    if not replicas:
        broken["no_replicas"] = "no replicas"
    if _has_twice(replicas) or _has_twice(isr):
        broken["replica_repeated"] = f"the replicas {_names(replicas)} and the ISR {_names(isr)}"
    if _has_twice(partition.elr) or _has_twice(partition.last_known_elr):
        named = f"{_names(partition.elr)}, and as the last known ones {_names(partition.last_known_elr)}"
        broken["elr_repeated"] = f"as eligible leaders {named}"
    odd = [broker for broker in (*partition.removing, *partition.adding) if broker not in replicas]
    if odd:
        broken["reassignment_outside_replicas"] = f"{_names(odd)} coming or going, but the replicas {_names(replicas)}"
    strangers = [broker for broker in isr if broker not in replicas]
    if strangers:
        broken["isr_outside_replicas"] = f"{_names(strangers)} in its ISR, but the replicas {_names(replicas)}"
    if leader != NO_LEADER and leader not in replicas:
        broken["leader_outside_replicas"] = f"leader {leader}, but the replicas {_names(replicas)}"
    elif leader != NO_LEADER and leader not in isr:
        broken["leader_outside_isr"] = f"leader {leader}, but the ISR {_names(isr)}"
    odd = [broker for broker in partition.elr if broker not in replicas or broker in isr]
    if odd:
        broken["elr_outside_replicas"] = (
            f"{_names(odd)} as eligible leaders, with the replicas {_names(replicas)} and the ISR {_names(isr)}"
        )
    return broken


def _has_twice(replicas: tuple[int, ...]) -> bool:
    return len(replicas) > 1 and len(set(replicas)) != len(replicas)


def _names(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, brokers)) or "nobody"
