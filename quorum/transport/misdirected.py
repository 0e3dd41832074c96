"""The reply of a CONTROLLER listener to a gRPC client that connected to it by mistake, and the client's side of it.

The listener speaks Kafka's protocol. It closes an HTTP/2 connection with a GOAWAY whose debug data is this text; gRPC
shows that in the status of the failed call. The client also explains gRPC's own error texts, if no listener sent this
one.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from metadata_log.voters import Endpoint
from quorum.transport.channel import address_of

_TEXT: Final = re.compile(
    r"this is the (?P<listener>\S+) listener of node (?P<node>-?\d+), which speaks Kafka's protocol; "
    r"gRPC is at (?P<address>[^\s)]+)"
)


def refusal(listener: str, node_id: int, grpc_endpoint: Endpoint) -> str:
    """Return the text: the listener and node that were reached, and the address of the gRPC listener."""
    return (
        f"this is the {listener} listener of node {node_id}, which speaks Kafka's protocol; "
        f"gRPC is at {address_of(grpc_endpoint)}"
    )


def right_address(details: str | None) -> str | None:
    """Return the gRPC address in the details of a failed call, or None if they do not contain the text of `refusal`."""
    found = _TEXT.search(details or "")
    return None if found is None else found["address"]


_HTTP: Final = re.compile(r"http1\.x server")
_STOPPED: Final = "Cancelling all calls"
"""The details that a gRPC server sends when it stops, whatever it has done with the call."""
_LATE: Final = re.compile(r"Deadline Exceeded")
"""The details are only this, or follow the first event: "Stream removed (Deadline Exceeded)"."""
_CLOSED: Final = re.compile(r"failed to connect to all addresses.*Socket closed")
"""A server of Kafka's protocol, or of TLS, closes a connection that begins with HTTP/2."""
_NO_GRPC: Final = re.compile(r"Failed parsing HTTP/2")
_SYSTEM: Final = re.compile(
    r"(?:Failed to connect to remote host|connection attempt failed): (?:connect: )?"
    r"(?P<why>[A-Z][^:;()]+?)(?: \(\d+\))?$"
)
"""The system's error text. With gRPC's poller of a node, the system call precedes it and its number follows."""


class Cause(Enum):
    """The cause, in a failed call's details, of a connection that was not made or was lost."""

    HTTP = auto()
    NO_GRPC = auto()
    CLOSED_AT_ONCE = auto()
    STOPPED = auto()
    LATE = auto()
    OTHER = auto()


_CAUSES: Final = {
    Cause.HTTP: _HTTP,
    Cause.NO_GRPC: _NO_GRPC,
    Cause.CLOSED_AT_ONCE: _CLOSED,
    Cause.STOPPED: re.compile(f"^{_STOPPED}$"),
    Cause.LATE: _LATE,
}
_WORDS: Final = {
    Cause.HTTP: "HTTP is spoken there, as at a node's http.listener: give the address of its GRPC listener",
    Cause.NO_GRPC: "gRPC is not spoken there: give the address of a GRPC listener",
    Cause.CLOSED_AT_ONCE: "the connection was closed at once: gRPC is not spoken there. Give the address of a GRPC "
    "listener of this software; ask a controller of Apache Kafka by kafka-metadata-quorum.sh",
    Cause.STOPPED: "the controller stopped before it answered",
    Cause.LATE: "no answer in time",
}


def cause_of(details: str) -> Cause:
    """Return the cause that the details of a failed call state."""
    return next((cause for cause, words in _CAUSES.items() if words.search(details)), Cause.OTHER)


def system_words(details: str) -> str | None:
    """Return the system's error text in the details of a failed call ("connection refused"), or None."""
    found = _SYSTEM.search(details)
    return None if found is None else found["why"].lower()


def in_words(details: str) -> str:
    """Explain the details of a call that made no connection or lost it, without gRPC's history of attempts."""
    words = _WORDS.get(cause_of(details))
    return words if words is not None else system_words(details) or details
