"""No replica refuses a peer of the same quorum by the metadata topic's id: it would cost an election."""

from __future__ import annotations

from quorum.node.core.ports import RequestRejected
from quorum.node.core.topic_id_fencing import ID_ERRORS
from tests.simulation.checkers.invariant_failure import InvariantFailure


def check_refusal(node_id: int, event: RequestRejected) -> None:
    """A request was refused. In these scenarios another quorum only answers, it asks nothing."""
    if event.by_us and event.error in ID_ERRORS:
        raise InvariantFailure("own_ids", f"node {node_id} refuses {event.request} of {event.peer}: {event.why}")
