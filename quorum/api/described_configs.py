"""DescribeConfigs and its answer (KIP-133, KIP-226 for synonyms and sources, KIP-569 for types)."""

from __future__ import annotations

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Read
from quorum.api.topics import ConfigSource


class ResourceToDescribe(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is asked about; `names`: only these configs (None or nothing: all)."""

    resource_type: int
    name: str
    names: tuple[str, ...] | None = None


class DescribeConfigs(Read["DescribeConfigsResponse"], frozen=True, kw_only=True, gc=False):
    """What configs a resource has, set or not, as the asked controller knows them."""

    resources: tuple[ResourceToDescribe, ...]
    include_synonyms: bool = False
    of_other_nodes: bool = False
    """Describe what is set at run time for other nodes, too. Else the controller refuses them, as Kafka's does."""

    def rejected(self, error: Error, message: str | None = None) -> DescribeConfigsResponse:
        """Return the response that rejects each resource for the same reason."""
        resources = tuple(
            DescribedResource(resource_type=each.resource_type, name=each.name, error=error, error_message=message)
            for each in self.resources
        )
        return DescribeConfigsResponse(resources=resources, error=error, error_message=message)


class ConfigSynonym(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One value that the config has, or would have if those before it were not set."""

    name: str
    value: str | None
    source: ConfigSource


class DescribedConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One config; the value of one that is or may be a secret is None."""

    name: str
    value: str | None
    source: ConfigSource
    kind: int
    read_only: bool = False
    is_sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()


class DescribedResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One resource; its configs in the order of their names."""

    resource_type: int
    name: str
    configs: tuple[DescribedConfig, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class DescribeConfigsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """In the order of the request."""

    resources: tuple[DescribedResource, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None
