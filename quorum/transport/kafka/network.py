"""The outgoing side over Kafka's protocol: requests to Java controllers, or to this software's CONTROLLER listeners.

Decides: which connection a request takes, and the name of the leader's endpoint in a response. A peer has three
connections: for Fetches, which the peer may park, for elections, and for reconfigurations. A Kafka node handles one
request of a connection at a time. Must not know: Raft, or whether to retry.

kio is imported with the first request, or by `load`. A controller with a Kafka listener has it by then. A broker agent
needs it only in a quorum of Kafka controllers, where the import blocks it once for 0.4 s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from metadata_log.voters import CONTROLLER_LISTENER, Endpoint
from quorum.api.calls import ClientAnswer, PeerRequest, PeerResponse, RegistrationAnswer
from quorum.api.controllers import RegisterController
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    VoteRequest,
)
from quorum.node.core.peer_failures import PeerFailure
from quorum.node.core.ports import ControllerCall, OutgoingRequest, Replies
from quorum.transport.channel import address_of

if TYPE_CHECKING:
    from quorum.transport.kafka.link import Link, Pending

MAX_PEERS: Final = 64
"""The most addresses with connections. Beyond that, the least recently used idle one is closed."""
_FETCHES, _ELECTIONS, _CHANGES = range(3)
_LANES: Final = {
    FetchRequest: _FETCHES,
    FetchSnapshotRequest: _FETCHES,
    VoteRequest: _ELECTIONS,
    BeginQuorumEpochRequest: _ELECTIONS,
    EndQuorumEpochRequest: _ELECTIONS,
}
_LOG = structlog.get_logger("quorum.transport")


class _Peer:
    """One address and its connections."""

    def __init__(self, at: Endpoint) -> None:
        from quorum.transport.kafka.link import Link  # noqa: PLC0415  (kio)

        self._address = address_of(at)
        self.lanes: tuple[Link, ...] = tuple(Link(at.host, at.port, self._warn) for _ in range(3))

    @property
    def is_idle(self) -> bool:
        return all(lane.is_idle for lane in self.lanes)

    def _warn(self, why: str) -> None:
        _LOG.warning("a peer's answer cannot be understood", address=self._address, why=why)

    async def close(self) -> None:
        for lane in self.lanes:
            await lane.close()


class KafkaNetwork:
    """As `quorum.node.core.ports.Network`, to one endpoint. Loop thread only; `close` ends it."""

    def __init__(self, listener: str = CONTROLLER_LISTENER) -> None:
        """`listener`: the name of the peers' listener for this protocol, used if an address has no name."""
        self._listener = listener
        self._peers: dict[tuple[str, int], _Peer] = {}
        self._replies: Replies | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def attach(self, replies: Replies) -> None:
        """Set the receiver of responses and failures; called once, before anything is sent."""
        self._replies = replies

    def load(self) -> None:
        """Import kio now, because elections will use this protocol: the import would delay a vote."""
        from quorum.transport.kafka import link  # noqa: F401, PLC0415  (kio)

    def send(self, outgoing: OutgoingRequest, at: Endpoint) -> None:
        """Send to that endpoint. The response or failure is reported in a later turn."""
        replies, node_id, correlation = self._attached, outgoing.destination.node_id, outgoing.correlation
        listener = at.name or self._listener

        def on_answer(response: PeerResponse | RegistrationAnswer) -> None:
            if isinstance(response, ClientAnswer):
                raise TypeError("a replica answers as a controller does")
            replies.on_peer_response(node_id, correlation, _named(response, listener))

        def on_failure(failure: PeerFailure) -> None:
            replies.on_peer_failure(node_id, correlation, failure)

        pending = _pending(outgoing.request, outgoing.cluster_id, outgoing.timeout_ms, on_answer, on_failure)
        lane = _LANES.get(type(outgoing.request), _CHANGES)
        link = self._peer_of(at).lanes[lane]
        if lane == _FETCHES:
            link.replace(pending)
        else:
            link.send(pending)

    def send_to_controller(self, call: ControllerCall, at: Endpoint) -> None:
        """Send to the controller at that endpoint. The answer, or None, is reported in a later turn."""
        replies, correlation = self._attached, call.correlation

        def on_answer(answer: PeerResponse | RegistrationAnswer) -> None:
            replies.on_controller_answer(correlation, answer if isinstance(answer, ClientAnswer) else None)

        def on_failure(failure: PeerFailure) -> None:
            replies.on_controller_answer(correlation, None)

        pending = _pending(call.request, None, call.timeout_ms, on_answer, on_failure)
        self._peer_of(at).lanes[_CHANGES].send(pending)

    async def close(self) -> None:
        """Close every connection; afterwards nothing is reported."""
        peers, self._peers = tuple(self._peers.values()), {}
        await asyncio.gather(*(peer.close() for peer in peers), *self._closing)

    @property
    def _attached(self) -> Replies:
        if self._replies is None:
            raise RuntimeError("the network is not attached to a node")
        return self._replies

    def _peer_of(self, at: Endpoint) -> _Peer:
        key = (at.host, at.port)
        peer = self._peers.pop(key, None)
        if peer is None:
            self._make_room()
            peer = _Peer(at)
        self._peers[key] = peer
        return peer

    def _make_room(self) -> None:
        if len(self._peers) < MAX_PEERS:
            return
        for key, peer in self._peers.items():
            if peer.is_idle:
                del self._peers[key]
                task = asyncio.get_running_loop().create_task(peer.close(), name=f"close-{key[0]}:{key[1]}")
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
                return


def _named(response: PeerResponse, listener: str) -> PeerResponse:
    """Return the response with its leader at the name of the listener that was used; the protocol carries no name."""
    endpoints = response.leader_endpoints
    if all(at.name == listener for at in endpoints):
        return response
    named = tuple(msgspec.structs.replace(at, name=listener) for at in endpoints)
    return msgspec.structs.replace(response, leader_endpoints=named)


def _pending(
    request: PeerRequest | RegisterController,
    cluster_id: str | None,
    timeout_ms: int,
    on_answer: Callable[[PeerResponse | RegistrationAnswer], None],
    on_failure: Callable[[PeerFailure], None],
) -> Pending:
    from quorum.transport.kafka.link import Pending  # noqa: PLC0415  (kio)

    return Pending(request, cluster_id=cluster_id, timeout_ms=timeout_ms, on_answer=on_answer, on_failure=on_failure)
