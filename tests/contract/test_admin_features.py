"""Levels of features by `quorum.client.Admin`, through the real door."""

from __future__ import annotations

import pytest

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Offset
from metadata_log.voters import GRPC_LISTENER, Endpoint
from quorum.api.brokers import UnregisterBroker
from quorum.api.error_codes import Error
from quorum.api.quorum_description import ReplicaDescription
from quorum.client import Admin, RefusedError, UnavailableError, UpgradeType
from quorum.controller.features import SUPPORTED_FEATURES
from quorum.controller.metadata_levels import level_of
from tests.support.controlled_door import Controlled, controlled
from tests.support.loop import run
from tests.support.scripted_node import ScriptedNode, served

GROUP = "group.version"


def test_levels_are_described_raised_and_lowered() -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            for broker_id in (11, 12):  # they do not support the feature
                machine.cluster.ask(UnregisterBroker(broker_id=broker_id))
            machine.cluster.settle()
            told = await admin.describe_features()
            image = machine.cluster.image
            assert told.finalized_features["metadata.version"] == image.features.metadata_version
            assert told.finalized_features_epoch == machine.cluster.next_offset - 1
            assert told.supported_features == {
                each.name: (each.min_supported_version, each.max_supported_version) for each in SUPPORTED_FEATURES
            }
            end = machine.cluster.next_offset
            await admin.update_features({GROUP: 1}, validate_only=True)
            assert machine.cluster.next_offset == end
            await admin.update_features({GROUP: 1})
            assert (await admin.describe_features()).finalized_features[GROUP] == 1
            await admin.update_features({GROUP: 0}, upgrade_type=UpgradeType.SAFE_DOWNGRADE)
            told = await admin.describe_features()
            assert GROUP not in told.finalized_features

    run(main())


def _voter(node_id: int, address: str) -> ReplicaDescription:
    host, _, port = address.rpartition(":")
    return ReplicaDescription(
        replica=ReplicaKey(node_id=NodeId(node_id)),
        log_end_offset=Offset(1),
        last_fetch_timestamp_ms=-1,
        last_caught_up_timestamp_ms=-1,
        endpoints=(Endpoint(name=GRPC_LISTENER, host=host, port=int(port)),),
    )


def test_one_controller_is_asked_whoever_leads() -> None:
    async def main() -> None:
        machine, node = Controlled(), ScriptedNode()
        node.at_once = machine.answer
        async with served(node) as address, Admin(address) as admin:
            own = (await admin.describe_features()).node_id
            node.voters = (_voter(own, address), _voter(own + 1, address))
            asked = len(machine.asked)
            told = await admin.describe_features(node_id=own)
            assert told.node_id == own
            assert len(machine.asked) == asked + 1
            with pytest.raises(UnavailableError, match=f"node {own + 1}: node {own} answers at its address, {address}"):
                await admin.describe_features(node_id=own + 1)
            with pytest.raises(UnavailableError, match="node 99: the quorum names no controller of this id"):
                await admin.describe_features(node_id=99)
            with pytest.raises(UnavailableError, match="node 11: it is a broker, and only controllers are asked"):
                await admin.describe_features(node_id=11)

    run(main())


def test_one_refused_level_changes_none() -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            end = machine.cluster.next_offset
            with pytest.raises(RefusedError, match="Broker 11 does not support this feature") as raised:
                await admin.update_features({"metadata.version": level_of(machine.cluster.image), GROUP: 1})
            assert raised.value.error is Error.INVALID_UPDATE_VERSION
            with pytest.raises(RefusedError, match="might delete metadata information"):
                await admin.update_features({"metadata.version": 22}, upgrade_type=UpgradeType.SAFE_DOWNGRADE)
            assert machine.cluster.next_offset == end

    run(main())
