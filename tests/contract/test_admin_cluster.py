"""The cluster by `quorum.client.Admin`, through the real door."""

from __future__ import annotations

import pytest

from metadata_log.ids import NodeId
from quorum.api.brokers import UnregisterBroker
from quorum.api.error_codes import Error
from quorum.client import Admin, RefusedError
from quorum.controller.authorizer import Authorizer
from tests.support.controlled_door import controlled
from tests.support.loop import run


def test_brokers_are_described_as_they_have_registered() -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            told = await admin.describe_cluster()
            assert list(told.brokers) == [11, 12]
            for broker_id, broker in told.brokers.items():
                known = machine.cluster.image.cluster.brokers[NodeId(broker_id)]
                assert (broker.broker_id, broker.broker_epoch, broker.rack) == (broker_id, known.epoch, known.rack)
                assert (broker.incarnation_id, broker.log_dirs) == (known.incarnation_id, known.directories)
                assert [(at.name, at.host, at.port) for at in broker.listeners] == [
                    (at.name, at.host, at.port) for at in known.listeners
                ]
                assert [(each.name, each.max_supported_version) for each in broker.features] == [
                    (each.name, each.max_version) for each in known.supported_features
                ]
                assert (broker.is_fenced, known.fenced) == (False, False)
            machine.cluster.beat(11, want_fence=True)
            end = machine.cluster.next_offset
            told = await admin.describe_cluster(at_least_offset=end)
            assert [broker.is_fenced for broker in told.brokers.values()] == [True, False]

    run(main())


def test_a_cluster_without_brokers() -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            for broker_id in list((await admin.describe_cluster()).brokers):
                machine.cluster.ask(UnregisterBroker(broker_id=broker_id))
            machine.cluster.settle()
            assert (await admin.describe_cluster()).brokers == {}

    run(main())


def test_who_may_not() -> None:
    async def main() -> None:
        async with controlled(Authorizer()) as (_, address), Admin(address) as admin:
            with pytest.raises(RefusedError) as raised:
                await admin.describe_cluster()
            assert raised.value.error is Error.CLUSTER_AUTHORIZATION_FAILED

    run(main())
