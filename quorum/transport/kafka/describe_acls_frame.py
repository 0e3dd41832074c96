"""The response to DescribeAcls, encoded by hand.

A list of all entries can have tens of thousands, with few different principals, hosts and resources.

Decides: the bytes of DescribeAclsResponse, versions 1 to 3. As an entity, each entry would take ten microseconds and
more, and everything else would wait. A test compares the bytes with kio's.

Source: DescribeAclsResponse.json of Kafka 4.3; KIP-290 (pattern types), KIP-482 (compact lengths are one more).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from metadata_log.image import AclEntry
from quorum.api.acls import DescribeAclsResponse
from quorum.transport.kafka.lengths import array_length, text_bytes
from quorum.transport.kafka.wire import said_briefly

_FIRST_FLEXIBLE: Final = 2
_HEAD: Final = struct.Struct(">ixih")
"""Correlation id, the header's tags (none), throttle time in ms, error."""
_OLD_HEAD: Final = struct.Struct(">iih")
_TWO_BYTES: Final = struct.Struct(">bb")
_BYTE: Final = struct.Struct(">b")
_NO_TAGS: Final = b"\0"


def describe_acls_frame(correlation_id: int, version: int, response: DescribeAclsResponse) -> bytes:
    """Return the response with its header, without its length. Entries of one resource are grouped."""
    return _Writer(version).frame(correlation_id, response)


class _Writer:
    """The encoder of one response. A repeated text is encoded once."""

    def __init__(self, version: int) -> None:
        self._is_flexible = version >= _FIRST_FLEXIBLE
        self._tags = _NO_TAGS if self._is_flexible else b""
        self._texts: dict[str, bytes] = {}

    def frame(self, correlation_id: int, response: DescribeAclsResponse) -> bytes:
        head = _HEAD if self._is_flexible else _OLD_HEAD
        resources = [self._resource(*each) for each in groupby(response.entries, key=_pattern)]
        return b"".join(
            (
                head.pack(correlation_id, 0, response.error),
                text_bytes(said_briefly(response.error_message), is_flexible=self._is_flexible),
                array_length(len(resources), is_flexible=self._is_flexible),
                *resources,
                self._tags,
            )
        )

    def _resource(self, pattern: tuple[int, str, int], entries: Iterable[AclEntry]) -> bytes:
        kind, name, pattern_type = pattern
        written = [self._entry(each) for each in entries]
        parts = [
            _BYTE.pack(kind),
            self._text(name),
            _BYTE.pack(pattern_type),
            array_length(len(written), is_flexible=self._is_flexible),
            *written,
            self._tags,
        ]
        return b"".join(parts)

    def _entry(self, entry: AclEntry) -> bytes:
        codes = _TWO_BYTES.pack(entry.operation, entry.permission_type)
        return self._text(entry.principal) + self._text(entry.host) + codes + self._tags

    def _text(self, value: str) -> bytes:
        data = self._texts.get(value)
        if data is None:
            data = self._texts[value] = text_bytes(value, is_flexible=self._is_flexible)
        return data


def _pattern(entry: AclEntry) -> tuple[int, str, int]:
    return entry.resource_type, entry.resource_name, entry.pattern_type
