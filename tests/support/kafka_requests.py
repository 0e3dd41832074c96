"""One request of every API and version that the Kafka door answers, with something in every field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.support.kafka_wire import requests_of


def _api_versions(version: int) -> Any:
    words = {} if version < 3 else {"client_software_name": "apache-kafka-java", "client_software_version": "4.3.0"}
    return requests_of(18, version).ApiVersionsRequest(**words)


def _describe_quorum(version: int) -> Any:
    module = requests_of(55, version)
    topic = module.TopicData(topic_name="__cluster_metadata", partitions=(module.PartitionData(partition_index=0),))
    return module.DescribeQuorumRequest(topics=(topic,))


def _describe_cluster(version: int) -> Any:
    words: dict[str, Any] = {"endpoint_type": 2} if version > 0 else {}
    words |= {"include_fenced_brokers": False} if version > 1 else {}
    return requests_of(60, version).DescribeClusterRequest(include_cluster_authorized_operations=True, **words)


SAMPLES: Final[dict[int, Callable[[int], Any]]] = {
    18: _api_versions,
    55: _describe_quorum,
    60: _describe_cluster,
}
