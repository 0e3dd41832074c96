"""Whether a request comes from the broker that is registered, or from a process before it."""

from __future__ import annotations

from metadata_log.ids import NodeId
from metadata_log.image import MetadataImage


def why_stale(broker_id: int, broker_epoch: int, image: MetadataImage) -> str | None:
    """What is wrong with a broker's epoch (STALE_BROKER_EPOCH); None when it is that of the registration."""
    broker = image.cluster.brokers.get(NodeId(broker_id))
    if broker is None:
        return f"No broker registration found for broker id {broker_id}"
    if broker.epoch != broker_epoch:
        return f"Expected broker epoch {broker.epoch}, but got broker epoch {broker_epoch}"
    return None
