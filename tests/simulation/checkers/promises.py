"""Acknowledged is durable: a Fetch promises that the log before its offset is durable where it comes from; a client
that was told that something holds was told so of what is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.checkers.reference import Reference
from tests.simulation.clients import Operation

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.wishes import Wish


def check_fetch(node: Node, fetch_offset: int) -> None:
    """A Fetch leaves."""
    if fetch_offset > node.durable.end and not node.is_rotten:
        raise InvariantFailure(
            "promises", f"node {node.node_id} fetches from {fetch_offset}, but is durable only up to {node.durable.end}"
        )


def check_outcome(operation: Operation, reference: Reference) -> None:
    """A client was told something: it stands in the committed log, before the offset that the answer names."""
    if operation.outcome == "unknown":
        return
    told = f"client {operation.client} was told {operation.outcome} to {operation.kind} {operation.topic}"
    if operation.image_offset > reference.end:
        raise InvariantFailure(
            "promises", f"{told} of offset {operation.image_offset}; only {reference.end} is committed"
        )
    if operation.image_offset < operation.at_least_offset:
        raise InvariantFailure(
            "promises", f"{told} of offset {operation.image_offset}, asked for {operation.at_least_offset}"
        )
    if operation.outcome != "NONE" or operation.topic_id is None:
        return
    topic_id = operation.topic_id
    if operation.kind == "create" and not _is_before(reference.created.get(topic_id), operation):
        raise InvariantFailure(
            "promises", f"{told}: its id is not in the committed log before {operation.image_offset}"
        )
    if operation.kind == "delete" and not _is_before(reference.deleted.get(topic_id), operation):
        raise InvariantFailure(
            "promises", f"{told}: its removal is not in the committed log before {operation.image_offset}"
        )


def check_wish(client_id: int, wish: Wish, image_offset: int, reference: Reference) -> None:
    """An administrator was told that all it asked for is done: it is so at the offset that the answer names, which can
    be looked at where a batch ends there."""
    told = f"administrator {client_id} was told that it is done: {wish.kind}"
    if image_offset > reference.end:
        raise InvariantFailure("promises", f"{told} at offset {image_offset}; only {reference.end} is committed")
    image = reference.image_at(image_offset)
    if image is not None and not wish.holds(image):
        raise InvariantFailure("promises", f"{told}, but at offset {image_offset} it is not: {wish.request}")


def check_upgrade(node: Node, reference: Reference) -> None:
    """A leader says that kraft.version is raised: the committed log holds the voters."""
    if reference.voters_at(reference.end) is None:
        raise InvariantFailure(
            "promises", f"node {node.node_id} says that kraft.version is 1; in the committed log it is 0"
        )


def _is_before(offset: int | None, operation: Operation) -> bool:
    return offset is not None and offset < operation.image_offset
