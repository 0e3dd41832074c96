"""Liveness: after quiesce the cluster recovers within bounded virtual time.

There is an active controller, and every request has a response. A new topic is committed, every replica has all of
it, and the agents have their directories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.simulation.checkers.directories import missing_directories
from tests.simulation.checkers.invariant_failure import InvariantFailure

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node

BOUND_MS: Final = 40_000
"""The bound in ms. It suffices for a disk with half a second for each write, a backlog of thirty nodes and broker
sessions of nine seconds. A stuck cluster exceeds it."""


def unrest(cluster: Cluster) -> str | None:
    """Return what has not recovered yet, or None."""
    if cluster.active is None:
        return "there is no active controller"
    waiting = [client for client in cluster.clients if client.busy is not None]
    if waiting:
        operation = waiting[0].busy
        return f"client {waiting[0].client_id} waits for {operation.kind} {operation.topic}"  # type: ignore[union-attr]
    wishes = [each.busy.kind for each in cluster.administrators if each.busy is not None]
    if wishes:
        return f"an administrator waits: {wishes[0]}"
    for node in cluster.voters:
        for boot, request in cluster.asked_by_operators[node.node_id].values():
            if node.is_up and boot == node.boot:
                return f"node {node.node_id} has not answered {request}"
    machine = cluster.active.executor.machine
    end = cluster.checkers.no_ops.end_without(machine.epoch, machine.log_end_offset)
    faults = (_unrest_of(node, end) for node in cluster.nodes if not node.is_lost)
    return next((fault for fault in faults if fault is not None), None) or _unrest_of_agents(cluster)


def _unrest_of(node: Node, changed_end: int) -> str | None:
    """Return what this node lacks, or None. An idle leader goes on writing NoOps: the last few may be under way."""
    if not node.is_up:
        return f"node {node.node_id} is down"
    end = node.executor.image.offset_and_epoch
    return (
        None if end.offset >= changed_end else f"node {node.node_id} has {end}, the last change ends at {changed_end}"
    )


def _unrest_of_agents(cluster: Cluster) -> str | None:
    for agent in cluster.agents:
        if not agent.is_reconciled:
            return f"agent {agent.node_id} has not reconciled"
        missing = missing_directories(agent, cluster.checkers.reference)
        if missing is not None:
            return missing
    return None


def check_recovered(cluster: Cluster, unrested: str | None) -> None:
    """Check the cluster at the end of the bound, or once everything has recovered."""
    if unrested is not None:
        described = "; ".join(
            f"{node.node_id} {node.executor.machine.describe() if node.is_up else 'down'}" for node in cluster.nodes
        )
        raise InvariantFailure("liveness", f"{BOUND_MS} ms after the last fault {unrested}: {described}")
