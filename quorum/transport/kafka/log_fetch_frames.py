"""The Fetch of one controller of ours from another, and the plain answer to it, as frames of Kafka's protocol.

Decides: the one layout of a request that our controllers send (Fetch, version 18), which is read back as a whole, and
which answers are plain: those that tell of nothing but records and the high watermark. Whatever looks otherwise is left
to whoever reads it in full. Must not know: connections, kio.

These two messages go to and fro with each commit: protobuf's objects and gRPC's streams cost a leader more than all of
Raft does. Tests hold both against kio's reader and writer.

Source: FetchRequest.json and FetchResponse.json of Kafka 4.3; KIP-482 (compact lengths are one more), KIP-903 (the
replica's state is a tagged field), KIP-853, KIP-1166.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import CONTROLLER_LISTENER
from quorum.controller.context import RequestContext
from quorum.node.ports import PeerCall
from quorum.raft.messages import UNKNOWN_OFFSET, FetchRequest, FetchResponse
from quorum.transport.kafka.fetch_frame import fetch_frame

MAX_FETCH_BYTES: Final = 8 << 20
"""As Kafka's controllers ask for among themselves; brokers ask for less."""
TELLS_NONE: Final = (1 << 63) - 1
"""The high watermark of a replica that has no such field."""
LENGTH_BYTES: Final = 4
_CLIENT_ID: Final = b"kraft-controller"
_KEY: Final = 1
_VERSION: Final = 18
_HEAD: Final = struct.Struct(f">ihhih{len(_CLIENT_ID)}s")
HEAD_BYTES: Final = _HEAD.size
"""So many bytes of a frame, its length among them, tell whether it may be of this layout."""

_ANSWER: Final = struct.Struct(">ixihiB16sBihqqqBi")
"""Correlation id, throttle time, error, session; one topic: its id, one partition: index, error, high watermark, last
stable offset, log start offset, aborted transactions, preferred read replica. The records follow."""
_LEADER: Final = struct.Struct(">BBBiiBB")
"""Behind the records of a plain answer: one tagged field, number 1, of 9 bytes: leader and epoch; no more of the
partition, none of the topic."""
_LEADER_BYTES: Final = 9
_ONE: Final = 2
_EMPTY: Final = 1
"""Compact lengths."""
_LONGEST_CLUSTER_ID: Final = 100


@lru_cache(maxsize=16)
def _layout(cluster_id_bytes: int) -> struct.Struct:
    """The whole request, for a cluster id of that length, which is at most 126."""
    return struct.Struct(
        f">hhih{len(_CLIENT_ID)}sB"  # the header: key, version, correlation id, client id, no tagged field
        "iiibii"  # max wait, min bytes, max bytes, isolation level, session id and epoch
        "B16sB"  # one topic: its id, one partition
        "iiqiqi"  # index, leader epoch, offset, last fetched epoch, log start offset, max bytes
        "BBB16sBBq"  # two tagged fields: 0, the directory id; 1, the high watermark
        "BBB"  # the topic has no tagged field; no forgotten topic, no rack
        f"BBBB{cluster_id_bytes}s"  # two tagged fields: 0, the cluster id
        "BBiqB"  # 1, the replica's state: its id, its epoch, no tagged field
    )


@lru_cache(maxsize=16)
def _values(cluster_id_bytes: int) -> struct.Struct:
    """Of the same, what differs between two requests: the rest is passed over."""
    return struct.Struct(f">4xi19xi4xi10x16s5xiqi15x16s2xq7x{cluster_id_bytes}s2xi9x")


def request_frame(request: FetchRequest, *, cluster_id: str, topic_id: TopicId, correlation_id: int) -> bytes:
    """The request with its length."""
    cluster = cluster_id.encode()
    layout = _layout(len(cluster))
    told = TELLS_NONE if request.high_watermark == UNKNOWN_OFFSET else request.high_watermark
    replica = request.replica
    return layout.size.to_bytes(LENGTH_BYTES, "big") + layout.pack(
        *(_KEY, _VERSION, correlation_id, len(_CLIENT_ID), _CLIENT_ID, 0),
        *(request.max_wait_ms, 0, request.max_bytes, 0, 0, -1),
        *(2, topic_id, 2),
        *(0, request.current_leader_epoch, request.fetch_offset, request.last_fetched_epoch, -1, 0),
        *(2, 0, 16, replica.directory_id, 1, 8, told),
        *(0, 1, 1),
        *(2, 0, len(cluster) + 1, len(cluster) + 1, cluster),
        *(1, 13, replica.node_id, -1, 0),
    )


