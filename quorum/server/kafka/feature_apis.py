"""The APIs of feature levels and registrations: UpdateFeatures, UnregisterBroker, UnregisterController.

Decides: the order of an UpdateFeatures that includes kraft.version, which Raft writes. Sources: KIP-584, KIP-778,
KIP-853, KIP-1022; KIP-631; KIP-1312.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec

from metadata_log.image.features import KRAFT_VERSION
from quorum.api.brokers import UnregisterBroker
from quorum.api.calls import ClientAnswer, ClientCall, PeerCall, PeerResponse
from quorum.api.controllers import UnregisterController
from quorum.api.error_codes import Error
from quorum.api.features import FeatureUpdate, UpdateFeatures, UpdateFeaturesResponse, UpgradeType
from quorum.api.voter_messages import UpgradeKRaftVersionRequest, UpgradeKRaftVersionResponse
from quorum.server.kafka.exchange import Exchange, ask_controller
from quorum.server.node import Node, timeout_of
from quorum.transport.kafka.wire import Answers, milliseconds

_LAST_WITH_RESULTS: Final = 1


def on_update_features(exchange: Exchange, node: Node) -> None:
    """Serve UpdateFeatures."""
    body = exchange.body
    request = UpdateFeatures(
        updates=tuple(
            FeatureUpdate(name=each.feature, level=each.max_version_level, upgrade_type=_upgrade_type(each))
            for each in body.feature_updates
        ),
        validate_only=getattr(body, "validate_only", False),
        timeout_ms=milliseconds(body.timeout),
    )
    if any(update.name == KRAFT_VERSION for update in request.updates):
        _WithKRaftVersion(exchange, node, request).begin()
    else:
        ask_controller(exchange, node, request, lambda answers, said: _updated_entity(answers, exchange, said))


def _upgrade_type(update: Any) -> int:
    """Return the upgrade type. Version 0 has the flag `allow_downgrade` instead."""
    if hasattr(update, "upgrade_type"):
        return int(update.upgrade_type)
    return UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else UpgradeType.UPGRADE


def _updated_entity(answers: Answers, exchange: Exchange, said: UpdateFeaturesResponse) -> Any:
    results: tuple[Any, ...] = ()
    if exchange.header.version <= _LAST_WITH_RESULTS and said.error is Error.NONE:
        results = tuple(
            answers.make("UpdatableFeatureResult", feature=each.feature, error_code=Error.NONE, error_message=None)
            for each in exchange.body.feature_updates
        )
    return answers.response(error_code=said.error, error_message=said.error_message, results=results)


class _WithKRaftVersion:
    """An UpdateFeatures request that includes kraft.version, in three steps, each in a separate turn.

    All levels are validated first, since kraft.version cannot be lowered again. Then Raft raises kraft.version. The
    other levels follow.
    """

    def __init__(self, exchange: Exchange, node: Node, request: UpdateFeatures) -> None:
        self._exchange = exchange
        self._node = node
        self._request = request
        self._level = [update.level for update in request.updates if update.name == KRAFT_VERSION][-1]
        self._others = tuple(update for update in request.updates if update.name != KRAFT_VERSION)

    def begin(self) -> None:
        """Validate all levels, then take the other steps."""
        self._ask(msgspec.structs.replace(self._request, validate_only=True), self._raise)

    def _raise(self) -> None:
        request = UpgradeKRaftVersionRequest(kraft_version=self._level, validate_only=self._request.validate_only)

        def respond(response: PeerResponse) -> None:
            if not isinstance(response, UpgradeKRaftVersionResponse):
                raise TypeError(f"the node answered with {type(response).__name__} to {type(request).__name__}")
            if response.error is Error.NONE:
                self._soon(self._update_others)
                return
            lost = response.error is Error.NOT_LEADER_OR_FOLLOWER
            self._answer(Error.NOT_CONTROLLER if lost else response.error, response.error_message)

        call = PeerCall(request=request, cluster_id=None, context=self._exchange.caller.context())
        self._node.peer_request(call, respond)

    def _update_others(self) -> None:
        if self._others and not self._request.validate_only:
            self._ask(msgspec.structs.replace(self._request, updates=self._others), self._done)
        else:
            self._done()

    def _done(self) -> None:
        self._answer(Error.NONE, None)

    def _ask(self, request: UpdateFeatures, proceed: Callable[[], None]) -> None:
        def respond(answer: ClientAnswer[UpdateFeaturesResponse]) -> None:
            response = answer.response or request.rejected(answer.error, answer.message)
            if response.error is Error.NONE:
                self._soon(proceed)
            else:
                self._answer(response.error, response.error_message)

        context = self._exchange.caller.context(self._node.now_ms(), timeout_of(request, 0))
        self._node.client_request(ClientCall(request=request, context=context, respond=respond))

    def _soon(self, proceed: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_soon(proceed)

    def _answer(self, error: Error, message: str | None) -> None:
        said = self._request.rejected(error, message)
        self._exchange.send(lambda: _updated_entity(self._exchange.answers, self._exchange, said), error)


def on_unregister_broker(exchange: Exchange, node: Node) -> None:
    """Serve UnregisterBroker."""
    ask_controller(
        exchange,
        node,
        UnregisterBroker(broker_id=exchange.body.broker_id),
        lambda answers, said: answers.response(error_code=said.error, error_message=said.error_message),
    )


def on_unregister_controller(exchange: Exchange, node: Node) -> None:
    """Serve UnregisterController."""
    ask_controller(
        exchange,
        node,
        UnregisterController(controller_id=exchange.body.controller_id),
        lambda answers, said: answers.response(error_code=said.error, error_message=said.error_message),
    )
