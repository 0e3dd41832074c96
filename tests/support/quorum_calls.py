"""Requests and responses between members of a quorum, for the tests of the listeners and of the network."""

from __future__ import annotations

from kraft.v1 import quorum_pb2
from metadata_log.ids import METADATA_TOPIC_ID, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from quorum.api.raft_messages import FetchRequest, FetchResponse
from quorum.transport.grpc.convert.fetch import fetch_request_to
from tests.support.scripted_node import NODE_ID

KEY = ReplicaKey(node_id=NodeId(2))


def fetch(offset: int = 0) -> FetchRequest:
    return FetchRequest(
        replica=KEY,
        current_leader_epoch=Epoch(3),
        fetch_offset=Offset(offset),
        last_fetched_epoch=Epoch(0),
        max_bytes=1 << 20,
        max_wait_ms=500,
    )


def fetch_message(correlation_id: int, offset: int = 0) -> quorum_pb2.FetchRequest:
    return fetch_request_to(
        fetch(offset), cluster_id="scripted", topic_id=METADATA_TOPIC_ID, correlation_id=correlation_id
    )


def fetched(high_watermark: int) -> FetchResponse:
    return FetchResponse(leader_epoch=Epoch(3), leader_id=NodeId(NODE_ID), high_watermark=Offset(high_watermark))
