"""The cluster's id and its registered brokers (KIP-700), in the terms of Kafka's Admin."""

from __future__ import annotations

from dataclasses import dataclass

from metadata_log.offsets import Offset
from quorum.api.cluster import DescribeCluster, DescribedBroker
from quorum.client.client import Client


@dataclass(frozen=True)
class ClusterDescription:
    """The cluster in the image of one controller.

    Attributes:
        cluster_id: the id of the cluster.
        brokers: the registered brokers by id, including fenced ones.
    """

    cluster_id: str
    brokers: dict[int, DescribedBroker]


async def describe_cluster(
    client: Client, *, at_least_offset: Offset | None, timeout_s: float | None
) -> ClusterDescription:
    """See `Admin.describe_cluster`."""
    response = await client.ask(DescribeCluster(), at_least_offset=at_least_offset, timeout_s=timeout_s)
    brokers = {broker.broker_id: broker for broker in response.brokers}
    return ClusterDescription(cluster_id=response.cluster_id, brokers=brokers)
