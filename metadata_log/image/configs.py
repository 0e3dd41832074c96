"""Dynamic configurations as an image holds them: what was set, never defaults.

Decides: the key of a resource. Must not know: which configs exist or what they mean.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import msgspec

from metadata_log.image.maps import Map


class ResourceType(IntEnum):
    """Kafka's numbers of the resources that have configurations (ConfigRecord.ResourceType)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(msgspec.Struct, frozen=True, kw_only=True, gc=False, order=True):
    """What a configuration is about. `name`: a topic's, a broker's id in decimal (empty: all brokers), and so on.

    `resource_type` is a plain number, so that a type newer than `ResourceType` is kept and not lost.
    """

    resource_type: int
    name: str


NO_CONFIGS: Final[Map[str, str]] = Map()


class ConfigsImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Values by name by resource; a resource without any has no entry."""

    by_resource: Map[ConfigResource, Map[str, str]] = Map()

    def of(self, resource_type: int, name: str) -> Map[str, str]:
        """What is set on a resource itself, empty when nothing is."""
        return self.by_resource.get(ConfigResource(resource_type=resource_type, name=name), NO_CONFIGS)

    def of_topic(self, name: str) -> Map[str, str]:
        """What is set on a topic."""
        return self.of(ResourceType.TOPIC, name)

    def of_broker(self, broker_id: int) -> Map[str, str]:
        """What is set on one broker, without the defaults of the cluster."""
        return self.of(ResourceType.BROKER, str(broker_id))

    def of_cluster(self) -> Map[str, str]:
        """The dynamic defaults of all brokers: the broker resource without a name."""
        return self.of(ResourceType.BROKER, "")
