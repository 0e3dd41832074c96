"""What a CONTROLLER listener tells a gRPC client that came there by mistake, how the client recognises it, and what it
makes of gRPC's own words where nobody told it anything.

The listener speaks Kafka's protocol. It refuses an HTTP/2 connection with a GOAWAY whose debug data is this text, which
gRPC shows in the status of the failed call.
"""

from __future__ import annotations

import re
from typing import Final

from metadata_log.voters import Endpoint
from quorum.transport.channel import address_of

_TEXT: Final = re.compile(
    r"this is the (?P<listener>\S+) listener of node (?P<node>-?\d+), which speaks Kafka's protocol; "
    r"gRPC is at (?P<address>[^\s)]+)"
)


def refusal(listener: str, node_id: int, grpc_endpoint: Endpoint) -> str:
    """The text: which listener of which node this is, and where gRPC is spoken instead."""
    return (
        f"this is the {listener} listener of node {node_id}, which speaks Kafka's protocol; "
        f"gRPC is at {address_of(grpc_endpoint)}"
    )


def right_address(details: str | None) -> str | None:
    """The address that the details of a failed call name, when they hold that text; else None."""
    found = _TEXT.search(details or "")
    return None if found is None else found["address"]


_HTTP: Final = re.compile(r"http1\.x server")
_STOPPED: Final = "Cancelling all calls"
"""A server of gRPC's says so as it stops, whatever of a call it has seen."""
_LATE: Final = re.compile(r"Deadline Exceeded")
"""gRPC says so alone, or behind the event that it found first: "Stream removed (Deadline Exceeded)"."""
_CLOSED: Final = re.compile(r"failed to connect to all addresses.*Socket closed")
"""A server of Kafka's protocol, or of TLS, closes a connection that begins with HTTP/2."""
_NO_GRPC: Final = re.compile(r"Failed parsing HTTP/2")
_SYSTEM: Final = re.compile(
    r"(?:Failed to connect to remote host|connection attempt failed): (?:connect: )?"
    r"(?P<why>[A-Z][^:;()]+?)(?: \(\d+\))?$"
)
"""The system's words; where gRPC waits as a node has it, behind the name of the call and before its number."""


def in_words(details: str) -> str:
    """What the details of a call that found or lost its connection mean, without gRPC's own history of them."""
    if _HTTP.search(details):
        return "HTTP is spoken there, as at a node's http.listener: give the address of its GRPC listener"
    if _NO_GRPC.search(details):
        return "gRPC is not spoken there: give the address of a GRPC listener"
    if _CLOSED.search(details):
        return (
            "the connection was closed at once: gRPC is not spoken there. Give the address of a GRPC listener of this "
            "software; ask a controller of Apache Kafka by kafka-metadata-quorum.sh"
        )
    if details == _STOPPED:
        return "the controller stopped before it answered"
    if _LATE.search(details):
        return "no answer in time"
    found = _SYSTEM.search(details)
    return details if found is None else found["why"].lower()
