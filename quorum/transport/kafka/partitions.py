"""What the Raft RPCs share in Kafka's protocol: the one partition of the metadata topic, and where a leader is reached.

Decides: how both are found. Must not know: which RPC it is. Source: KIP-595, KIP-853 (node endpoints).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metadata_log.voters import CONTROLLER_LISTENER, Endpoint
from quorum.transport.kafka.reader import BadFrame


def only_partition(topics: Sequence[Any], field: str, ours: object) -> Any | None:
    """The one partition of the metadata topic, whose `field` is `ours`; None where something else or more is named."""
    if len(topics) != 1 or getattr(topics[0], field) != ours or len(topics[0].partitions) != 1:
        return None
    return topics[0].partitions[0]


def answered_partition(topics: Sequence[Any], field: str, ours: object) -> Any:
    """The same, of an answer.

    Raises:
        BadFrame: it is no answer for one partition of the metadata topic.
    """
    partition = only_partition(topics, field, ours)
    if partition is None:
        raise BadFrame("it does not answer for one partition of the metadata topic")
    return partition


def place_among(nodes: tuple[Any, ...], node_id: int) -> tuple[Endpoint, ...]:
    """Where a node is reached, of an answer's node endpoints; empty when it is not told.

    They have no name in the answer: they are of the listener that was asked, whose name `KafkaNetwork` puts there.
    """
    return tuple(
        Endpoint(name=CONTROLLER_LISTENER, host=node.host, port=node.port) for node in nodes if node.node_id == node_id
    )[:1]
