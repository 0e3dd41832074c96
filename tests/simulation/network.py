"""Messages between machines: late, lost, duplicated, out of order, or blocked between cut-off machines.

Decides: when a message arrives, and how its sender learns of a failure. Must not know: its content.

As over a TCP connection: if the other process has ended but its machine lives, the sender learns it soon
(`disconnected`). If packets are lost, or the machine has no power, the sender waits for its own deadline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quorum.api.calls import ClientAnswer, ClientCall, PeerCall, PeerResponse
from quorum.api.context import RequestContext
from quorum.api.raft_messages import FetchRequest
from quorum.controller.authorizer import Authorizer
from quorum.node.core.ports import (
    ControllerAnswered,
    ControllerCall,
    OutgoingRequest,
    PeerAnswered,
    PeerFailed,
    PeerGone,
    PeerRequested,
    Replies,
)
from tests.simulation import world as w
from tests.simulation.setup import LinkManners
from tests.support.peer_failures import EXPIRED, RESET

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.cluster import Cluster
    from tests.simulation.faults_foreign import Impostor
    from tests.simulation.node import Node

_CLIENT_DEADLINE_MS: Final = 3_000


class Flight:
    """One request of a node to another, until its response or failure."""

    __slots__ = ("asked", "boot", "is_done", "node", "request", "target")

    def __init__(self, node: Node, target: Node, request: OutgoingRequest) -> None:
        self.node = node
        self.boot = node.boot
        self.target = target
        self.request = request
        self.is_done = False
        self.asked: list[tuple[int, int]] = []
        """(boot of the target, request id) of each delivery."""


class SimulatedNetwork:
    """All links. `cut` holds (from, to) pairs that are cut."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._world = cluster.world
        self.manners: LinkManners = cluster.setup.link
        self.cut: set[tuple[int, int]] = set()
        self.refused: set[tuple[int, int]] = set()
        """Pairs whose sender learns at once that the target cannot be reached."""
        self.late_us: dict[tuple[int, int], int] = {}
        """The additional delay of responses from one machine to another."""
        self.impostors: dict[int, Impostor] = {}
        """By agent: the impostor that responds in place of all controllers."""
        self._last_id = 0
        self._latest: dict[tuple[int, int, int], int] = {}

    def delay_us(self) -> int:
        """Return the time that one message is under way."""
        manners = self.manners
        return manners.least_us + self._world.up_to(manners.spread_us)

    def is_lost(self, source: int, target: int) -> bool:
        """Return True if a message sent now never arrives."""
        if (source, target) in self.cut:
            self._world.note("a message is cut off")
            return True
        drop = self.manners.drop
        if drop <= 0 or self._world.chance.random() >= drop:
            return False
        self._world.note("a message is dropped")
        return True

    # --- requests

    def send(self, node: Node, request: OutgoingRequest) -> None:
        """Send a request; one response or one failure follows."""
        target = self._cluster.by_host[request.destination.endpoints[0].host]
        flight = Flight(node, target, request)
        node.flights[request.correlation] = flight
        world = self._world
        world.after(request.timeout_ms * w.US_PER_MS, self._expire, flight)
        if type(request.request) is FetchRequest:
            self._replace_fetch(node, flight)
        if self.refused and (node.node_id, target.node_id) in self.refused:
            world.note("a connection is refused")
            world.after(self.delay_us(), self._fail, flight, True)
            return
        if self.is_lost(node.node_id, target.node_id):
            return
        world.after(self.delay_us(), self._arrive, flight)
        if self.manners.duplicate and world.chance.random() < self.manners.duplicate:
            world.note("a message comes twice")
            world.after(self.delay_us(), self._arrive, flight)

    def _replace_fetch(self, node: Node, flight: Flight) -> None:
        """Replace the first Fetch to a peer by the second; the first gets no response and no failure."""
        for other in list(node.flights.values()):
            if other is flight or other.target is not flight.target or type(other.request.request) is not FetchRequest:
                continue
            self._finish(other)
            self._withdraw(other)

    def _arrive(self, flight: Flight) -> None:
        target, node = flight.target, flight.node
        self._world.count(w.ARRIVED, target.node_id, flight.request.correlation)
        way = (node.node_id, flight.boot, target.node_id)
        if flight.request.correlation < self._latest.get(way, 0):
            self._world.note("a message overtakes another")
        else:
            self._latest[way] = flight.request.correlation
        if flight.is_done or self._is_taken_over(flight):
            return
        if not target.is_up:
            if target.is_powered and not self.is_lost(target.node_id, node.node_id):
                self._world.after(self.delay_us(), self._fail, flight, True)
            return
        self._last_id += 1
        request_id = self._last_id
        flight.asked.append((target.boot, request_id))
        target.pending[request_id] = flight
        sent = flight.request
        call = PeerCall(request=sent.request, cluster_id=sent.cluster_id, topic_id=sent.topic_id)

        def respond(response: PeerResponse) -> None:
            self._respond(flight, call, request_id, response)

        target.deliver(target.boot, PeerRequested(request_id=request_id, call=call, respond=respond))

    def _is_taken_over(self, flight: Flight) -> bool:
        impostor = self.impostors.get(flight.node.node_id)
        if impostor is None or impostor.until_us <= self._world.now_us or not flight.node.is_up:
            return False
        response = impostor.answer(flight.request)
        if response is None:
            return False
        self._world.note("another quorum answers")
        self._world.after(self.delay_us(), self._answered, flight, response)
        return True

    def _respond(self, flight: Flight, call: PeerCall, request_id: int, response: PeerResponse) -> None:
        target, node = flight.target, flight.node
        target.burn()
        self._cluster.checkers.on_answer(target, call, response)
        is_lost = self.is_lost(target.node_id, node.node_id)
        if is_lost and (target.node_id, node.node_id) in self.cut:
            return  # the connection is still there: if it breaks, the sender learns it
        target.pending.pop(request_id, None)
        if not is_lost:
            late_us = self.late_us.get((target.node_id, node.node_id), 0) if self.late_us else 0
            self._world.after(self.delay_us() + late_us, self._answered, flight, response)

    def _answered(self, flight: Flight, response: PeerResponse) -> None:
        self._world.count(w.ANSWERED, flight.node.node_id, flight.request.correlation)
        if not flight.is_done:
            self._finish(flight)
            sent = flight.request
            event = PeerAnswered(
                destination_id=sent.destination.node_id, correlation=sent.correlation, response=response
            )
            flight.node.deliver(flight.boot, event)

    def _expire(self, flight: Flight) -> None:
        if not flight.is_done:
            self._withdraw(flight)
            self._fail(flight, False)

    def _fail(self, flight: Flight, disconnected: bool) -> None:
        if flight.is_done:
            return
        self._world.count(w.FAILED, flight.node.node_id, flight.request.correlation)
        self._finish(flight)
        sent = flight.request
        event = PeerFailed(
            destination_id=sent.destination.node_id,
            correlation=sent.correlation,
            failure=RESET if disconnected else EXPIRED,
        )
        flight.node.deliver(flight.boot, event)

    def _finish(self, flight: Flight) -> None:
        flight.is_done = True
        flights = flight.node.flights
        if flights.get(flight.request.correlation) is flight:
            del flights[flight.request.correlation]

    def _withdraw(self, flight: Flight) -> None:
        """Stop waiting for a response; the target learns it, if any message passes."""
        target = flight.target
        for boot, request_id in flight.asked:
            if boot == target.boot and request_id in target.pending:
                del target.pending[request_id]
                if not self.is_lost(flight.node.node_id, target.node_id):
                    self._world.after(self.delay_us(), target.deliver, boot, PeerGone(request_id=request_id))

    def reset(self, node: Node, target: Node) -> None:
        """Break the connection from one machine to another: only the sender learns it."""
        for flight in [flight for flight in node.flights.values() if flight.target is target]:
            self._world.after(self.delay_us(), self._fail, flight, True)

    def on_end(self, node: Node, *, reset: bool) -> None:
        """End a process. With `reset` its machine lives and closes its connections."""
        for flight in list(node.flights.values()):
            self._finish(flight)
            if reset:
                self._withdraw(flight)
        pending, node.pending = node.pending, {}
        for flight in pending.values():
            if reset and not self.is_lost(node.node_id, flight.node.node_id):
                self._world.after(self.delay_us(), self._fail, flight, True)

    # --- calls of a controller's listener

    def call(
        self,
        source: int,
        target: Node,
        request: object,
        take: Callable[[ClientAnswer | None], None],
        *,
        at_least_offset: int = -1,
        timeout_ms: int = _CLIENT_DEADLINE_MS,
        authorizer: Authorizer | None = None,
    ) -> None:
        """Send a client's request; `take` gets the response, or None once at the timeout."""
        done: list[bool] = []
        world = self._world

        def finish(answer: ClientAnswer | None) -> None:
            world.count(w.CLIENT, source, target.node_id)
            if not done:
                done.append(True)
                take(answer)

        def respond(answer: ClientAnswer) -> None:
            target.burn()
            if not self.is_lost(target.node_id, source):
                world.after(self.delay_us(), finish, answer)

        def arrive() -> None:
            if not target.is_up:
                if target.is_powered:
                    world.after(self.delay_us(), finish, None)
                return
            deadline_ms = target.clock.monotonic_ms() + timeout_ms
            target.deliver(
                target.boot,
                ClientCall(
                    request=request,
                    context=RequestContext(deadline_ms=deadline_ms, authorizer=authorizer),
                    respond=respond,
                    at_least_offset=at_least_offset,  # type: ignore[arg-type]
                ),
            )

        world.after(timeout_ms * w.US_PER_MS, finish, None)
        if not self.is_lost(source, target.node_id):
            world.after(self.delay_us(), arrive)


class NodePort:
    """Implements the `Network` port for one process."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._boot = node.boot

    def attach(self, replies: Replies) -> None:
        """Connect the events for responses."""

    def send(self, request: OutgoingRequest) -> None:
        """See the port."""
        node = self._node
        node.burn()
        node.cluster.checkers.on_send(node, request)
        node.cluster.network.send(node, request)

    def send_to_controller(self, call: ControllerCall) -> None:
        """See the port."""
        node = self._node
        node.burn()

        def take(answer: ClientAnswer | None) -> None:
            node.deliver(self._boot, ControllerAnswered(correlation=call.correlation, answer=answer))

        if not call.destination.endpoints:  # no endpoint is known
            node.world.after(1, take, None)
            return
        target = node.cluster.by_host[call.destination.endpoints[0].host]
        node.cluster.network.call(node.node_id, target, call.request, take, timeout_ms=call.timeout_ms)
