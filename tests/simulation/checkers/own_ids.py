"""No replica rejects a peer of the same quorum by the metadata topic's id: that would cost an election."""

from __future__ import annotations

from quorum.node.core.ports import RequestRejected
from quorum.node.core.topic_id_fencing import ID_ERRORS
from tests.simulation.checkers.invariant_failure import InvariantFailure


def check_refusal(node_id: int, event: RequestRejected) -> None:
    """Check a rejected request. In these scenarios the other quorum only sends responses, never requests."""
    if event.by_us and event.error in ID_ERRORS:
        raise InvariantFailure("own_ids", f"node {node_id} refuses {event.request} of {event.peer}: {event.why}")
