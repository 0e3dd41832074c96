"""Acknowledged is durable.

A Fetch promises that its sender has the log before its offset durably. A response to a client reports only committed
facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.checkers.reference import Reference
from tests.simulation.clients import Operation

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.wishes import Wish


def check_fetch(node: Node, fetch_offset: int) -> None:
    """Check a Fetch that is being sent."""
    if fetch_offset > node.durable.end and not node.is_rotten:
        raise InvariantFailure(
            "promises", f"node {node.node_id} fetches from {fetch_offset}, but is durable only up to {node.durable.end}"
        )


def check_outcome(operation: Operation, reference: Reference) -> None:
    """Check a client's response: the committed log has its facts before the offset that it names."""
    if operation.outcome == "unknown":
        return
    response = f"client {operation.client} got {operation.outcome} for {operation.kind} {operation.topic}"
    if operation.image_offset > reference.end:
        raise InvariantFailure(
            "promises", f"{response} at offset {operation.image_offset}; only {reference.end} is committed"
        )
    if operation.image_offset < operation.at_least_offset:
        raise InvariantFailure(
            "promises", f"{response} at offset {operation.image_offset}, asked for {operation.at_least_offset}"
        )
    if operation.outcome != "NONE" or operation.topic_id is None:
        return
    topic_id = operation.topic_id
    if operation.kind == "create" and not _is_before(reference.created.get(topic_id), operation):
        raise InvariantFailure(
            "promises", f"{response}: its id is not in the committed log before {operation.image_offset}"
        )
    if operation.kind == "delete" and not _is_before(reference.deleted.get(topic_id), operation):
        raise InvariantFailure(
            "promises", f"{response}: its removal is not in the committed log before {operation.image_offset}"
        )


def check_wish(client_id: int, wish: Wish, image_offset: int, reference: Reference) -> None:
    """Check a response that reports an administrator's request as done.

    It must hold at the offset in the response, if a batch ends there.
    """
    response = f"administrator {client_id} got a response that it is done: {wish.kind}"
    if image_offset > reference.end:
        raise InvariantFailure("promises", f"{response} at offset {image_offset}; only {reference.end} is committed")
    image = reference.image_at(image_offset)
    if image is not None and not wish.holds(image):
        raise InvariantFailure("promises", f"{response}, but at offset {image_offset} it is not: {wish.request}")


def check_upgrade(node: Node, reference: Reference) -> None:
    """Check that a leader reports kraft.version 1 only if the committed log holds the voters."""
    if reference.voters_at(reference.end) is None:
        raise InvariantFailure(
            "promises", f"node {node.node_id} says that kraft.version is 1; in the committed log it is 0"
        )


def _is_before(offset: int | None, operation: Operation) -> bool:
    return offset is not None and offset < operation.image_offset
