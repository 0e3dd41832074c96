"""Fetch and FetchSnapshot of brokers and controllers that follow the log by Kafka's protocol.

Decides: how long a Fetch is held while no leader is known. A broker that gets "no leader" retries without any pause,
thousands of times a second, while the controllers need the CPU for their election. So its Fetch waits here until a
leader is known, for a second at most: the broker gives up after two. A voter's Fetch waits a tenth of that, since a
Kafka controller sends its Vote requests on the same connection, behind its Fetch. A broker before 3.7 takes the voters'
endpoints from its configuration: its response names the leader without an endpoint. Must not know: the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, cast

import msgspec

from metadata_log.voters import Endpoint
from quorum.api.calls import PeerCall, PeerResponse
from quorum.api.error_codes import Error
from quorum.api.leader_hint import NO_LEADER
from quorum.api.raft_messages import FetchRequest, FetchResponse, FetchSnapshotResponse
from quorum.server.kafka.controller_endpoints import place_of_leader
from quorum.server.kafka.exchange import Exchange, GiveUp
from quorum.server.node import Node
from quorum.transport.kafka.fetch import (
    fetch_call_from,
    fetch_refused,
    snapshot_call_from,
    snapshot_entity,
    snapshot_refused,
)
from quorum.transport.kafka.fetch_frame import PLACED_FROM, fetch_frame, unplaced_fetch_frame

_MAY_CHANGE: Final = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH, Error.UNKNOWN_LEADER_EPOCH)
_ERROR_TRANSLATION: Final = {
    Error.UNKNOWN_TOPIC_ID: Error.INVALID_REQUEST,
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.INVALID_REQUEST,
}
"""Kafka's error for a Fetch of another log (quorum/DESIGN.md 1.6)."""
_OF_THE_WHOLE: Final = (Error.INCONSISTENT_CLUSTER_ID, Error.CLUSTER_AUTHORIZATION_FAILED, *_ERROR_TRANSLATION)


_VOTERS_SHARE: Final = 0.1
"""The part of `held_s` for which a voter's Fetch is held."""


class Fetches:
    """The Fetch requests of one listener."""

    def __init__(self, node: Node, listener: str, held_s: float) -> None:
        """Serve `listener`; `held_s` bounds the wait of a request while no leader is known."""
        self.held_s = held_s
        self._node = node
        self._listener = listener
        self._held: dict[_Fetch, asyncio.TimerHandle] = {}

    def on_fetch(self, exchange: Exchange, node: Node) -> GiveUp | None:
        """Serve Fetch. The leader parks it for its own maximum wait; without a leader it is held here."""
        body, context = exchange.body, exchange.caller.context()
        is_read = isinstance(body, PeerCall)
        call = msgspec.structs.replace(body, context=context) if is_read else fetch_call_from(body, context)
        if call is None:
            exchange.send(lambda: fetch_refused(exchange.answers, Error.INVALID_REQUEST))
            return None
        fetch = _Fetch(self, exchange, call)
        fetch.ask(may_hold=True)
        return fetch.give_up

    def on_fetch_snapshot(self, exchange: Exchange, node: Node) -> GiveUp | None:
        """Serve FetchSnapshot: one chunk of a snapshot."""
        call, answers = snapshot_call_from(exchange.body, exchange.caller.context()), exchange.answers
        if call is None:
            exchange.send(lambda: snapshot_refused(answers, Error.UNKNOWN_TOPIC_OR_PARTITION))
            return None

        def respond(response: PeerResponse) -> None:
            answer = cast("FetchSnapshotResponse", response)
            if answer.error in _OF_THE_WHOLE:
                exchange.send(lambda: snapshot_refused(answers, answer.error))
                return
            leader = self.place_of_leader(answer)
            exchange.send(lambda: snapshot_entity(answers, answer, exchange.body, leader))

        request_id = node.peer_request(call, respond)
        return lambda: node.peer_gone(request_id)

    def on_leader(self) -> None:
        """Hand all held requests to the node again, since a leader is known."""
        held, self._held = self._held, {}
        for fetch, timer in held.items():
            timer.cancel()
            fetch.ask(may_hold=True)

    def place_of_leader(self, response: FetchResponse | FetchSnapshotResponse) -> Endpoint | None:
        """Return the endpoint of the leader that a response names, or None if it names none or has no such listener."""
        return place_of_leader(response, self._listener, self._node)

    def is_voter(self, node_id: int) -> bool:
        """Return True if that node is a voter in this node's latest voter set."""
        return any(voter.replica.node_id == node_id for voter in self._node.describe_quorum().voters)

    def ask_node(self, call: PeerCall, fetch: _Fetch) -> int:
        """Hand a Fetch to the node. Return the request's id there."""
        return self._node.peer_request(call, fetch.on_response)

    def after_turn(self, send: Callable[[], None]) -> None:
        """See `server.node.Node`."""
        self._node.after_turn(send)

    def drop(self, fetch: _Fetch, request_id: int | None) -> None:
        """Drop a request whose connection is gone, held here or parked at the node."""
        timer = self._held.pop(fetch, None)
        if timer is not None:
            timer.cancel()
        elif request_id is not None:
            self._node.peer_gone(request_id)

    def hold(self, fetch: _Fetch, for_s: float) -> None:
        """Hold a request until a leader is known, at most for `for_s`."""
        self._held[fetch] = asyncio.get_running_loop().call_later(for_s, self._let_go, fetch)

    def _let_go(self, fetch: _Fetch) -> None:
        self._held.pop(fetch, None)
        fetch.ask(may_hold=False)


