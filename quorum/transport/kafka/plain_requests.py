"""The most frequent requests, decoded by hand in their most frequent form.

Decides: which requests they are, and which form counts as plain. kio's entities (`wire.read_request`) read any other
form and report malformed ones. They take several times as long; a test compares the two. Must not know: which code
handles them.

Source: CreateTopicsRequest.json and AllocateProducerIdsRequest.json of Kafka 4.3; KIP-482 (compact lengths).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from quorum.api.producer_ids import AllocateProducerIds
from quorum.api.topics import CreatableTopic, CreateTopics
from quorum.transport.kafka.create_topics_frame import FIRST_WITH_CONFIGS
from quorum.transport.kafka.fetch_request_frame import plain_fetch
from quorum.transport.kafka.reader import BadFrame, Cursor
from quorum.transport.kafka.wire import Header

_FIRST_FLEXIBLE: Final = 5
_NUMBERS: Final = struct.Struct(">ih3s")
"""The numbers of partitions and replicas of a topic, and the three bytes behind them."""
_NOTHING_ELSE: Final = b"\1\1\0"
"""No assignments, no configs, no tags."""
_END: Final = struct.Struct(">iBB")
"""The timeout in ms, validate-only, and no tags."""
_ONE_BYTE: Final = 0x80
"""The first length that needs more than one byte."""
_BROKER: Final = struct.Struct(">BiqB")
"""The header's tags, a broker's id and epoch, no tags."""


def plain_request(header: Header, data: bytes) -> Any | None:
    """Return the request in the controller's terms (a Fetch as a replica's call), or None if it is not plain."""
    read = _PLAIN.get(header.key)
    return None if read is None else read(header, data)


def _create_topics(header: Header, data: bytes) -> CreateTopics | None:
    if header.version < _FIRST_FLEXIBLE:
        return None
    cursor = Cursor(data, header.ends_at)
    try:
        if not cursor.passes_zero():
            return None
        elements = cursor.elements(cursor.uvarint() - 1)
        at = cursor.at
        topics = []
        for _ in elements:
            ends_at = at + data[at]
            name = data[at + 1 : ends_at]
            partitions, replicas, rest = _NUMBERS.unpack_from(data, ends_at)
            if rest != _NOTHING_ELSE or not 0 < data[at] < _ONE_BYTE:
                return None
            topics.append(CreatableTopic(name=name.decode(), num_partitions=partitions, replication_factor=replicas))
            at = ends_at + _NUMBERS.size
        timeout_ms, is_checked, tags = _END.unpack_from(data, at)
    except (BadFrame, IndexError, struct.error, UnicodeDecodeError):
        return None
    if tags or is_checked > 1 or at + _END.size != len(data):
        return None
    return CreateTopics(
        topics=tuple(topics),
        timeout_ms=timeout_ms,
        validate_only=bool(is_checked),
        wants_configs=header.version >= FIRST_WITH_CONFIGS,
    )


def _allocate_producer_ids(header: Header, data: bytes) -> AllocateProducerIds | None:
    if len(data) - header.ends_at != _BROKER.size:
        return None
    header_tags, broker_id, broker_epoch, tags = _BROKER.unpack_from(data, header.ends_at)
    return None if header_tags or tags else AllocateProducerIds(broker_id=broker_id, broker_epoch=broker_epoch)


_PLAIN: Final[dict[int, Callable[[Header, bytes], Any | None]]] = {
    1: plain_fetch,
    19: _create_topics,
    67: _allocate_producer_ids,
}
