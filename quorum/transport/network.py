"""The node's network port over both protocols: gRPC first and Kafka's protocol otherwise, or the reverse if so
configured.

Decides: which of the two a request takes. Every listener but GRPC speaks Kafka's protocol, whatever its name. A voter's
entry names its listeners; a leader that was found by Kafka's protocol may have advertised only its Kafka listener. A
bootstrap server or static voter is an address without a name: `protocol_finder` detects its protocol. Must not know:
either protocol.
"""

from __future__ import annotations

import asyncio
from typing import Final

from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER, Endpoint
from quorum.api.calls import PeerResponse, RegistrationAnswer
from quorum.node.core.peer_failures import PeerFailure
from quorum.node.core.ports import ControllerCall, OutgoingRequest, Replies
from quorum.transport.grpc.network import GrpcNetwork
from quorum.transport.kafka.network import KafkaNetwork
from quorum.transport.protocol_finder import ProtocolFinder

_UNNAMED: Final = ""


def _first_of(names: tuple[str, ...], endpoints: tuple[Endpoint, ...]) -> Endpoint | None:
    """Return the endpoint for a request: the first of these names that there is, else any other name, else an
    unnamed one."""
    for name in names:
        for endpoint in endpoints:
            if endpoint.name == name:
                return endpoint
    return next((endpoint for endpoint in endpoints if endpoint.name != _UNNAMED), next(iter(endpoints), None))


class PeerNetwork:
    """Implements `quorum.node.core.ports.Network`. All calls are made from the loop's thread; `close` ends it."""

    def __init__(self, among_controllers: str = GRPC_LISTENER, kafka_listener: str | None = None) -> None:
        """`among_controllers`: the preferred listener of a replica that has both. `kafka_listener`: the name under
        which this quorum's controllers speak Kafka's protocol, if they do."""
        self._is_kafka_first = among_controllers != GRPC_LISTENER
        kafkas = among_controllers if self._is_kafka_first else kafka_listener or CONTROLLER_LISTENER
        self._grpc_first = (GRPC_LISTENER, kafkas)
        self._names = (kafkas, GRPC_LISTENER) if self._is_kafka_first else self._grpc_first
        self._grpc = GrpcNetwork()
        self._kafka = KafkaNetwork(kafkas)
        self._finder = ProtocolFinder()
        self._replies = _FailuresNoted(self._finder)

    def attach(self, replies: Replies) -> None:
        """Set the receiver of responses and failures; called once, before anything is sent."""
        self._replies.node = replies
        self._grpc.attach(self._replies)
        self._kafka.attach(self._replies)
        if self._is_kafka_first:
            self._kafka.load()

    def send(self, request: OutgoingRequest) -> None:
        """Send the request. Its response or failure is reported in a later turn."""
        at, replies = _first_of(self._names, request.destination.endpoints), self._replies
        if at is None or at.name == GRPC_LISTENER:
            self._grpc.send(request)
            return
        if at.name != _UNNAMED:
            self._kafka.send(request, at)
            return
        node_id, correlation = request.destination.node_id, request.correlation
        replies.unnamed[correlation] = at
        self._finder.find(
            at,
            request.timeout_ms,
            lambda is_kafkas: self._kafka.send(request, at) if is_kafkas else self._grpc.send(request),
            lambda failure: replies.on_peer_failure(node_id, correlation, failure),
        )

    def send_to_controller(self, call: ControllerCall) -> None:
        """Send to a controller's listener. The answer, or None, is reported in a later turn."""
        at, replies = _first_of(self._grpc_first, call.destination.endpoints), self._replies
        if at is None or at.name == GRPC_LISTENER:
            self._grpc.send_to_controller(call)
            return
        if at.name != _UNNAMED:
            self._kafka.send_to_controller(call, at)
            return
        self._finder.find(
            at,
            call.timeout_ms,
            lambda is_kafkas: (
                self._kafka.send_to_controller(call, at) if is_kafkas else self._grpc.send_to_controller(call)
            ),
            lambda failure: replies.on_controller_answer(call.correlation, None),
        )

    async def close(self) -> None:
        """Close every connection; afterwards nothing is reported."""
        await asyncio.gather(self._finder.close(), self._grpc.close(), self._kafka.close())


class _FailuresNoted:
    """The node's `Replies`. After a failure at an address without a name, its protocol is detected again."""

    def __init__(self, finder: ProtocolFinder) -> None:
        self.node: Replies | None = None
        self.unnamed: dict[int, Endpoint] = {}
        """The unnamed endpoints of requests under way, by correlation id."""
        self._finder = finder

    @property
    def _attached(self) -> Replies:
        if self.node is None:
            raise RuntimeError("the network is not attached to a node")
        return self.node

    def on_peer_response(self, destination_id: int, correlation: int, response: PeerResponse) -> None:
        """See the port."""
        self.unnamed.pop(correlation, None)
        self._attached.on_peer_response(destination_id, correlation, response)

    def on_peer_failure(self, destination_id: int, correlation: int, failure: PeerFailure) -> None:
        """See the port."""
        at = self.unnamed.pop(correlation, None)
        if at is not None:
            self._finder.forget(at)
        self._attached.on_peer_failure(destination_id, correlation, failure)

    def on_controller_answer(self, correlation: int, answer: RegistrationAnswer | None) -> None:
        """See the port."""
        self._attached.on_controller_answer(correlation, answer)
