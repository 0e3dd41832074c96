"""Shared parts of tests of the network between controllers: a network, requests, and a peer that sends any bytes."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.api.raft_messages import BeginQuorumEpochRequest, VoteRequest
from quorum.node.core.ports import OutgoingRequest
from quorum.raft.ready import Destination
from quorum.transport.kafka.wire import answers_of
from quorum.transport.network import PeerNetwork
from tests.support.network_replies import Replies
from tests.support.scripted_node import NODE_ID

KEY = ReplicaKey(node_id=NodeId(3), directory_id=DirectoryId(bytes([3]) * 16))
AT = (Endpoint(name="CONTROLLER", host="c7.example", port=9093),)
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
OWN_TOPIC_ID = TopicId(bytes([7]) * 16)
VOTE = VoteRequest(
    candidate=KEY,
    voter=KEY,
    candidate_epoch=Epoch(4),
    last_epoch=Epoch(3),
    last_epoch_end_offset=Offset(9),
    pre_vote=True,
)
BEGIN = BeginQuorumEpochRequest(leader_id=NodeId(3), leader_epoch=Epoch(4), voter=KEY, leader_endpoints=AT)


@asynccontextmanager
async def peer_network(among_controllers: str = "GRPC") -> AsyncIterator[tuple[PeerNetwork, Replies]]:
    network, replies = PeerNetwork(among_controllers), Replies()
    network.attach(replies)
    try:
        yield network, replies
    finally:
        await network.close()


def outgoing_to(
    port: int, correlation: int, request: Any, *, timeout_ms: int = 20_000, name: str = "CONTROLLER"
) -> OutgoingRequest:
    return OutgoingRequest(
        destination=Destination(node_id=NODE_ID, endpoints=(Endpoint(name=name, host="127.0.0.1", port=port),)),
        correlation=correlation,
        cluster_id=CLUSTER_ID,
        topic_id=OWN_TOPIC_ID,
        request=request,
        timeout_ms=timeout_ms,
    )


_VERSIONS = answers_of("api_versions", 4)


def told_versions(correlation_id: int, *keys: tuple[int, int, int], error: Error = Error.NONE) -> bytes:
    found = tuple(
        _VERSIONS.make("ApiVersion", api_key=key, min_version=first, max_version=last) for key, first, last in keys
    )
    data = _VERSIONS.frame(correlation_id, _VERSIONS.response(error_code=error, api_keys=found))
    return struct.pack(">i", len(data)) + data


ALL_VERSIONS = ((1, 4, 18), (18, 0, 4), (52, 0, 2), (53, 0, 1))


@asynccontextmanager
async def any_peer(answer: Callable[[bytes, int], bytes | None]) -> AsyncIterator[int]:
    """Serve a peer that responds to each frame (its bytes and its number) with any bytes; None ends the connection."""

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        try:
            while True:
                frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
                data = answer(frame, number)
                number += 1
                if data is None:
                    break
                writer.write(data)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def correlation_of(frame: bytes) -> int:
    return int.from_bytes(frame[4:8], "big")
