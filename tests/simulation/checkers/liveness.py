"""Liveness: when all faults have ended, within bounded virtual time there is an active controller, every request has
been answered, a new topic is committed, every replica has all of it, and the agents have their directories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.simulation.checkers.directories import missing_directories
from tests.simulation.checkers.invariant_failure import InvariantFailure

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node

BOUND_MS: Final = 40_000
"""So long all of it may take. A disk that takes half a second for each write, thirty nodes' worth of backlog and broker
sessions of nine seconds fit into it; a stuck cluster does not."""


def unrest(cluster: Cluster) -> str | None:
    """What is not as it should be in peace; None when all is well."""
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
    """NoOps follow for as long as the cluster is idle: the last few may still be under way."""
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
    """The bound has passed, or nothing was wrong any more."""
    if unrested is not None:
        described = "; ".join(
            f"{node.node_id} {node.executor.machine.describe() if node.is_up else 'down'}" for node in cluster.nodes
        )
        raise InvariantFailure("liveness", f"{BOUND_MS} ms after the last fault {unrested}: {described}")
