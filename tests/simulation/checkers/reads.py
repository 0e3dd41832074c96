"""A read returns the state of the committed log at the offset that it names."""

from __future__ import annotations

from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.checkers.reference import Reference
from tests.simulation.clients import Operation


def check_read(operation: Operation, reference: Reference) -> None:
    """Check the response to a describe."""
    if operation.kind not in ("describe", "read") or operation.outcome == "unknown":
        return
    told = operation.topic_id if operation.outcome == "NONE" else None
    true = reference.topic_at(operation.topic, operation.image_offset)
    if told != true:
        raise InvariantFailure(
            "reads",
            f"client {operation.client} read {operation.topic} at offset {operation.image_offset} as {_text(told)}; it "
            f"is {_text(true)} there",
        )


def _text(topic_id: bytes | None) -> str:
    return "absent" if topic_id is None else topic_id.hex()
