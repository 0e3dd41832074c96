"""Configs by `quorum.client.Admin`, through the real door."""

from __future__ import annotations

import pytest

from metadata_log.offsets import Offset
from quorum.api.brokers import UnregisterBroker
from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.described_configs import DescribeConfigs, DescribeConfigsResponse, DescribedResource, ResourceToDescribe
from quorum.api.error_codes import Error
from quorum.client import (
    Admin,
    AlterableConfig,
    Client,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    CreatableTopic,
    RefusedError,
    UnavailableError,
    UnknownTopicError,
)
from quorum.controller.config import ControllerConfig
from tests.support.controlled_door import controlled
from tests.support.loop import run
from tests.support.scripted_node import NODE_ID, ScriptedNode, served

ORDERS = ConfigResource(resource_type=ConfigResourceType.TOPIC, name="orders")
ABSENT = ConfigResource(resource_type=ConfigResourceType.TOPIC, name="absent")
ALL_BROKERS = ConfigResource(resource_type=ConfigResourceType.BROKER, name="")
RETENTION = "retention.ms"
MOST = ControllerConfig(node_id=1, cluster_id="").max_records_per_batch


def _set(name: str, value: str) -> AlterableConfig:
    return AlterableConfig(name=name, operation=ConfigOperation.SET, value=value)


