"""The APIs between controllers, in Kafka's protocol: elections, voter changes and ControllerRegistration.

Fetch and FetchSnapshot are in `fetches`. Sources: KIP-595, KIP-853, KIP-996, KIP-919.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from quorum.api.calls import PeerCall, PeerResponse
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.server.kafka.controller_endpoints import place_of_leader
from quorum.server.kafka.exchange import Exchange, GiveUp, ask_controller
from quorum.server.node import Node
from quorum.transport.kafka.elections import (
    begin_call_from,
    election_entity,
    end_call_from,
    refused_entity,
    vote_call_from,
)
from quorum.transport.kafka.voters import (
    add_call_from,
    change_entity,
    registered_entity,
    registration_from,
    remove_call_from,
    update_call_from,
    updated_entity,
)


def _ask(exchange: Exchange, node: Node, call: PeerCall, to_entity: Callable[[Any], Any]) -> GiveUp:
    """Hand a replica's request to the node; `to_entity` makes kio's entity from its response."""

    def respond(response: PeerResponse) -> None:
        exchange.send(lambda: to_entity(response), response.error)

    request_id = node.peer_request(call, respond)
    return lambda: node.peer_gone(request_id)


def _elects(call_from: Callable[[Any, RequestContext], PeerCall | None]) -> Callable[[Exchange, Node], GiveUp | None]:
    def handler(exchange: Exchange, node: Node) -> GiveUp | None:
        answers, listener = exchange.answers, exchange.caller.listener
        call = call_from(exchange.body, exchange.caller.context())
        if call is None:
            exchange.send(lambda: refused_entity(answers, Error.INVALID_REQUEST))
            return None
        return _ask(
            exchange,
            node,
            call,
            lambda response: election_entity(answers, response, place_of_leader(response, listener, node)),
        )

    return handler


def _changes(call_from: Callable[[Any, RequestContext], PeerCall]) -> Callable[[Exchange, Node], GiveUp]:
    def handler(exchange: Exchange, node: Node) -> GiveUp:
        call = call_from(exchange.body, exchange.caller.context())
        return _ask(exchange, node, call, lambda response: change_entity(exchange.answers, response))

    return handler


def on_update_raft_voter(exchange: Exchange, node: Node) -> GiveUp:
    """Serve UpdateRaftVoter: a voter reports its endpoints."""
    listener = exchange.caller.listener
    return _ask(
        exchange,
        node,
        update_call_from(exchange.body, exchange.caller.context()),
        lambda response: updated_entity(exchange.answers, response, place_of_leader(response, listener, node)),
    )


def on_controller_registration(exchange: Exchange, node: Node) -> None:
    """Serve ControllerRegistration."""
    ask_controller(exchange, node, registration_from(exchange.body), registered_entity)


VOTER_HANDLERS: Final[dict[int, Callable[[Exchange, Node], GiveUp | None]]] = {
    52: _elects(vote_call_from),
    53: _elects(begin_call_from),
    54: _elects(end_call_from),
    70: on_controller_registration,
    80: _changes(add_call_from),
    81: _changes(remove_call_from),
    82: on_update_raft_voter,
}
