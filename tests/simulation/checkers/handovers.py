"""A leader transfers leadership only to a voter that has its whole log, durably and committed.

So no client is left with an unknown outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorum.api.raft_messages import EndQuorumEpochRequest
from tests.simulation.checkers.invariant_failure import InvariantFailure

if TYPE_CHECKING:
    from tests.simulation.node import Node


def check_handover(node: Node, request: EndQuorumEpochRequest) -> None:
    """Check an EndQuorumEpoch; with a single successor among several voters it is a transfer."""
    machine = node.executor.machine
    if len(request.preferred_candidates) != 1 or len(machine.voters) < 3 or machine.epoch != request.leader_epoch:
        return
    successor = next((each for each in node.cluster.nodes if each.key == request.preferred_candidates[0]), None)
    end = machine.log_end_offset
    if machine.high_watermark != end:
        raise InvariantFailure(
            "handovers", f"node {node.node_id} hands over at {end}, committed is {machine.high_watermark}"
        )
    if successor is not None and successor.durable.end < end and not successor.is_rotten:
        raise InvariantFailure(
            "handovers",
            f"node {node.node_id} hands {end} over to {successor.node_id}, which has {successor.durable.end}",
        )
