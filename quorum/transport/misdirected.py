"""What a CONTROLLER listener tells a gRPC client that came there by mistake, and how the client recognises it.

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
