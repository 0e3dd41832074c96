"""The two configs of a topic that elections need.

The first valid value counts: of the topic, of this node's dynamic config, of the cluster's, of the controller's file.
Kafka may have accepted a value that does not parse; the next one counts instead.
"""

from __future__ import annotations

from typing import Final

from metadata_log.image import MetadataImage, TopicImage
from quorum.controller.config import ControllerConfig
from quorum.controller.configs.value_types import as_number

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION_ENABLE: Final = "unclean.leader.election.enable"

_BOOLEANS: Final = {"true": True, "false": False}


def _values(
    name: str, topic_name: str, image: MetadataImage, node_id: int
) -> tuple[str | None, str | None, str | None]:
    configs = image.configs
    return (
        configs.of_topic(topic_name).get(name),
        configs.of_broker(node_id).get(name),
        configs.of_cluster().get(name),
    )


def min_insync_replicas(topic: TopicImage, image: MetadataImage, config: ControllerConfig) -> int:
    """Return `min.insync.replicas` of a topic, limited to its replication factor (KIP-966)."""
    minimum = config.min_insync_replicas
    for value in _values(MIN_INSYNC_REPLICAS, topic.name, image, config.node_id):
        number = None if value is None else as_number(value, 32)
        if number is not None and number >= 0:
            minimum = number
            break
    return min(minimum, len(topic.partitions[0].replicas))


def allows_unclean_election(topic: TopicImage, image: MetadataImage, config: ControllerConfig) -> bool:
    """Return `unclean.leader.election.enable` of a topic."""
    for value in _values(UNCLEAN_LEADER_ELECTION_ENABLE, topic.name, image, config.node_id):
        if value is not None and value.lower() in _BOOLEANS:
            return _BOOLEANS[value.lower()]
    return config.unclean_leader_election_enable