class _Fetch:
    """One Fetch request, until it is answered."""

    def __init__(self, fetches: Fetches, exchange: Exchange, call: PeerCall) -> None:
        self._fetches = fetches
        self._exchange = exchange
        self._call = call
        self._request_id: int | None = None
        self._may_hold = True
        self._since_s = asyncio.get_running_loop().time()

    def ask(self, *, may_hold: bool) -> None:
        """Hand the request to the node."""
        self._may_hold = may_hold
        self._request_id = self._fetches.ask_node(self._call, self)

    def give_up(self) -> None:
        """Drop the request, since its connection is gone."""
        self._fetches.drop(self, self._request_id)
        self._request_id = None

    def _left_s(self) -> float:
        """Return the seconds for which the request may still be held."""
        held_s = self._fetches.held_s
        if self._fetches.is_voter(cast("FetchRequest", self._call.request).replica.node_id):
            held_s *= _VOTERS_SHARE
        return self._since_s + held_s - asyncio.get_running_loop().time()

    def on_response(self, response: PeerResponse) -> None:
        """Take the node's response, within its turn: send it, or hold the request if no leader is known."""
        answer, answers = cast("FetchResponse", response), self._exchange.answers
        self._request_id = None
        if answer.error in _OF_THE_WHOLE:
            error = _ERROR_TRANSLATION.get(answer.error, answer.error)
            self._exchange.send(lambda: fetch_refused(answers, error))
            return
        leader, version = self._fetches.place_of_leader(answer), self._exchange.header.version
        is_placed = version >= PLACED_FROM
        is_unknown = leader is None if is_placed else answer.leader_id == NO_LEADER
        if is_unknown and self._may_hold and answer.error in _MAY_CHANGE:
            left_s = self._left_s()
            if left_s > 0:
                self._fetches.hold(self, left_s)
                return
        if is_unknown and answer.error in _MAY_CHANGE:
            answer = msgspec.structs.replace(answer, leader_id=NO_LEADER)
        number, topic_id = self._exchange.header.correlation_id, self._call.topic_id
        make = partial(fetch_frame, number, answer, topic_id, leader)
        if not is_placed:
            make = partial(unplaced_fetch_frame, number, answer, version, topic_id)
        self._exchange.send_frame(make, soon=self._fetches.after_turn)
