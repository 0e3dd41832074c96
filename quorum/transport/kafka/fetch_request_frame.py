"""A Fetch of the metadata log as bytes, encoded and decoded by hand.

Controllers that replicate by Kafka's protocol send one for each commit, so its cost adds to the latency of each write.

Decides: the bytes of FetchRequest, versions 16 to 18, for one partition of one topic, without a fetch session.
A request of any other form is read by kio's entities (`fetch.fetch_call_from`), which take five times as long. A test
compares the two.

Source: FetchRequest.json of Kafka 4.3; KIP-482 (tags), KIP-853 (directory ids), KIP-1166 (the high watermark).
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

from metadata_log.ids import METADATA_TOPIC_ID, ZERO_DIRECTORY_ID, DirectoryId, NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset
from quorum.api.calls import PeerCall
from quorum.api.raft_messages import UNKNOWN_OFFSET, FetchRequest
from quorum.transport.kafka.fetch import TELLS_NONE, fetch_request_of
from quorum.transport.kafka.lengths import tagged_field, text_bytes, uvarint
from quorum.transport.kafka.wire import Header

_FIXED: Final = struct.Struct(">iiibiiB16sBiiqiqi")
"""Of the request: longest wait in ms, least and most bytes, isolation level, session id and epoch. One topic: its
id. One partition: index, leader epoch, offset, epoch before it, log start offset, most bytes."""
_ONE: Final = 2
"""The length of an array of one."""
_NO_SESSION: Final = 0
_WITHOUT_SESSION: Final = -1
_NO_START: Final = -1
_OFFSET: Final = struct.Struct(">q")
_REPLICA: Final = struct.Struct(">iq")
_NO_REPLICA_EPOCH: Final = -1
_DIRECTORY, _HIGH_WATERMARK = 0, 1
"""Tags of the partition."""
_DIRECTORY_FROM, _HIGH_WATERMARK_FROM = 17, 18
"""The first versions with these tags."""
_PLAIN_FROM: Final = 15
"""The first version in this form, with the replica at the end (KIP-903)."""
_CLUSTER, _REPLICA_STATE = 0, 1
"""Tags of the request."""
_MOST_TAGS: Final = 2
"""The most tags of the partition, and of the request, that are decoded here; the count is then one byte."""
_NO_TAGS: Final = b"\0"
_BEHIND_PARTITION: Final = b"\0\1\1"
"""No tags of the topic, no forgotten topics, no rack."""
_LONGEST_END: Final = 256
"""The most bytes of the request's own tags that are cached."""


def fetch_request_body(version: int, request: FetchRequest, cluster_id: str | None) -> bytes:
    """Return the request without its header."""
    tags: list[bytes] = []
    if version >= _DIRECTORY_FROM:
        tags.append(tagged_field(_DIRECTORY, request.replica.directory_id))
    if version >= _HIGH_WATERMARK_FROM and request.high_watermark != UNKNOWN_OFFSET:
        tags.append(tagged_field(_HIGH_WATERMARK, _OFFSET.pack(request.high_watermark)))
    fixed = _FIXED.pack(
        request.max_wait_ms, 0, request.max_bytes, 0, _NO_SESSION, _WITHOUT_SESSION, _ONE, METADATA_TOPIC_ID, _ONE,
        0, request.current_leader_epoch, request.fetch_offset, request.last_fetched_epoch, _NO_START, 0,
    )  # fmt: skip
    return b"".join((fixed, uvarint(len(tags)), *tags, _BEHIND_PARTITION, _end(cluster_id, request.replica.node_id)))


def plain_fetch(header: Header, data: bytes) -> PeerCall | None:
    """Return the call in a Fetch, without its context, or None if it has another form or is malformed."""
    if header.version < _PLAIN_FROM:
        return None
    try:
        return _plain_fetch(header.version, data, header.ends_at)
    except (IndexError, struct.error, UnicodeDecodeError):
        return None


def _plain_fetch(version: int, data: bytes, at: int) -> PeerCall | None:
    (
        max_wait_ms, _, max_bytes, _, _, _, topics, topic_id, partitions,
        partition, leader_epoch, fetch_offset, last_epoch, _, _,
    ) = _FIXED.unpack_from(data, at + 1)  # fmt: skip
    if data[at] or topics != _ONE or partitions != _ONE:
        return None
    at += 1 + _FIXED.size
    directory_id, told = ZERO_DIRECTORY_ID, TELLS_NONE
    count, at = data[at], at + 1
    if count > _MOST_TAGS:
        return None
    for _ in range(count):
        tag, size = data[at], data[at + 1]
        if tag == _DIRECTORY and size == len(ZERO_DIRECTORY_ID) and version >= _DIRECTORY_FROM:
            directory_id = DirectoryId(data[at + 2 : at + 2 + size])
        elif tag == _HIGH_WATERMARK and size == _OFFSET.size and version >= _HIGH_WATERMARK_FROM:
            (told,) = _OFFSET.unpack_from(data, at + 2)
        else:
            return None
        at += 2 + size
    ends_at = at + len(_BEHIND_PARTITION)
    is_plain = data.startswith(_BEHIND_PARTITION, at) and len(data) - ends_at <= _LONGEST_END
    end = _read_end(data[ends_at:]) if is_plain else None
    if end is None:
        return None
    cluster_id, node_id = end
    request = fetch_request_of(
        ReplicaKey(node_id=NodeId(node_id), directory_id=directory_id),
        Epoch(leader_epoch),
        Offset(fetch_offset),
        Epoch(last_epoch),
        max_bytes=max_bytes,
        max_wait_ms=max_wait_ms,
        told=told,
    )
    return PeerCall(request=request, cluster_id=cluster_id, topic_id=TopicId(topic_id), partition=partition)


@lru_cache(maxsize=64)
def _end(cluster_id: str | None, node_id: int) -> bytes:
    """Return the request's own tagged fields: cluster id and replica. Cached: they are equal in all requests of one
    replica."""
    tags = [] if cluster_id is None else [tagged_field(_CLUSTER, text_bytes(cluster_id, is_flexible=True))]
    tags.append(tagged_field(_REPLICA_STATE, _REPLICA.pack(node_id, _NO_REPLICA_EPOCH) + _NO_TAGS))
    return b"".join((uvarint(len(tags)), *tags))


@lru_cache(maxsize=64)
def _read_end(data: bytes) -> tuple[str | None, int] | None:
    """Return cluster id and node id, or None if the tags have another form."""
    cluster_id, node_id = None, None
    count, at = data[0], 1
    if count > _MOST_TAGS:
        return None
    for _ in range(count):
        tag, size = data[at], data[at + 1]
        value = data[at + 2 : at + 2 + size]
        if tag == _CLUSTER and 0 < size < 0x80 and value[0] == size:
            cluster_id = value[1:].decode()
        elif tag == _REPLICA_STATE and size == _REPLICA.size + 1 and value[-1:] == _NO_TAGS:
            node_id, _ = _REPLICA.unpack_from(value)
        else:
            return None
        at += 2 + size
    return None if at != len(data) or node_id is None else (cluster_id, node_id)
