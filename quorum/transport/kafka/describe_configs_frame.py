"""The response to DescribeConfigs, encoded by hand.

A client that describes all topics gets three dozen configs of each, and most are equal in all topics.

Decides: the bytes of DescribeConfigsResponse, versions 1 to 4. As entities, each topic's would take more than a
millisecond, and everything else would wait. A test compares the bytes with kio's.

Source: DescribeConfigsResponse.json of Kafka 4.3; KIP-482 (compact lengths are one more), KIP-569 (types).
"""

from __future__ import annotations

import struct
from typing import Final

from quorum.api.described_configs import ConfigSynonym, DescribeConfigsResponse, DescribedConfig, DescribedResource
from quorum.transport.kafka.lengths import array_length, text_bytes
from quorum.transport.kafka.wire import said_briefly

_FIRST_FLEXIBLE: Final = 4
_FIRST_WITH_KINDS: Final = 3
_ERROR: Final = struct.Struct(">h")
_HEAD: Final = struct.Struct(">ixi")
"""Correlation id, the header's tags (none), throttle time in ms."""
_OLD_HEAD: Final = struct.Struct(">ii")
_FLAGS: Final = struct.Struct(">?b?")
"""Read only, source, sensitive."""
_BYTE: Final = struct.Struct(">b")
_NO_TAGS: Final = b"\0"


def describe_configs_frame(correlation_id: int, version: int, response: DescribeConfigsResponse) -> bytes:
    """Return the response with its header, without its length."""
    return _Writer(version).frame(correlation_id, response)


class _Writer:
    """The encoder of one response. Repeated configs are encoded once."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._is_flexible = version >= _FIRST_FLEXIBLE
        self._tags = _NO_TAGS if self._is_flexible else b""
        self._of_one: dict[int, bytes] = {}
        self._of_all: dict[int, bytes] = {}
        """The bytes of a config, and of all configs of a resource, by object id. The response keeps those objects
        alive."""

    def frame(self, correlation_id: int, response: DescribeConfigsResponse) -> bytes:
        head = _HEAD if self._is_flexible else _OLD_HEAD
        parts = [head.pack(correlation_id, 0), self._count(len(response.resources))]
        for resource in response.resources:
            self._add_resource(parts, resource)
        parts.append(self._tags)
        return b"".join(parts)

    def _add_resource(self, parts: list[bytes], resource: DescribedResource) -> None:
        parts += (
            _ERROR.pack(resource.error),
            self._text(said_briefly(resource.error_message)),
            _BYTE.pack(resource.resource_type),
            self._text(resource.name),
            self._configs(resource.configs),
            self._tags,
        )

    def _configs(self, configs: tuple[DescribedConfig, ...]) -> bytes:
        data = self._of_all.get(id(configs))
        if data is None:
            parts = [self._count(len(configs)), *map(self._config, configs)]
            data = self._of_all[id(configs)] = b"".join(parts)
        return data

    def _config(self, config: DescribedConfig) -> bytes:
        data = self._of_one.get(id(config))
        if data is not None:
            return data
        has_kinds = self._version >= _FIRST_WITH_KINDS
        data = self._of_one[id(config)] = b"".join(
            (
                self._text(config.name),
                self._text(config.value),
                _FLAGS.pack(config.read_only, config.source, config.is_sensitive),
                self._count(len(config.synonyms)),
                *map(self._synonym, config.synonyms),
                _BYTE.pack(config.kind) + self._text(None) if has_kinds else b"",
                self._tags,
            )
        )
        return data

    def _synonym(self, synonym: ConfigSynonym) -> bytes:
        return self._text(synonym.name) + self._text(synonym.value) + _BYTE.pack(synonym.source) + self._tags

    def _count(self, length: int) -> bytes:
        return array_length(length, is_flexible=self._is_flexible)

    def _text(self, value: str | None) -> bytes:
        return text_bytes(value, is_flexible=self._is_flexible)
