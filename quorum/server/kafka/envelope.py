"""Envelope: a client's whole request, passed on by a broker with the client's principal and address (KIP-590).

Decides: who may forward which request (a broker, by ClusterAction on the cluster), and which error is the envelope's
own. That is NOT_CONTROLLER, upon which the broker asks the next controller. Must not know: the enclosed request. The
enclosed response has the client's correlation id.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable
from typing import Final

from kio.schema.default_principal_data.v0.data import DefaultPrincipalData

from metadata_log.java_text import java_int
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.server.kafka.exchange import Exchange, GiveUp, Sink
from quorum.server.kafka.offered_versions import OFFERED
from quorum.server.node import ClientIdentity, Node
from quorum.transport.kafka.reader import BadFrame, Cursor, reader_of
from quorum.transport.kafka.wire import Header, read_header

Open = Callable[[Header, bytes, ClientIdentity, Sink], Exchange]
"""Makes an exchange from a frame, or raises BadFrame."""
_PRINCIPAL_VERSION: Final = 0
_ADDRESS_BYTES: Final = (4, 16)


class EnvelopeRejected(Exception):
    """The envelope is rejected; the error is the envelope's own."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.name)
        self.error = error


def on_envelope(
    exchange: Exchange, node: Node, open_frame: Open, serve: Callable[[Exchange, Node], GiveUp | None]
) -> GiveUp | None:
    """Serve the enclosed request as if the client had sent it here itself."""
    try:
        if authorize(exchange.caller.context(), Operation.CLUSTER_ACTION, CLUSTER, node.image) is not Error.NONE:
            raise EnvelopeRejected(Error.CLUSTER_AUTHORIZATION_FAILED)
        inner = open_frame(*_opened(exchange), _InEnvelope(exchange))
    except EnvelopeRejected as refused:
        error = refused.error
        exchange.send(lambda: exchange.answers.response(error_code=error, response_data=None))
        return None
    except BadFrame:
        exchange.send(lambda: exchange.answers.response(error_code=Error.INVALID_REQUEST, response_data=None))
        return None
    return serve(inner, node)


def _opened(exchange: Exchange) -> tuple[Header, bytes, ClientIdentity]:
    body = exchange.body
    header = read_header(body.request_data)
    offered = OFFERED.get(header.key)
    if offered is None or header.version not in offered.versions:
        raise EnvelopeRejected(Error.UNSUPPORTED_VERSION)
    if not offered.is_forwardable:
        raise EnvelopeRejected(Error.INVALID_REQUEST)
    principal = _principal(body.request_principal)
    caller = ClientIdentity(
        host=_address(body.client_host_address),
        listener=exchange.caller.listener,
        authorizer=exchange.caller.authorizer,
        principal=f"{principal.type_}:{principal.name}",
        is_token=principal.token_authenticated,
        forwarded_by=_node_id(exchange.header.client_id or ""),
    )
    return header, body.request_data, caller


def _node_id(client_id: str) -> int | None:
    """Return the id of the forwarding broker, or None if its client id is not a node id."""
    node_id = java_int(client_id, 32)
    return None if node_id is None or node_id < 0 else node_id


def _address(value: bytes) -> str:
    if len(value) not in _ADDRESS_BYTES:
        raise EnvelopeRejected(Error.INVALID_REQUEST)
    return str(ipaddress.ip_address(value))


def _principal(value: bytes | None) -> DefaultPrincipalData:
    """Return the principal from the bytes of Kafka's default serialization."""
    cursor = Cursor(value or b"")
    try:
        (version,) = struct.unpack(">h", cursor.take(2))
        if version != _PRINCIPAL_VERSION:
            raise EnvelopeRejected(Error.PRINCIPAL_DESERIALIZATION_FAILURE)
        principal: DefaultPrincipalData = reader_of(DefaultPrincipalData)(cursor)
    except BadFrame as bad:
        raise EnvelopeRejected(Error.PRINCIPAL_DESERIALIZATION_FAILURE) from bad
    return principal


class _InEnvelope:
    """Puts the response to the enclosed request into the envelope's response."""

    __slots__ = ("_outer",)

    def __init__(self, outer: Exchange) -> None:
        self._outer = outer

    def answer(self, data: bytes, error: Error, throttle_ms: int) -> None:
        """See `exchange.Sink`. The throttle time is in `data`; the broker mutes the client, and is not muted here."""
        answers = self._outer.answers
        if error is Error.NOT_CONTROLLER:
            self._outer.send(lambda: answers.response(error_code=error, response_data=None))
        else:
            self._outer.send(lambda: answers.response(error_code=Error.NONE, response_data=data))

    def fail(self, why: str) -> None:
        """See `exchange.Sink`."""
        self._outer.sink.fail(why)
