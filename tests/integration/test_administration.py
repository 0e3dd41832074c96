"""`quorum.client.Admin` against three real controllers over gRPC."""

from __future__ import annotations

from pathlib import Path

from quorum.client import (
    ANY,
    AclEntry,
    AclFilter,
    AclOperation,
    AclPatternType,
    AclPermissionType,
    AclResourceType,
    Admin,
    AlterableConfig,
    Client,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    CreatableTopic,
    QuotaComponent,
    ScramMechanism,
    quota_entity,
    scram_upsertion,
)
from tests.support.grpc_controllers import three_controllers
from tests.support.loop import run

JUDGED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
ENTRY = AclEntry(
    resource_type=AclResourceType.TOPIC,
    resource_name="orders",
    pattern_type=AclPatternType.LITERAL,
    principal="User:alice",
    host="*",
    operation=AclOperation.READ,
    permission_type=AclPermissionType.ALLOW,
)
EVERY_ENTRY = AclFilter(
    resource_type=ANY,
    resource_name=None,
    pattern_type=ANY,
    principal=None,
    host=None,
    operation=ANY,
    permission_type=ANY,
)


def test_entries_of_access_outlive_their_leader(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path, JUDGED) as controllers:
            active = await controllers.elected()
            async with Client(controllers.standby().address) as client, Admin(client) as admin:
                (await admin.create_acls([ENTRY])).all()
                assert await admin.describe_acls(EVERY_ENTRY) == (ENTRY,)
                await active.stop()
                assert await admin.describe_acls(EVERY_ENTRY, at_least_offset=client.seen_offset) == (ENTRY,)
                deleted = (await admin.delete_acls([EVERY_ENTRY])).all()
                assert deleted[EVERY_ENTRY].matching == (ENTRY,)
                assert await admin.describe_acls(EVERY_ENTRY) == ()

    run(main())


def test_quotas_are_read_from_a_standby_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            await controllers.elected()
            async with Client(controllers.addresses) as client, Admin(client) as admin:
                alice = quota_entity({"user": "alice"})
                (await admin.alter_client_quotas({alice: {"producer_byte_rate": 1000.0}})).all()
                assert await admin.describe_client_quotas() == {alice: {"producer_byte_rate": 1000.0}}
                of_users = [QuotaComponent.of_entity_type("user")]
                async with Admin(controllers.standby().address) as reader:
                    seen = await reader.describe_client_quotas(of_users, at_least_offset=client.seen_offset)
                    assert seen == {alice: {"producer_byte_rate": 1000.0}}

    run(main())


def test_credentials_outlive_their_leader(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            active = await controllers.elected()
            async with Client(controllers.standby().address) as client, Admin(client) as admin:
                made = scram_upsertion("alice", ScramMechanism.SCRAM_SHA_512, "secret")
                (await admin.alter_user_scram_credentials([made])).all()
                await active.stop()
                told = (await admin.describe_user_scram_credentials()).all()
                assert [(each.mechanism, each.iterations) for each in told["alice"].credentials] == [(2, 4096)]

    run(main())


def test_configs_of_topics_and_of_each_controller(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            await controllers.elected()
            async with Client(controllers.addresses) as client, Admin(client) as admin:
                await controllers.add_broker(client)
                await admin.create_topics([CreatableTopic(name="orders", num_partitions=1, replication_factor=1)])
                topic = ConfigResource(resource_type=ConfigResourceType.TOPIC, name="orders")
                change = AlterableConfig(name="retention.ms", operation=ConfigOperation.SET, value="1000")
                (await admin.incremental_alter_configs({topic: [change]})).all()
                nodes = [
                    ConfigResource(resource_type=ConfigResourceType.BROKER, name=str(node_id))
                    for node_id in controllers.nodes
                ]
                told = (await admin.describe_configs([topic, *nodes])).all()
                retention = told[topic].get("retention.ms")
                assert retention is not None
                assert (retention.value, retention.source) == ("1000", ConfigSource.DYNAMIC_TOPIC_CONFIG)
                for node in nodes:
                    node_id = told[node].get("node.id")
                    assert node_id is not None
                    assert (node_id.value, node_id.source) == (node.name, ConfigSource.STATIC_BROKER_CONFIG)

    run(main())
