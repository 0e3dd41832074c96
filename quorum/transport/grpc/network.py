"""The node's network port over gRPC: requests to other replicas and to the active controller.

Decides: which channel a request takes, and which failure a gRPC status is. Must not know: Raft, or whether to retry. A
Fetch takes a stream; all other requests are rare and take a single call.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable, Coroutine
from typing import Any, Final

import grpc
import structlog

from kraft.v1 import controller_pb2_grpc, quorum_pb2, quorum_pb2_grpc
from quorum.api.calls import PeerResponse
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    VoteRequest,
)
from quorum.api.voter_messages import ApiVersionsRequest, VoterChange
from quorum.node.core.peer_failures import NOT_SENT, FailureKind, PeerFailure
from quorum.node.core.ports import ControllerCall, OutgoingRequest, Replies
from quorum.transport.channel import grpc_address, open_channel
from quorum.transport.failures import of_call
from quorum.transport.grpc.convert import elections, voters
from quorum.transport.grpc.convert.calls import kind_of, request_to, response_from
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.grpc.convert.fetch import fetch_request_to
from quorum.transport.grpc.convert.fetch_snapshot import fetch_snapshot_request_to, fetch_snapshot_response_from
from quorum.transport.grpc.fetch_stream import FetchStream
from quorum.transport.grpc.methods import controller_method

MAX_CALLS_IN_FLIGHT: Final = 64
"""The most single calls in flight to one address; one more fails at once."""
MAX_PEERS: Final = 64
"""The most addresses with an open channel. Beyond that, the least recently used idle one is closed."""

_LOST: Final = (grpc.ChannelConnectivity.IDLE, grpc.ChannelConnectivity.TRANSIENT_FAILURE)
_LEAST_AGE_S: Final = 0.2
"""The age below which a channel is not replaced: requests go to a stopped peer many times a second."""
_NO_ADDRESS: Final = PeerFailure(kind=FailureKind.NO_ADDRESS)
_LOG = structlog.get_logger("quorum.transport")


class _Peer:
    """One address: its channel, its Fetch stream, its single calls."""

    def __init__(self, address: str, replies: Replies) -> None:
        self.address = address
        self.channel = open_channel(address)
        self.quorum: quorum_pb2_grpc.QuorumAsyncStub = quorum_pb2_grpc.QuorumStub(self.channel)
        self.controller: controller_pb2_grpc.ControllerAsyncStub = controller_pb2_grpc.ControllerStub(self.channel)
        self.fetches = FetchStream(self.quorum, address, replies, on_bad_answer=self.warn_of_answer)
        self.calls: set[asyncio.Task[None]] = set()
        self._is_named = not _is_ip_address(address.rpartition(":")[0])
        self._opened_s = asyncio.get_running_loop().time()

    @property
    def is_idle(self) -> bool:
        return not self.calls and self.fetches.is_idle

    @property
    def is_lost(self) -> bool:
        """True if the connection is gone, so that its name may have another address by now.

        The channel would try its former address first, which takes half a second if packets to it are dropped.
        """
        if not (self._is_named and self.is_idle and self.channel.get_state() in _LOST):
            return False
        return asyncio.get_running_loop().time() - self._opened_s >= _LEAST_AGE_S

    def warn_of_answer(self, why: str) -> None:
        _LOG.warning("a peer's answer cannot be understood", address=self.address, why=why)

    def start(self, call: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(call, name=f"call-{self.address}")
        self.calls.add(task)
        task.add_done_callback(self.calls.discard)

    async def close(self) -> None:
        calls = tuple(self.calls)
        for task in calls:
            task.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self.fetches.close()
        await self.channel.close(None)


class GrpcNetwork:
    """Implements `quorum.node.core.ports.Network`. All calls are made from the loop's thread; `close` ends it."""

    def __init__(self) -> None:
        self._peers: dict[str, _Peer] = {}
        self._replies: Replies | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def attach(self, replies: Replies) -> None:
        """Set the receiver of responses and failures; called once, before anything is sent."""
        self._replies = replies

    def send(self, request: OutgoingRequest) -> None:
        """Send the request. Its response or failure is reported in a later turn."""
        peer = self._peer_of(grpc_address(request.destination.endpoints))
        if peer is None or len(peer.calls) >= MAX_CALLS_IN_FLIGHT:
            self._later(self._fail, request, _NO_ADDRESS if peer is None else NOT_SENT)
        elif isinstance(request.request, FetchRequest):
            message = fetch_request_to(
                request.request,
                cluster_id=request.cluster_id,
                topic_id=request.topic_id,
                correlation_id=request.correlation,
            )
            peer.fetches.send(
                message,
                destination_id=request.destination.node_id,
                correlation=request.correlation,
                timeout_ms=request.timeout_ms,
            )
        else:
            peer.start(self._call_peer(peer, request))

    def send_to_controller(self, call: ControllerCall) -> None:
        """Send to a controller's listener. The answer, or None, is reported in a later turn."""
        peer = self._peer_of(grpc_address(call.destination.endpoints))
        if peer is None or len(peer.calls) >= MAX_CALLS_IN_FLIGHT:
            self._later(self._attached.on_controller_answer, call.correlation, None)
        else:
            peer.start(self._call_controller(peer, call))

    async def close(self) -> None:
        """Close every connection; afterwards nothing is reported."""
        peers, self._peers = tuple(self._peers.values()), {}
        await asyncio.gather(*(peer.close() for peer in peers), *self._closing)

    @property
    def _attached(self) -> Replies:
        if self._replies is None:
            raise RuntimeError("the network is not attached to a node")
        return self._replies

    def _later(self, function: Callable[..., None], *arguments: object) -> None:
        asyncio.get_running_loop().call_soon(function, *arguments)

    def _fail(self, request: OutgoingRequest, failure: PeerFailure) -> None:
        self._attached.on_peer_failure(request.destination.node_id, request.correlation, failure)

    def _peer_of(self, address: str | None) -> _Peer | None:
        if address is None:
            return None
        peer = self._peers.pop(address, None)
        if peer is not None and peer.is_lost:
            self._close(peer)
            peer = None
        if peer is None:
            self._make_room()
            peer = _Peer(address, self._attached)
        self._peers[address] = peer
        return peer

    def _make_room(self) -> None:
        if len(self._peers) < MAX_PEERS:
            return
        for address, peer in self._peers.items():
            if peer.is_idle:
                del self._peers[address]
                self._close(peer)
                return

    def _close(self, peer: _Peer) -> None:
        task = asyncio.get_running_loop().create_task(peer.close(), name=f"close-{peer.address}")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _call_peer(self, peer: _Peer, request: OutgoingRequest) -> None:
        try:
            response = await _single_call(peer.quorum, request)
        except grpc.aio.AioRpcError as error:
            self._fail(request, of_call(error, peer.address, request.timeout_ms))
        except BadMessage as bad:
            peer.warn_of_answer(f"{type(request.request).__name__}: {bad.why}")
            kind = FailureKind.BAD_RESPONSE
            self._fail(request, PeerFailure(kind=kind, address=peer.address, detail=bad.why))
        else:
            self._attached.on_peer_response(request.destination.node_id, request.correlation, response)

    async def _call_controller(self, peer: _Peer, call: ControllerCall) -> None:
        kind = kind_of(call.request)
        try:
            message = await controller_method(peer.controller, kind)(
                request_to(call.request), timeout=call.timeout_ms / 1000
            )
            answer = response_from(kind, message)
        except grpc.aio.AioRpcError:
            self._attached.on_controller_answer(call.correlation, None)
        except BadMessage as bad:
            peer.warn_of_answer(f"{type(call.request).__name__}: {bad.why}")
            self._attached.on_controller_answer(call.correlation, None)
        else:
            self._attached.on_controller_answer(call.correlation, answer)


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


