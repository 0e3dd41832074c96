"""A network between drivers of one process and one event loop: messages arrive at once, or never."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from quorum.api.calls import ClientAnswer, ClientCall, PeerCall, PeerResponse
from quorum.api.context import RequestContext
from quorum.node.core.ports import ControllerCall, OutgoingRequest, Replies
from quorum.node.process.driver import Driver
from tests.support.peer_failures import RESET


class Switchboard:
    """The running nodes, by node id. Destinations are found by their host, `c1`, `c2` ..."""

    def __init__(self) -> None:
        self.drivers: dict[int, Driver] = {}
        self.in_flight: dict[int, list[Callable[[], None]]] = {}

    def gone(self, node_id: int) -> None:
        """Note that the node's process has ended: clients that wait for it see a closed connection."""
        self.drivers.pop(node_id, None)
        for fail in self.in_flight.pop(node_id, []):
            fail()


class LocalNetwork:
    """One node's outgoing side."""

    def __init__(self, switchboard: Switchboard) -> None:
        self._switchboard = switchboard
        self._replies: Replies | None = None

    def attach(self, replies: Replies) -> None:
        self._replies = replies

    def send(self, request: OutgoingRequest) -> None:
        loop, replies = asyncio.get_running_loop(), self._replies
        assert replies is not None
        target_id = int(request.destination.endpoints[0].host[1:])
        target = self._switchboard.drivers.get(target_id)
        destination_id, correlation = request.destination.node_id, request.correlation
        answered: list[bool] = []

        def fail() -> None:
            if not answered:
                answered.append(True)
                loop.call_soon(lambda: replies.on_peer_failure(destination_id, correlation, RESET))

        def respond(response: PeerResponse) -> None:
            if not answered:
                answered.append(True)
                loop.call_soon(replies.on_peer_response, destination_id, correlation, response)

        if target is None:
            fail()
            return
        self._switchboard.in_flight.setdefault(target_id, []).append(fail)
        call = PeerCall(request=request.request, cluster_id=request.cluster_id, topic_id=request.topic_id)
        loop.call_soon(target.peer_request, call, respond)

    def send_to_controller(self, call: ControllerCall) -> None:
        loop, replies = asyncio.get_running_loop(), self._replies
        assert replies is not None
        target = self._switchboard.drivers.get(int(call.destination.endpoints[0].host[1:]))

        def respond(answer: ClientAnswer | None) -> None:
            loop.call_soon(replies.on_controller_answer, call.correlation, answer)

        if target is None:
            respond(None)
        else:
            target.client_request(ClientCall(request=call.request, context=RequestContext(), respond=respond))
