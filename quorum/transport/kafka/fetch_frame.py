"""The response to a Fetch, encoded by hand: every broker gets several a second, of up to a megabyte.

Decides: the bytes of FetchResponse. Versions 16 to 18 are equal. Versions 13 to 15 lack the leader's endpoint; 12 also
has the topic's name instead of its id. The writer of kio takes ten times as long, in the thread of Raft. A test
compares the two.

Source: FetchResponse.json of Kafka 4.3; KIP-482 (compact lengths are one more, tags are in order).
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

from metadata_log.ids import METADATA_TOPIC_NAME, TopicId
from metadata_log.offsets import Epoch, OffsetAndEpoch
from metadata_log.voters import Endpoint
from quorum.api.raft_messages import FetchResponse
from quorum.transport.kafka.lengths import tagged_field, text_bytes, uvarint

_HEAD: Final = struct.Struct(">ixihi")
"""Correlation id, the header's tags (none), throttle time, error, session id."""
_PARTITION: Final = struct.Struct(">ihqqq")
"""Index, error, high watermark, last stable offset, log start offset."""
_DIVERGING: Final = struct.Struct(">iq")
_LEADER: Final = struct.Struct(">ii")
_SNAPSHOT: Final = struct.Struct(">qi")
_PORT: Final = struct.Struct(">i")
_ONE: Final = b"\x02"
"""The length of an array of one."""
_EMPTY: Final = b"\x01"
_NULL: Final = b"\x00"
_NO_TAGS: Final = b"\x00"
_NO_OFFSET: Final = -1
_NO_REPLICA: Final = struct.pack(">i", -1)
_NO_LEADER: Final = -1
_TOPIC_ID_FROM: Final = 13
"""The first version that names the topic by its id."""
PLACED_FROM: Final = 16
"""The first version with the leader's endpoint (KIP-853)."""


def fetch_frame(correlation_id: int, response: FetchResponse, topic_id: TopicId, leader: Endpoint | None) -> bytes:
    """Return the response with its header, without its length. A leader without an endpoint is not named."""
    leader_id = _NO_LEADER if leader is None else response.leader_id
    return _frame(correlation_id, response, topic_id, leader_id, leader)


def unplaced_fetch_frame(correlation_id: int, response: FetchResponse, version: int, topic_id: TopicId) -> bytes:
    """Return the response in a version before 16, whose replicas know each voter's endpoint from their
    configuration."""
    topic = text_bytes(METADATA_TOPIC_NAME, is_flexible=True) if version < _TOPIC_ID_FROM else topic_id
    return _frame(correlation_id, response, topic, response.leader_id, None)


def _frame(
    correlation_id: int, response: FetchResponse, topic: bytes, leader_id: int, leader: Endpoint | None
) -> bytes:
    return b"".join(
        (
            _HEAD.pack(correlation_id, 0, 0, 0),
            _ONE,
            topic,
            _ONE,
            _PARTITION.pack(0, response.error, response.high_watermark, _NO_OFFSET, response.log_start_offset),
            _EMPTY,  # aborted transactions
            _NO_REPLICA,  # preferred read replica
            uvarint(len(response.records) + 1),
            response.records,
            _behind_records(leader_id, response.leader_epoch, leader, response.diverging, response.snapshot_id),
        )
    )


@lru_cache(maxsize=64)
def _behind_records(
    leader_id: int,
    leader_epoch: Epoch,
    leader: Endpoint | None,
    diverging: OffsetAndEpoch | None,
    snapshot_id: OffsetAndEpoch | None,
) -> bytes:
    """Return the tagged fields of partition, topic and response. Cached: they are equal in nearly all responses of
    one leader."""
    tags: list[bytes] = []
    if diverging is not None:
        tags.append(tagged_field(0, _DIVERGING.pack(diverging.epoch, diverging.offset) + _NO_TAGS))
    tags.append(tagged_field(1, _LEADER.pack(leader_id, leader_epoch) + _NO_TAGS))
    if snapshot_id is not None:
        tags.append(tagged_field(2, _SNAPSHOT.pack(snapshot_id.offset, snapshot_id.epoch) + _NO_TAGS))
    return b"".join((uvarint(len(tags)), *tags, _NO_TAGS, _nodes(leader_id, leader)))


def _nodes(leader_id: int, leader: Endpoint | None) -> bytes:
    """Return the response's own tagged fields: the leader's endpoint."""
    if leader is None:
        return _NO_TAGS
    host = text_bytes(leader.host, is_flexible=True)
    node = _PORT.pack(leader_id) + host + _PORT.pack(leader.port) + _NULL + _NO_TAGS
    return b"\x01" + tagged_field(0, _ONE + node)
