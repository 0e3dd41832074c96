"""The image's dynamic configs: explicitly set values, never defaults.

Decides: the key of a resource. Must not know: which configs exist or their meaning.
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
    """A resource with configs. `name`: a topic's name, a broker's id in decimal (empty: all brokers), and so on.

    `resource_type` is a plain number, so that a type newer than `ResourceType` is not lost.
    """

    resource_type: int
    name: str


NO_CONFIGS: Final[Map[str, str]] = Map()


class ConfigsImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Resource → name → value; a resource without values has no entry."""

    by_resource: Map[ConfigResource, Map[str, str]] = Map()

    def of(self, resource_type: int, name: str) -> Map[str, str]:
        """Return the values set on a resource itself, possibly empty."""
        return self.by_resource.get(ConfigResource(resource_type=resource_type, name=name), NO_CONFIGS)

    def of_topic(self, name: str) -> Map[str, str]:
        """Return the values set on a topic."""
        return self.of(ResourceType.TOPIC, name)

    def of_broker(self, broker_id: int) -> Map[str, str]:
        """Return the values set on one broker, without the cluster's defaults."""
        return self.of(ResourceType.BROKER, str(broker_id))

    def of_cluster(self) -> Map[str, str]:
        """Return the dynamic defaults of all brokers: the broker resource without a name."""
        return self.of(ResourceType.BROKER, "")
