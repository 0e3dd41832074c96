"""The response to CreateTopics with configs, encoded by hand: each topic carries some three dozen configs, mostly
equal.

Decides: the bytes of CreateTopicsResponse, versions 5 to 7. kio's writer would take longer than the creation itself. A
test compares the two.

Source: CreateTopicsResponse.json of Kafka 4.3; KIP-482 (compact lengths are one more), KIP-525.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

from quorum.api.error_codes import Error
from quorum.api.topics import CreatableTopicResult, CreateTopicsResponse, EffectiveConfig
from quorum.transport.kafka.lengths import array_length, text_bytes
from quorum.transport.kafka.wire import said_briefly

FIRST_WITH_CONFIGS: Final = 5
_FIRST_WITH_IDS: Final = 7
_HEAD: Final = struct.Struct(">ixi")
"""Correlation id, the header's tags (none), throttle time in ms."""
_ERROR: Final = struct.Struct(">h")
_NUMBERS: Final = struct.Struct(">ih")
_CONFIG: Final = struct.Struct(">?b?x")
"""Read only, source, sensitive, and no tags."""
_NO_TAGS: Final = b"\0"


def create_topics_frame(correlation_id: int, version: int, response: CreateTopicsResponse) -> bytes:
    """Return the response with its header, without its length."""
    parts = [
        _HEAD.pack(correlation_id, response.throttle_time_ms),
        array_length(len(response.topics), is_flexible=True),
    ]
    for topic in response.topics:
        parts += _topic(topic, version)
    parts.append(_NO_TAGS)
    return b"".join(parts)


def _topic(topic: CreatableTopicResult, version: int) -> tuple[bytes, ...]:
    return (
        _text(topic.name),
        topic.topic_id if version >= _FIRST_WITH_IDS else b"",
        _ERROR.pack(topic.error),
        _text(said_briefly(topic.error_message)),
        _NUMBERS.pack(topic.num_partitions, topic.replication_factor),
        _configs(topic.configs),
        _NO_TAGS if topic.config_error is Error.NONE else b"\1\0\2" + _ERROR.pack(topic.config_error),
    )


@lru_cache(maxsize=16)
def _configs(configs: tuple[EffectiveConfig, ...]) -> bytes:
    parts = [array_length(len(configs), is_flexible=True)]
    for config in configs:
        parts += (_text(config.name), _text(config.value), _CONFIG.pack(False, config.source, False))
    return b"".join(parts)


def _text(value: str | None) -> bytes:
    return text_bytes(value, is_flexible=True)
