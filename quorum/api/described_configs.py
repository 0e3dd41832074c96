"""DescribeConfigs and its response (KIP-133, KIP-226 for synonyms and sources, KIP-569 for types)."""

from __future__ import annotations

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Read
from quorum.api.topics import ConfigSource


class ResourceToDescribe(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A resource to describe. `names`: only these configs; None or empty: all."""

    resource_type: int
    name: str
    names: tuple[str, ...] | None = None


class DescribeConfigs(Read["DescribeConfigsResponse"], frozen=True, kw_only=True, gc=False):
    """Describe all configs of resources, set or default, as this controller knows them."""

    resources: tuple[ResourceToDescribe, ...]
    include_synonyms: bool = False
    of_other_nodes: bool = False
    """Describe the dynamic configs of other nodes, too. Otherwise the controller rejects those nodes, as Kafka's
    does."""

    def rejected(self, error: Error, message: str | None = None) -> DescribeConfigsResponse:
        """Return the response that rejects each resource for the same reason."""
        resources = tuple(
            DescribedResource(resource_type=each.resource_type, name=each.name, error=error, error_message=message)
            for each in self.resources
        )
        return DescribeConfigsResponse(resources=resources, error=error, error_message=message)


class ConfigSynonym(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One value of the config, or the value that it would have if the earlier synonyms were not set."""

    name: str
    value: str | None
    source: ConfigSource


class DescribedConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One config. `value` is `None` if the config is, or may be, a secret."""

    name: str
    value: str | None
    source: ConfigSource
    kind: int
    read_only: bool = False
    is_sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()


class DescribedResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One resource; its configs sorted by name."""

    resource_type: int
    name: str
    configs: tuple[DescribedConfig, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class DescribeConfigsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Results in the order of the request."""

    resources: tuple[DescribedResource, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None
