"""The client itself rejects values that fit no request: a typed error names the field, and nothing is sent."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from metadata_log.offsets import Offset
from quorum.api.error_codes import Error
from quorum.api.topics import CreatableConfig
from quorum.client import (
    AclEntry,
    AclFilter,
    Admin,
    AlterableConfig,
    Client,
    ConfigOperation,
    ConfigResource,
    CreatableReplicaAssignment,
    CreatableTopic,
    InvalidRequestError,
    QuotaComponent,
    ScramDeletion,
    ScramMechanism,
    ScramUpsertion,
    TopicCollection,
    quota_entity,
    scram_upsertion,
)
from tests.support.controlled_door import controlled
from tests.support.loop import run

LONE = "\ud800"
"""Half of a surrogate pair: Python's str can hold it, UTF-8 cannot."""
TOO_LARGE = 1 << 31
ENTRY: dict[str, Any] = {
    "resource_type": 2,
    "resource_name": "t",
    "pattern_type": 3,
    "principal": "User:alice",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
TOPIC = ConfigResource(resource_type=2, name="t")
ALICE = quota_entity({"user": "alice"})


def upsertion(**changes: Any) -> ScramUpsertion:
    words: dict[str, Any] = {"name": "a", "mechanism": 1, "iterations": 4096, "salt": b"", "salted_password": b""}
    return ScramUpsertion(**{**words, **changes})


def create(**words: Any) -> Callable[[Admin], Awaitable[object]]:
    topics = [CreatableTopic(name="sound"), CreatableTopic(**{"name": "t", **words})]
    return lambda admin: admin.create_topics(topics)


def alter(**words: Any) -> Callable[[Admin], Awaitable[object]]:
    config = AlterableConfig(**{"name": "flush.ms", "operation": ConfigOperation.SET, "value": "1", **words})
    return lambda admin: admin.incremental_alter_configs({TOPIC: [config]})


CASES: tuple[tuple[Callable[[Admin], Awaitable[object]], str], ...] = (
    (create(name=LONE), r"CreateTopics\.topics\[1\]\.name is '\\ud800', which is not a text that UTF-8 can write"),
    (create(num_partitions=TOO_LARGE), r"topics\[1\]\.num_partitions is 2147483648, which is not a whole .* 32 bits"),
    (create(num_partitions="3"), r"topics\[1\]\.num_partitions is '3'"),
    (create(replication_factor=-TOO_LARGE - 1), r"topics\[1\]\.replication_factor is -2147483649"),
    (create(configs=(CreatableConfig(name=LONE, value="1"),)), r"topics\[1\]\.configs\[0\]\.name"),
    (
        create(assignments=(CreatableReplicaAssignment(partition_index=0, broker_ids=(11, TOO_LARGE)),)),
        r"topics\[1\]\.assignments\[0\]\.broker_ids\[1\] is 2147483648",
    ),
    (lambda admin: admin.delete_topics(TopicCollection.of_topic_names([LONE])), r"DeleteTopics\.topics\[0\]\.name"),
    (lambda admin: admin.describe_topics(TopicCollection.of_topic_names(["a", LONE])), r"DescribeTopics\.names\[1\]"),
    (lambda admin: admin.cluster(at_least_offset=Offset(1 << 63)), "at_least_offset is 9223372036854775808"),
    (lambda admin: admin.describe_configs([ConfigResource(resource_type=2, name=LONE)]), r"resources\[0\]\.name"),
    (
        lambda admin: admin.describe_configs([ConfigResource(resource_type=TOO_LARGE, name="t")]),
        r"DescribeConfigs\.resources\[0\]\.resource_type",
    ),
    (alter(name=LONE), r"IncrementalAlterConfigs\.resources\[0\]\.configs\[0\]\.name"),
    (alter(operation=TOO_LARGE), r"resources\[0\]\.configs\[0\]\.operation"),
    (alter(value=1), r"resources\[0\]\.configs\[0\]\.value is 1, which is not a text"),
    (lambda admin: admin.create_acls([AclEntry(**{**ENTRY, "principal": LONE})]), r"CreateAcls\.creations\[0\]\.princ"),
    (lambda admin: admin.delete_acls([AclFilter(**{**ENTRY, "host": LONE})]), r"DeleteAcls\.filters\[0\]\.host"),
    (lambda admin: admin.describe_acls(AclFilter(**{**ENTRY, "operation": TOO_LARGE})), r"\.asked\.operation"),
    (
        lambda admin: admin.alter_client_quotas({quota_entity({"user": LONE}): {}}),
        r"entity\[0\]\.entity_name is",
    ),
    (lambda admin: admin.alter_client_quotas({ALICE: {LONE: 1.0}}), r"AlterClientQuotas\.entries\[0\]\.ops\[0\]\.key"),
    (lambda admin: admin.alter_client_quotas({ALICE: {"a": 10**400}}), r"ops\[0\]\.value is 10{59}\.\.\., .*a number:"),
    (lambda admin: admin.alter_client_quotas({ALICE: {"a": 10**5000}}), r"ops\[0\]\.value is a number of thousands"),
    (
        lambda admin: admin.describe_client_quotas([QuotaComponent(entity_type="user", match_type=0, match=LONE)]),
        r"DescribeClientQuotas\.components\[0\]\.match is ",
    ),
    (
        lambda admin: admin.alter_user_scram_credentials([ScramDeletion(name=LONE, mechanism=1)]),
        r"deletions\[0\]\.n",
    ),
    (
        lambda admin: admin.alter_user_scram_credentials([upsertion(iterations=TOO_LARGE)]),
        r"upsertions\[0\]\.it",
    ),
    (lambda admin: admin.describe_user_scram_credentials([LONE]), r"DescribeUserScramCredentials\.users\[0\]"),
)


@pytest.mark.parametrize(("ask", "why"), CASES)
def test_the_field_is_named_and_nothing_is_sent(ask: Callable[[Admin], Awaitable[object]], why: str) -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            with pytest.raises(InvalidRequestError, match=why) as raised:
                await ask(admin)
            assert raised.value.error is Error.INVALID_REQUEST
            assert machine.asked == []
            assert (await admin.cluster()).topics() == frozenset(), "the session goes on"

    run(main())


@pytest.mark.parametrize(
    "ask",
    [
        alter(value=f"hush{LONE}"),
        lambda admin: admin.alter_user_scram_credentials([upsertion(salted_password="hush")]),
        lambda admin: admin.alter_user_scram_credentials(
            [scram_upsertion("alice", ScramMechanism.SCRAM_SHA_512, f"hush{LONE}")]
        ),
    ],
)
def test_what_may_be_a_secret_is_not_shown(ask: Callable[[Admin], Awaitable[object]]) -> None:
    async def main() -> None:
        async with controlled() as (_, address), Admin(address) as admin:
            with pytest.raises(InvalidRequestError, match=r"value|password") as raised:
                await ask(admin)
            assert "hush" not in str(raised.value)

    run(main())


@pytest.mark.parametrize(("iterations", "mechanism"), [(0, 1), (TOO_LARGE, 2), (4096, 3)])
def test_what_cannot_be_hashed(iterations: int, mechanism: int) -> None:
    with pytest.raises(InvalidRequestError, match=r"iterations is|mechanism 3 is not one of SCRAM_SHA_256, SCRAM_SHA"):
        scram_upsertion("alice", mechanism, "password", iterations=iterations)  # type: ignore[arg-type]


def test_a_node_of_thousands_of_digits_is_refused_by_the_leader() -> None:
    async def main() -> None:
        async with controlled() as (_, address), Admin(address) as admin:
            node = ConfigResource(resource_type=4, name="9" * 5000)
            result = await admin.describe_configs([node])
            with pytest.raises(InvalidRequestError, match="a number of at most 10 digits"):
                result.all()

    run(main())


@pytest.mark.parametrize("timeout_s", [1e10, math.inf])
def test_who_waits_for_longer_than_there_is_room_for(timeout_s: float) -> None:
    async def main() -> None:
        async with controlled() as (_, address), Client(address) as client:
            await client.create_topic("t", timeout_s=timeout_s)
            assert await client.describe_topics(["t"], timeout_s=timeout_s)

    run(main())
