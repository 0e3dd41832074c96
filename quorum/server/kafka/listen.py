"""The listener CONTROLLER: binds it, keeps its connections within their bounds, and hands requests to their APIs.

Decides: when the APIs are imported, and which closed connections are logged. Must not know: the requests.

kio takes 0.4 s and 13 MB to import. That happens before the listener is bound: during an election, an import would hold
the interpreter, and this node would answer no Vote request.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from metadata_log.voters import Endpoint
from quorum.node.config.door_limits import DoorLimits, shares_of_this_process
from quorum.node.core.ports import NodeEvent, RoleChanged
from quorum.node.process.large_requests import AT_ONCE_BYTES, Done, LargeRequests
from quorum.node.process.listeners import cannot_listen
from quorum.node.process.refusals import Refusals
from quorum.server.kafka.bounds import Bounds, Limits, limits_of
from quorum.server.kafka.connection import Connection
from quorum.server.kafka.exchange import GiveUp
from quorum.server.node import ClientIdentity, Node
from quorum.transport.misdirected import refusal

if TYPE_CHECKING:
    from quorum.server.kafka.apis import Apis

_BACKLOG: Final = 1024
_AMONG_CONTROLLERS: Final = frozenset(key.to_bytes(2, "big") for key in (1, 52, 53, 54, 59))
"""The first bytes of Fetch, Vote, BeginQuorumEpoch, EndQuorumEpoch and FetchSnapshot, which never wait for a round."""


class LeaderWatcher:
    """Notifies the listeners once a leader is known. A `ports.Watcher`."""

    def __init__(self) -> None:
        self.doors: list[KafkaListener] = []

    def on_event(self, event: NodeEvent) -> None:
        """See `ports.Watcher`."""
        if isinstance(event, RoleChanged) and event.leader_id is not None:
            for door in self.doors:
                door.on_leader()


class KafkaListener:
    """One bound listener."""

    def __init__(
        self,
        listener: Endpoint,
        node: Node,
        refusal: str,
        bounds: Bounds,
        apis: Apis,
        refusals: Refusals,
        large: LargeRequests,
    ) -> None:
        self.listener = listener.name
        self.refusal = refusal
        self._node = node
        self._bounds = bounds
        self.refusals: Final = refusals
        self._loop = asyncio.get_running_loop()
        self._apis = apis
        self._large = large
        self._rounds = large.rounds
        self._server: asyncio.Server
        self._sweeping: asyncio.TimerHandle

    async def start(self, endpoint: Endpoint) -> None:
        """Bind the listener.

        Raises:
            ListenError: the address is in use, or is not an address of this host.
        """
        try:
            self._server = await self._loop.create_server(
                self._connect, endpoint.host or None, endpoint.port, backlog=_BACKLOG
            )
        except OSError as error:
            raise cannot_listen(endpoint, error) from error
        self._sweep()

    def caller(self, host: str) -> ClientIdentity:
        """Return the identity of a client at that address, before its first request."""
        return ClientIdentity(host=host, listener=self.listener, authorizer=self._node.authorizer)

    @property
    def port(self) -> int:
        """The port of the bound listener."""
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._bounds.open)

    @property
    def received_bytes(self) -> int:
        """The bytes of all waiting requests, complete or not."""
        return self._bounds.received_bytes

    @property
    def unsent_bytes(self) -> int:
        """The bytes of all responses that their clients have not read yet."""
        return self._bounds.unsent_bytes

    async def close(self) -> None:
        """Release the port, and close all connections."""
        self._sweeping.cancel()
        self._server.close()
        for holder in tuple(self._bounds.open):
            if isinstance(holder, Connection):
                holder.close()
        await self._server.wait_closed()

    def serve(self, connection: Connection, caller: ClientIdentity, frame: bytes) -> GiveUp | None:
        """Serve a request, or close its connection. Return the function to call if the connection closes first."""
        size = len(frame)
        if size <= AT_ONCE_BYTES:
            if self._rounds.admits(size) or frame[:2] in _AMONG_CONTROLLERS:
                return self._apis.serve(connection, caller, frame)
            later = partial(self._serve_later, connection, caller, frame)
            return self._rounds.add(caller.host, size, later, partial(connection.fail, reason="limit"))
        serve = partial(self._serve_large, connection, caller, frame)
        return self._large.add(caller.host, size, serve, partial(connection.fail, reason="limit"))

    def on_leader(self) -> None:
        """Resume the requests that wait for a leader, after this turn."""
        self._loop.call_soon(self._apis.on_leader)

    def on_refused(self, host: str, why: str, reason: str) -> None:
        """Count and log that this side closed a connection."""
        self.refusals.closed(self.listener, reason, host, why)

    def _serve_large(self, connection: Connection, caller: ClientIdentity, frame: bytes, done: Done) -> GiveUp | None:
        connection.when_over(done)
        return self._serve_later(connection, caller, frame)

    def _serve_later(self, connection: Connection, caller: ClientIdentity, frame: bytes) -> GiveUp | None:
        is_served = False
        try:
            give_up = self._apis.serve(connection, caller, frame)
            is_served = True
        finally:
            if not is_served:  # a bug in this software: the loop logs the exception
                connection.fail("its request could not be taken", "error")
        return give_up

    def _connect(self) -> Connection:
        return Connection(self, self._bounds)

    def _sweep(self) -> None:
        self._bounds.sweep(self._loop.time())
        self._sweeping = self._loop.call_later(self._bounds.limits.sweep_s, self._sweep)


async def listen_kafka(
    endpoint: Endpoint,
    node: Node,
    node_id: int,
    grpc_endpoint: Endpoint,
    limits: Limits | None = None,
    refusals: Refusals | None = None,
    large: LargeRequests | None = None,
) -> KafkaListener:
    """Bind a listener of Kafka's protocol and serve. A gRPC client that connects is referred to `grpc_endpoint`.

    Raises:
        ListenError: the address is in use, or is not an address of this host.
    """
    from quorum.server.kafka.apis import Apis, load_newest  # noqa: PLC0415  (imports kio, which takes 0.4 s)

    load_newest()
    limits = limits or limits_of(DoorLimits(), shares_of_this_process())
    refusals = refusals or Refusals(node_id)
    apis = Apis(node, endpoint.name, limits.held_s, refusals)
    said = refusal(endpoint.name, node_id, grpc_endpoint)
    door = KafkaListener(endpoint, node, said, Bounds(limits), apis, refusals, large or LargeRequests())
    await door.start(endpoint)
    return door
