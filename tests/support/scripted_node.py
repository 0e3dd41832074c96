"""A node behind the real listeners that responds when the test says so, with its requests and responses at hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from metadata_log.ids import NodeId
from metadata_log.image import MetadataImage
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.api.calls import ClientAnswer, ClientCall, PeerCall, PeerResponse
from quorum.api.quorum_description import QuorumDescription, ReplicaDescription
from quorum.controller.authorizer import Authorizer
from quorum.node.core.peer_failures import UnreachedPeer
from quorum.node.core.view import NodeView
from quorum.server.grpc.listen import listen
from tests.support.node_view import FOLLOWER

NODE_ID = 7


class ScriptedNode:
    """Implements `quorum.server.node.Node`.

    Attributes:
        calls: clients' requests, in order; respond by `calls[0].respond(...)`.
        peers: replicas' requests by id, with their callbacks, until they are dropped.
        gone: ids of the dropped ones.
        at_once: if set, returns the response to each client's request.
    """

    def __init__(self) -> None:
        self.calls: list[ClientCall] = []
        self.peers: dict[int, tuple[PeerCall, Callable[[PeerResponse], None]]] = {}
        self.gone: list[int] = []
        self.at_once: Callable[[ClientCall], ClientAnswer] | None = None
        self.failure: str | None = None
        self.node_id = NODE_ID
        self.leader_id: int | None = NODE_ID
        self.epoch = Epoch(3)
        self.high_watermark = Offset(12)
        self.voters: tuple[ReplicaDescription, ...] = ()
        self.role = "leader"
        self.unreached: tuple[UnreachedPeer, ...] = ()
        self.image = MetadataImage.empty()
        self.kraft_version = 1
        self.authorizer: Authorizer | None = None
        self._next_id = 0
        self.sent_after_turns = 0

    def peer_request(self, call: PeerCall, respond: Callable[[PeerResponse], None]) -> int:
        """See the port."""
        self._next_id += 1
        self.peers[self._next_id] = (call, respond)
        return self._next_id

    def peer_gone(self, request_id: int) -> None:
        """See the port."""
        if self.peers.pop(request_id, None) is not None:
            self.gone.append(request_id)

    def answer_peer(self, request_id: int, response: PeerResponse) -> None:
        """Respond to a replica's request."""
        _, respond = self.peers.pop(request_id)
        respond(response)

    def client_request(self, call: ClientCall) -> None:
        """See the port."""
        self.calls.append(call)
        if self.at_once is not None:
            call.respond(self.at_once(call))

    def after_turn(self, send: Callable[[], None]) -> None:
        """See the port."""
        self.sent_after_turns += 1
        asyncio.get_running_loop().call_soon(send)

    def describe_quorum(self) -> QuorumDescription:
        """See the port."""
        return QuorumDescription(
            leader_id=None if self.leader_id is None else NodeId(self.leader_id),
            leader_epoch=self.epoch,
            high_watermark=self.high_watermark,
            voters=self.voters,
            observers=(),
        )

    def now_ms(self) -> int:
        """See the port."""
        return time.monotonic_ns() // 1_000_000

    def view(self) -> NodeView:
        """See the port."""
        return msgspec.structs.replace(
            FOLLOWER,
            node_id=self.node_id,
            cluster_id="scripted",
            role=self.role,
            epoch=self.epoch,
            leader_id=self.leader_id,
            log_end_offset=Offset(12),
            flushed_offset=Offset(12),
            image=self.image,
            voter_count=1,
            active_epoch=self.epoch,
            heard_age_ms=0,
            failure=self.failure,
            unreached=self.unreached,
        )


@asynccontextmanager
async def served(node: ScriptedNode, *, port: int = 0) -> AsyncIterator[str]:
    """Serve the node's listeners on loopback; yield the address."""
    server, bound = await listen(Endpoint(name="GRPC", host="127.0.0.1", port=port), node)
    try:
        yield f"127.0.0.1:{bound}"
    finally:
        await server.stop(None)