def may_be_request(head: bytes) -> bool:
    """Whether a connection that begins so may be a controller's of ours; `head` has HEAD_BYTES."""
    _, key, version, _, size, client_id = _HEAD.unpack(head)
    return (key, version, size, client_id) == (_KEY, _VERSION, len(_CLIENT_ID), _CLIENT_ID)


def read_request(frame: bytes, context: RequestContext) -> tuple[int, PeerCall] | None:
    """The correlation id and what is asked; None where it is not of this layout. `frame` is without its length.

    Of this layout is what `request_frame` makes of the very values that stand in it.
    """
    size = len(frame) - _layout(0).size
    if not 0 <= size <= _LONGEST_CLUSTER_ID:
        return None
    number, max_wait_ms, max_bytes, topic_id, epoch, offset, last_epoch, directory_id, told, cluster, node_id = _values(
        size
    ).unpack(frame)
    request = FetchRequest(
        replica=ReplicaKey(node_id=node_id, directory_id=DirectoryId(directory_id)),
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        max_bytes=max_bytes,
        max_wait_ms=max_wait_ms,
        high_watermark=UNKNOWN_OFFSET if told == TELLS_NONE else told,
    )
    cluster_id, topic_id = cluster.decode("ascii", "replace"), TopicId(topic_id)
    again = request_frame(request, cluster_id=cluster_id, topic_id=topic_id, correlation_id=number)
    if again[LENGTH_BYTES:] != frame or not 0 <= max_bytes <= MAX_FETCH_BYTES or told < 0:
        return None
    return number, PeerCall(request=request, cluster_id=cluster_id, topic_id=topic_id, context=context)


def answer_frame(response: FetchResponse, topic_id: TopicId, correlation_id: int) -> bytes:
    """The answer with its length; the leader is named where it has told of its CONTROLLER listener."""
    leader = next((each for each in response.leader_endpoints if each.name == CONTROLLER_LISTENER), None)
    frame = fetch_frame(correlation_id, response, topic_id, leader)
    return len(frame).to_bytes(LENGTH_BYTES, "big") + frame


def correlation_in(frame: bytes) -> int:
    """Of an answer, without its length."""
    return int.from_bytes(frame[:4], "big", signed=True)


def read_plain_answer(frame: bytes, topic_id: TopicId) -> FetchResponse | None:
    """What is answered with records or a high watermark and nothing else; None for any other answer.

    Where the leader listens is not taken from it.
    """
    if len(frame) < _ANSWER.size:
        return None
    _, _, error, _, topics, answered_id, partitions, _, refusal, high_watermark, _, log_start, aborted, _ = (
        _ANSWER.unpack_from(frame)
    )
    if error or refusal or (topics, answered_id, partitions, aborted) != (_ONE, topic_id, _ONE, _EMPTY):
        return None
    size, at = _uvarint(frame, _ANSWER.size)
    end = at + size - 1
    if size < 1 or end + _LEADER.size > len(frame):
        return None
    tags, tag, length, leader_id, leader_epoch, more, of_topic = _LEADER.unpack_from(frame, end)
    if (tags, tag, length, more, of_topic) != (1, 1, _LEADER_BYTES, 0, 0):
        return None
    return FetchResponse(
        leader_id=NodeId(leader_id),
        leader_epoch=Epoch(leader_epoch),
        high_watermark=Offset(high_watermark),
        log_start_offset=Offset(log_start),
        records=frame[at:end],
    )


def _uvarint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned integer of at most five bytes, and where it ends; 0 where there is none."""
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            return 0, at
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    return 0, at