async def _single_call(stub: quorum_pb2_grpc.QuorumAsyncStub, outgoing: OutgoingRequest) -> PeerResponse:
    request, timeout = outgoing.request, outgoing.timeout_ms / 1000
    cluster_id, topic_id = outgoing.cluster_id, outgoing.topic_id
    if isinstance(request, VoteRequest):
        vote = elections.vote_request_to(request, cluster_id=cluster_id, topic_id=topic_id)
        return elections.vote_response_from(await stub.Vote(vote, timeout=timeout))
    if isinstance(request, BeginQuorumEpochRequest):
        begin = elections.begin_request_to(request, cluster_id=cluster_id, topic_id=topic_id)
        return elections.begin_response_from(await stub.BeginQuorumEpoch(begin, timeout=timeout))
    if isinstance(request, EndQuorumEpochRequest):
        end = elections.end_request_to(request, cluster_id=cluster_id, topic_id=topic_id)
        return elections.end_response_from(await stub.EndQuorumEpoch(end, timeout=timeout))
    if isinstance(request, FetchSnapshotRequest):
        piece = fetch_snapshot_request_to(request, cluster_id=cluster_id, topic_id=topic_id)
        return fetch_snapshot_response_from(await stub.FetchSnapshot(piece, timeout=timeout))
    if isinstance(request, ApiVersionsRequest):
        versions = quorum_pb2.ApiVersionsRequest(cluster_id=cluster_id)
        return voters.versions_response_from(await stub.ApiVersions(versions, timeout=timeout))
    if isinstance(request, VoterChange):
        method = voters.METHODS[type(request)]
        answer = await getattr(stub, method.name)(method.to(request, cluster_id), timeout=timeout)
        return voters.change_response_from(type(request), answer)
    raise TypeError(f"{type(request).__name__} is not sent as a single call")
