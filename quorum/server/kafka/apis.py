"""All APIs of a listener: parses a request, and calls the handler of its API.

Decides: which handler an API has. A malformed request, or one of an API or version that is not offered, closes its
connection, as in Kafka. Only an ApiVersions request of an unknown version gets a response (KIP-511). Must not know:
sockets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from quorum.api.error_codes import Error
from quorum.node.process.refusals import Refusals
from quorum.server.kafka.admin_apis import ADMIN_HANDLERS
from quorum.server.kafka.api_versions import on_api_versions, unsupported_version
from quorum.server.kafka.broker_apis import (
    on_allocate_producer_ids,
    on_alter_partition,
    on_assign_replicas_to_dirs,
    on_broker_heartbeat,
    on_broker_registration,
)
from quorum.server.kafka.connection import Connection
from quorum.server.kafka.envelope import on_envelope
from quorum.server.kafka.exchange import Exchange, GiveUp, Sink
from quorum.server.kafka.feature_apis import on_unregister_broker, on_unregister_controller, on_update_features
from quorum.server.kafka.fetches import Fetches
from quorum.server.kafka.offered_versions import OFFERED
from quorum.server.kafka.old_releases import OldReleases
from quorum.server.kafka.partition_apis import (
    on_alter_partition_reassignments,
    on_elect_leaders,
    on_list_partition_reassignments,
)
from quorum.server.kafka.quorum_apis import on_describe_cluster, on_describe_quorum
from quorum.server.kafka.topic_apis import (
    on_create_partitions,
    on_create_topics,
    on_delete_topics,
)
from quorum.server.kafka.voter_apis import VOTER_HANDLERS
from quorum.server.node import ClientIdentity, Node
from quorum.transport.kafka.plain_requests import plain_request
from quorum.transport.kafka.reader import BadFrame
from quorum.transport.kafka.wire import API_VERSIONS, Header, answers_of, read_header, read_request, request_class

Handler = Callable[[Exchange, Node], GiveUp | None]

_HANDLERS: Final[dict[int, Handler]] = {
    **ADMIN_HANDLERS,
    19: on_create_topics,
    20: on_delete_topics,
    37: on_create_partitions,
    43: on_elect_leaders,
    45: on_alter_partition_reassignments,
    46: on_list_partition_reassignments,
    55: on_describe_quorum,
    56: on_alter_partition,
    57: on_update_features,
    60: on_describe_cluster,
    62: on_broker_registration,
    63: on_broker_heartbeat,
    64: on_unregister_broker,
    67: on_allocate_producer_ids,
    73: on_assign_replicas_to_dirs,
    94: on_unregister_controller,
    **VOTER_HANDLERS,
}


class Apis:
    """The APIs of one listener."""

    def __init__(self, node: Node, listener: str, held_s: float, refusals: Refusals) -> None:
        self._node = node
        self._old_releases = OldReleases(refusals)
        self._fetches = Fetches(node, listener, held_s)
        self._handlers = {
            **_HANDLERS,
            1: self._fetches.on_fetch,
            18: self._on_api_versions,
            58: self._on_envelope,
            59: self._fetches.on_fetch_snapshot,
        }

    def serve(self, connection: Connection, caller: ClientIdentity, frame: bytes) -> GiveUp | None:
        """Serve a request, or close its connection. Return the function to call if the connection closes first."""
        sink = _ToConnection(connection)
        try:
            header = read_header(frame)
            offered = OFFERED.get(header.key)
            if header.key == API_VERSIONS and offered is not None and header.version not in offered.versions:
                unsupported_version(sink, header)
                return None
            exchange = self._exchange(header, frame, caller, sink)
        except BadFrame as bad:
            connection.fail(str(bad))
            return None
        return self._handle(exchange, self._node)

    def on_leader(self) -> None:
        """Resume the Fetch requests that wait for a leader."""
        self._fetches.on_leader()

    def _on_api_versions(self, exchange: Exchange, node: Node) -> None:
        self._old_releases.note(exchange, node)
        on_api_versions(exchange, node)

    def _on_envelope(self, exchange: Exchange, node: Node) -> GiveUp | None:
        return on_envelope(exchange, node, self._exchange, self._handle)

    def _handle(self, exchange: Exchange, node: Node) -> GiveUp | None:
        return self._handlers[exchange.header.key](exchange, node)

    def _exchange(self, header: Header, frame: bytes, caller: ClientIdentity, sink: Sink) -> Exchange:
        offered = OFFERED.get(header.key)
        if offered is None:
            raise BadFrame(f"API {header.key} is not answered here")
        if header.version not in offered.versions:
            raise BadFrame(
                f"version {header.version} of {offered.name} ({header.key}) is not answered here, only "
                f"{offered.first} to {offered.last}"
            )
        plain = plain_request(header, frame)
        return Exchange(
            header=header,
            body=read_request(offered.name, header, frame) if plain is None else plain,
            caller=caller,
            answers=answers_of(offered.name, header.version),
            sink=sink,
        )


class _ToConnection:
    """Sends responses on a connection."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def answer(self, data: bytes, error: Error, throttle_ms: int) -> None:
        """See `exchange.Sink`."""
        self._connection.answer(data, throttle_ms / 1000)

    def fail(self, why: str) -> None:
        """See `exchange.Sink`."""
        self._connection.fail(why, "error")


def load_newest() -> None:
    """Import the newest version of every API, so that the first request of a current client does not wait for it."""
    for offered in OFFERED.values():
        request_class(offered.name, offered.last)
        answers_of(offered.name, offered.last)
