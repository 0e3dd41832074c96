"""Administrators' requests at the Kafka listener: the cluster's levels and members."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from metadata_log.offsets import Epoch
from quorum.api.brokers import UnregisterBroker, UnregisterBrokerResponse
from quorum.api.calls import ClientAnswer
from quorum.api.controllers import UnregisterController, UnregisterControllerResponse
from quorum.api.error_codes import Error
from quorum.api.features import FeatureUpdate, UpdateFeatures, UpdateFeaturesResponse, UpgradeType
from quorum.api.voter_messages import UpgradeKRaftVersionRequest, UpgradeKRaftVersionResponse
from quorum.transport.kafka.wire import questions_of
from tests.support.kafka_exchange import exchange
from tests.support.kafka_requests import unregister_broker, unregister_controller, update_features
from tests.support.kafka_wire import connected, kafka_door, requests_of
from tests.support.loop import run
from tests.support.scripted_node import ScriptedNode

DONE = ClientAnswer(response=UpdateFeaturesResponse())


class TestUpdateFeatures:
    @pytest.mark.parametrize("version", range(3))
    def test_each_field(self, version: int) -> None:
        call, said = exchange(update_features(version), DONE)
        down = UpgradeType.SAFE_DOWNGRADE if version == 0 else UpgradeType.UNSAFE_DOWNGRADE
        assert call.request == UpdateFeatures(
            updates=(
                FeatureUpdate(name="metadata.version", level=30, upgrade_type=UpgradeType.UPGRADE),
                FeatureUpdate(name="group.version", level=0, upgrade_type=down),
            ),
            validate_only=version > 0,
            timeout_ms=5000,
        )
        assert (said.error_code.value, said.error_message) == (0, None)
        if version < 2:
            told = [(each.feature, each.error_code.value) for each in said.results]
            assert told == [("metadata.version", 0), ("group.version", 0)]

    @pytest.mark.parametrize("version", range(3))
    def test_a_refusal_stands_at_the_top(self, version: int) -> None:
        refused = UpdateFeaturesResponse(error=Error.INVALID_UPDATE_VERSION, error_message="why")
        _, said = exchange(update_features(version), ClientAnswer(response=refused))
        assert (said.error_code.value, said.error_message) == (95, "why")
        assert getattr(said, "results", ()) == ()


def _features(*levels: tuple[str, int], validate_only: bool = False) -> Any:
    module = requests_of(57, 2)
    updates = tuple(
        module.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=1) for name, level in levels
    )
    return module.UpdateFeaturesRequest(feature_updates=updates, validate_only=validate_only)


def _asked(
    request: Any, at_once: Callable[[Any], ClientAnswer], raised: Error = Error.NONE
) -> tuple[list[UpdateFeatures], list[UpgradeKRaftVersionRequest], Any]:
    """Return the controller's requests, Raft's requests, and the response."""
    node = ScriptedNode()
    node.at_once = at_once
    upgrades: list[UpgradeKRaftVersionRequest] = []

    async def main() -> Any:
        async with kafka_door(node) as door, connected(door.port) as client:
            answer = asyncio.create_task(client.ask(request))
            while not answer.done():
                for request_id, (call, _) in list(node.peers.items()):
                    assert isinstance(call.request, UpgradeKRaftVersionRequest)
                    upgrades.append(call.request)
                    message = None if raised is Error.NONE else "because"
                    node.answer_peer(
                        request_id,
                        UpgradeKRaftVersionResponse(error=raised, error_message=message, leader_epoch=Epoch(3)),
                    )
                await asyncio.sleep(0)
            return await answer

    said = run(main())
    return [call.request for call in node.calls], upgrades, said  # type: ignore[misc]


class TestKRaftVersion:
    def test_all_is_checked_then_raft_raises_it_then_the_rest_follows(self) -> None:
        request = _features(("kraft.version", 1), ("group.version", 1))
        calls, upgrades, said = _asked(request, lambda call: DONE)
        assert [(len(call.updates), call.validate_only) for call in calls] == [(2, True), (1, False)]
        assert calls[1].updates[0].name == "group.version"
        assert upgrades == [UpgradeKRaftVersionRequest(kraft_version=1)]
        assert said.error_code.value == 0

    def test_alone_it_is_raised_and_nothing_follows(self) -> None:
        calls, upgrades, said = _asked(_features(("kraft.version", 1)), lambda call: DONE)
        assert (len(calls), len(upgrades), said.error_code.value) == (1, 1, 0)

    def test_validate_only_asks_raft_too(self) -> None:
        request = _features(("kraft.version", 1), ("group.version", 1), validate_only=True)
        calls, upgrades, said = _asked(request, lambda call: DONE)
        assert [call.validate_only for call in calls] == [True]
        assert upgrades == [UpgradeKRaftVersionRequest(kraft_version=1, validate_only=True)]
        assert said.error_code.value == 0

    def test_what_the_controller_refuses_never_reaches_raft(self) -> None:
        refused = UpdateFeaturesResponse(error=Error.INVALID_UPDATE_VERSION, error_message="why")
        _, upgrades, said = _asked(_features(("kraft.version", 2)), lambda call: ClientAnswer(response=refused))
        assert (upgrades, said.error_code.value, said.error_message) == ([], 95, "why")
        lost = ClientAnswer(error=Error.NOT_CONTROLLER, message="elsewhere")
        _, upgrades, said = _asked(_features(("kraft.version", 1)), lambda call: lost)
        assert (upgrades, said.error_code.value) == ([], 41)

    @pytest.mark.parametrize(
        ("error", "told"),
        [(Error.INVALID_UPDATE_VERSION, 95), (Error.NOT_LEADER_OR_FOLLOWER, 41), (Error.REQUEST_TIMED_OUT, 7)],
    )
    def test_what_raft_refuses_ends_it(self, error: Error, told: int) -> None:
        request = _features(("kraft.version", 1), ("group.version", 1))
        calls, _, said = _asked(request, lambda call: DONE, error)
        assert (len(calls), said.error_code.value, said.error_message) == (1, told, "because")


class TestUnregisterBroker:
    def test_each_field(self) -> None:
        response = UnregisterBrokerResponse(error=Error.BROKER_ID_NOT_REGISTERED, error_message="why")
        call, said = exchange(unregister_broker(0), ClientAnswer(response=response))
        assert call.request == UnregisterBroker(broker_id=11)
        assert (said.error_code.value, said.error_message) == (102, "why")


class TestUnregisterController:
    def test_each_field(self) -> None:
        response = UnregisterControllerResponse(error=Error.UNSUPPORTED_VERSION, error_message="why")
        call, said = exchange(unregister_controller(0), ClientAnswer(response=response))
        assert call.request == UnregisterController(controller_id=4)
        assert (said.error_code.value, said.error_message) == (35, "why")

    def test_an_error_that_kio_does_not_know(self) -> None:
        """kio 0.6.5 cannot read it; `test_kafka_beside_kio` has Kafka's own frame of it."""
        node = ScriptedNode()
        response = UnregisterControllerResponse(error=Error.CONTROLLER_ID_NOT_REGISTERED, error_message="why")
        node.at_once = lambda call: ClientAnswer(response=response)

        async def main() -> None:
            async with kafka_door(node) as door, connected(door.port) as client:
                await client.send(unregister_controller(0))
                data = await client.frame()
            body = questions_of("unregister_controller", 94, 0).read(data)
            assert (body.error_code, body.error_message) == (136, "why")

        run(main())
