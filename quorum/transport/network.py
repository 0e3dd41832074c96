"""The node's network port: gRPC to who has a GRPC listener, Kafka's protocol to everybody else.

Decides: which of the two a request takes. A voter's entry names its listeners; a leader that was learnt of by Kafka's
protocol may have told its CONTROLLER one alone. A bootstrap server and a static voter are an address without a name:
there it is looked what is spoken (`protocol_finder`). Where it is wanted, the log is fetched from a controller of ours,
which has both listeners, over a connection of its own (`log_link`). Must not know: either protocol.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER, Endpoint
from quorum.node.ports import ClientAnswer, ControllerCall, OutgoingRequest, PeerResponse, Replies
from quorum.raft.messages import FetchRequest
from quorum.transport.channel import address_of
from quorum.transport.grpc_network import MAX_PEERS, GrpcNetwork
from quorum.transport.kafka.network import KafkaNetwork
from quorum.transport.log_link import LogLink
from quorum.transport.protocol_finder import ProtocolFinder

_UNNAMED: Final = ""
_LOG: Final = structlog.get_logger("quorum.transport")


def _preferred(endpoints: tuple[Endpoint, ...]) -> Endpoint | None:
    """Where a replica is asked."""
    for name in (GRPC_LISTENER, CONTROLLER_LISTENER, _UNNAMED):
        for endpoint in endpoints:
            if endpoint.name == name:
                return endpoint
    return None


class PeerNetwork:
    """Implements `quorum.node.ports.Network`. All calls are made from the loop's thread; `close` ends it."""

    def __init__(self, *, links_logs: bool = False) -> None:
        """`links_logs`: fetch the log over connections of its own, where it can be."""
        self._links_logs = links_logs
        self._links: dict[tuple[str, int], LogLink] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._grpc = GrpcNetwork()
        self._kafka = KafkaNetwork()
        self._finder = ProtocolFinder()
        self._replies = _FailuresNoted(self._finder)

    def attach(self, replies: Replies) -> None:
        """Called once, before anything is sent: where answers and failures go."""
        self._replies.node = replies
        self._grpc.attach(self._replies)
        self._kafka.attach(self._replies)

    def send(self, request: OutgoingRequest) -> None:
        """Send; the answer or the failure is reported in a later turn."""
        at, replies = _preferred(request.destination.endpoints), self._replies
        if at is None or at.name == GRPC_LISTENER:
            if not self._is_sent_by_link(request):
                self._grpc.send(request)
            return
        if at.name == CONTROLLER_LISTENER:
            self._kafka.send(request, at)
            return
        node_id, correlation = request.destination.node_id, request.correlation
        replies.unnamed[correlation] = at
        self._finder.find(
            at,
            request.timeout_ms,
            lambda is_kafkas: self._kafka.send(request, at) if is_kafkas else self._grpc.send(request),
            lambda refused: replies.on_peer_failure(node_id, correlation, disconnected=refused),
        )

    def send_to_controller(self, call: ControllerCall) -> None:
        """Send to a controller's door; the answer, or None, is reported in a later turn."""
        at, replies = _preferred(call.destination.endpoints), self._replies
        if at is None or at.name == GRPC_LISTENER:
            self._grpc.send_to_controller(call)
            return
        if at.name == CONTROLLER_LISTENER:
            self._kafka.send_to_controller(call, at)
            return
        self._finder.find(
            at,
            call.timeout_ms,
            lambda is_kafkas: (
                self._kafka.send_to_controller(call, at) if is_kafkas else self._grpc.send_to_controller(call)
            ),
            lambda refused: replies.on_controller_answer(call.correlation, None),
        )

    async def close(self) -> None:
        """Close every connection; nothing is reported any more."""
        links, self._links = tuple(self._links.values()), {}
        await asyncio.gather(
            self._finder.close(),
            self._grpc.close(),
            self._kafka.close(),
            *(link.close() for link in links),
            *self._closing,
        )

    def _is_sent_by_link(self, request: OutgoingRequest) -> bool:
        fetch = request.request
        if not self._links_logs or not isinstance(fetch, FetchRequest):
            return False
        for at in request.destination.endpoints:
            if at.name == CONTROLLER_LISTENER:
                return self._link_to(at).send(request, fetch)
        return False

    def _link_to(self, at: Endpoint) -> LogLink:
        link = self._links.get((at.host, at.port))
        if link is None:
            self._make_room()

            def warn(why: str) -> None:
                _LOG.warning("a peer's answer cannot be understood", address=address_of(at), why=why)

            link = self._links[at.host, at.port] = LogLink(at, self._replies, self._grpc.send, warn)
        return link

    def _make_room(self) -> None:
        """Leaders were at as many addresses: the one known longest goes."""
        idle = [key for key, link in self._links.items() if link.is_idle]
        if len(self._links) >= MAX_PEERS and idle:
            task = asyncio.get_running_loop().create_task(self._links.pop(idle[0]).close(), name="close-log-link")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


class _FailuresNoted:
    """The node's `Replies`; what fails at an address without a name is looked at anew."""

    def __init__(self, finder: ProtocolFinder) -> None:
        self.node: Replies | None = None
        self.unnamed: dict[int, Endpoint] = {}
        """Where the requests went that are under way to such addresses, by correlation."""
        self._finder = finder

    @property
    def _attached(self) -> Replies:
        if self.node is None:
            raise RuntimeError("nobody is attached to the network")
        return self.node

    def on_peer_response(self, destination_id: int, correlation: int, response: PeerResponse) -> None:
        """See the port."""
        self.unnamed.pop(correlation, None)
        self._attached.on_peer_response(destination_id, correlation, response)

    def on_peer_failure(self, destination_id: int, correlation: int, *, disconnected: bool) -> None:
        """See the port."""
        at = self.unnamed.pop(correlation, None)
        if at is not None:
            self._finder.forget(at)
        self._attached.on_peer_failure(destination_id, correlation, disconnected=disconnected)

    def on_controller_answer(self, correlation: int, answer: ClientAnswer | None) -> None:
        """See the port."""
        self._attached.on_controller_answer(correlation, answer)