def test_what_is_altered_is_described() -> None:
    async def main() -> None:
        async with controlled() as (_, address), Admin(address) as admin:
            await admin.create_topics([CreatableTopic(name="orders", num_partitions=1, replication_factor=1)])
            changes = {ORDERS: [_set(RETENTION, "1000")], ALL_BROKERS: [_set("log.retention.ms", "5000")]}
            (await admin.incremental_alter_configs(changes)).all()
            told = (await admin.describe_configs([ORDERS, ALL_BROKERS], include_synonyms=True)).all()
            assert list(told) == [ORDERS, ALL_BROKERS]
            retention = told[ORDERS].get(RETENTION)
            assert retention is not None
            assert (retention.value, retention.source) == ("1000", ConfigSource.DYNAMIC_TOPIC_CONFIG)
            assert [(each.name, each.value) for each in retention.synonyms][:2] == [
                (RETENTION, "1000"),
                ("log.retention.ms", "5000"),
            ]
            assert "log.retention.ms" in [entry.name for entry in told[ALL_BROKERS].entries]
            assert told[ORDERS].get("no.such") is None
            delete = AlterableConfig(name=RETENTION, operation=ConfigOperation.DELETE)
            (await admin.incremental_alter_configs({ORDERS: [delete]})).all()
            retention = (await admin.describe_configs([ORDERS])).all()[ORDERS].get(RETENTION)
            assert retention is not None
            assert (retention.value, retention.source) == ("5000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
            assert retention.synonyms == ()

    run(main())


def test_more_are_described_than_one_request_may_be_about() -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            await admin.create_topics([CreatableTopic(name="orders", num_partitions=1, replication_factor=1)])
            changes = {ORDERS: [_set(RETENTION, "1000")]}
            (await admin.incremental_alter_configs(changes)).all()
            absent = [ConfigResource(resource_type=ConfigResourceType.TOPIC, name=f"t{n}") for n in range(MOST)]
            told = (await admin.describe_configs([*absent, ORDERS])).values()
            assert list(told) == [*absent, ORDERS]
            assert {type(told[each].exception()) for each in absent} == {UnknownTopicError}
            retention = told[ORDERS].result().get(RETENTION)
            assert retention is not None
            assert retention.value == "1000"
            asked = [each for each in machine.asked if isinstance(each, DescribeConfigs)]
            assert len(asked) > 1

    run(main())


def test_one_refused_resource_leaves_the_others_be() -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            await admin.create_topics([CreatableTopic(name="orders", num_partitions=1, replication_factor=1)])
            altered = await admin.incremental_alter_configs(
                {ORDERS: [_set(RETENTION, "1000")], ABSENT: [_set(RETENTION, "1000")]}
            )
            assert altered.values()[ORDERS].exception() is None
            with pytest.raises(UnknownTopicError, match="topic 'absent'"):
                altered.values()[ABSENT].result()
            described = await admin.describe_configs([ABSENT, ORDERS, ABSENT])
            assert list(described.values()) == [ABSENT, ORDERS]
            with pytest.raises(UnknownTopicError):
                described.all()
            refused = await admin.incremental_alter_configs({ORDERS: [_set("no.such", "1")]})
            with pytest.raises(RefusedError) as raised:
                refused.all()
            assert raised.value.error is Error.INVALID_CONFIG
            end = machine.cluster.next_offset
            checked = await admin.incremental_alter_configs({ORDERS: [_set(RETENTION, "7")]}, validate_only=True)
            checked.all()
            assert machine.cluster.next_offset == end

    run(main())


def _described(call: ClientCall) -> ClientAnswer:
    assert isinstance(call.request, DescribeConfigs)
    asked = call.request.resources
    resources = tuple(DescribedResource(resource_type=each.resource_type, name=each.name) for each in asked)
    return ClientAnswer(response=DescribeConfigsResponse(resources=resources), image_offset=Offset(40))


def test_a_broker_is_described_as_the_log_has_it() -> None:
    async def main() -> None:
        async with controlled() as (_, address), Admin(address) as admin:
            broker, other = (
                ConfigResource(resource_type=ConfigResourceType.BROKER, name=name) for name in ("11", "12")
            )
            changes = {
                broker: [_set("log.retention.ms", "1000"), _set("ssl.key.password", "hidden")],
                ALL_BROKERS: [_set("log.retention.ms", "5000")],
            }
            (await admin.incremental_alter_configs(changes)).all()
            told = (await admin.describe_configs([broker, other], include_synonyms=True)).all()
            own, of_all = told[broker].get("log.retention.ms"), told[other].get("log.retention.ms")
            assert own is not None
            assert (own.value, own.source) == ("1000", ConfigSource.DYNAMIC_BROKER_CONFIG)
            assert [each.value for each in own.synonyms] == ["1000", "5000"]
            assert of_all is not None
            assert (of_all.value, of_all.source) == ("5000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
            secret = told[broker].get("ssl.key.password")
            assert secret is not None
            assert (secret.value, secret.is_sensitive) == (None, True)
            assert told[other].get("ssl.key.password") is None
            assert {entry.source for entry in told[broker].entries} <= {own.source, of_all.source}

    run(main())


def test_a_node_that_nobody_knows_is_refused() -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            refusals = {
                "99": Error.BROKER_ID_NOT_REGISTERED,
                "x": Error.INVALID_REQUEST,
                "9" * 5_000: Error.INVALID_REQUEST,
            }
            for name, error in refusals.items():
                node = ConfigResource(resource_type=ConfigResourceType.BROKER, name=name)
                why = (await admin.describe_configs([node])).values()[node].exception()
                assert why is not None
                assert why.error is error
            gone = ConfigResource(resource_type=ConfigResourceType.BROKER, name="12")
            (await admin.incremental_alter_configs({gone: [_set("log.retention.ms", "1000")]})).all()
            machine.cluster.ask(UnregisterBroker(broker_id=12))
            machine.cluster.settle()
            told = (await admin.describe_configs([gone])).all()[gone].get("log.retention.ms")
            assert told is not None
            assert told.value == "1000", "configs outlive the registration"

    run(main())


def test_one_controller_may_be_asked_of_itself() -> None:
    async def main() -> None:
        node = ScriptedNode()
        node.at_once = _described
        asked = ResourceToDescribe(resource_type=ConfigResourceType.BROKER, name=str(NODE_ID))
        request = DescribeConfigs(resources=(asked,))
        async with served(node) as address, Client(address) as client:
            for offset in (None, Offset(7)):
                said = await client.ask(request, address=address, at_least_offset=offset, timeout_s=5)
                assert [each.name for each in said.resources] == [str(NODE_ID)]
            assert [call.at_least_offset for call in node.calls] == [0, 7]
            node.at_once = lambda call: ClientAnswer(error=Error.OFFSET_NOT_AVAILABLE, message="not yet")
            with pytest.raises(RefusedError, match="not yet"):
                await client.ask(request, address=address)
        async with Client(address) as client:
            with pytest.raises(UnavailableError):
                await client.ask(request, address=address, timeout_s=1)

    run(main())
