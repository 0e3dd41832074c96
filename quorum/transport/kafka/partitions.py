"""The common parts of the Raft RPCs in Kafka's protocol: the one partition of the metadata topic, and a leader's
endpoint.

Must not know: which RPC it is. Sources: KIP-595, KIP-853 (node endpoints).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from metadata_log.voters import CONTROLLER_LISTENER, Endpoint
from quorum.transport.kafka.reader import BadFrame


def only_partition(topics: Sequence[Any], field: str, ours: str | UUID) -> Any | None:
    """Return the one partition of the topic whose `field` is `ours`, or None unless the request names exactly that."""
    if len(topics) != 1 or getattr(topics[0], field) != ours or len(topics[0].partitions) != 1:
        return None
    return topics[0].partitions[0]


def answered_partition(topics: Sequence[Any], field: str, ours: str | UUID) -> Any:
    """Return the one partition in a response.

    Raises:
        BadFrame: it does not have exactly one partition of the metadata topic.
    """
    partition = only_partition(topics, field, ours)
    if partition is None:
        raise BadFrame("it does not answer for one partition of the metadata topic")
    return partition


def place_among(nodes: tuple[Any, ...], node_id: int) -> tuple[Endpoint, ...]:
    """Return a node's endpoint among a response's node endpoints, or nothing if it is missing.

    A response carries no listener names. `KafkaNetwork` puts in the name of the listener that was used.
    """
    return tuple(
        Endpoint(name=CONTROLLER_LISTENER, host=node.host, port=node.port) for node in nodes if node.node_id == node_id
    )[:1]
