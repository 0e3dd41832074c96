"""Administrators' requests at the Kafka listener: configs, access, quotas, credentials and tokens."""

from __future__ import annotations

import struct

import pytest
from msgspec.structs import replace

from metadata_log.image import AclEntry
from quorum.api.acls import (
    AclCreationResult,
    AclDeletionResult,
    AclFilter,
    CreateAcls,
    CreateAclsResponse,
    DeleteAcls,
    DeleteAclsResponse,
    DescribeAcls,
    DescribeAclsResponse,
)
from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.configs import AlterConfigs, AlterConfigsResponse, AlteredResource, ReplacedResource
from quorum.api.context import ANONYMOUS
from quorum.api.described_configs import (
    ConfigSynonym,
    DescribeConfigs,
    DescribeConfigsResponse,
    DescribedConfig,
    DescribedResource,
    ResourceToDescribe,
)
from quorum.api.error_codes import Error
from quorum.api.quotas import AlterClientQuotas, AlterClientQuotasResponse, AlteredQuota, QuotaAlteration
from quorum.api.scram import (
    AlteredScramUser,
    AlterUserScramCredentials,
    AlterUserScramCredentialsResponse,
    ScramDeletion,
    ScramUpsertion,
)
from quorum.api.tokens import (
    CreateDelegationToken,
    CreateDelegationTokenResponse,
    ExpireDelegationToken,
    ExpireDelegationTokenResponse,
    RenewDelegationToken,
    RenewDelegationTokenResponse,
)
from quorum.api.topics import ConfigSource
from quorum.controller.authorizer import Authorizer
from tests.support.kafka_admin_requests import (
    alter_client_quotas,
    alter_configs,
    alter_user_scram_credentials,
    create_acls,
    create_delegation_token,
    delete_acls,
    describe_acls,
    describe_configs,
    expire_delegation_token,
    renew_delegation_token,
)
from tests.support.kafka_exchange import exchange, only_answer
from tests.support.kafka_requests import describe_cluster
from tests.support.kafka_wire import connected, kafka_door, request_bytes, written
from tests.support.loop import run
from tests.support.scripted_node import ScriptedNode

ENTRY = AclEntry(
    resource_type=2,
    resource_name="orders",
    pattern_type=4,
    principal="User:alice",
    host="*",
    operation=3,
    permission_type=3,
)
FILTER = AclFilter(
    resource_type=2,
    resource_name="orders",
    pattern_type=2,
    principal="User:alice",
    host=None,
    operation=3,
    permission_type=1,
)


def raw_exchange(frame: bytes, answer: ClientAnswer) -> tuple[ClientCall, bytes]:
    """Exchange bytes, otherwise like `exchange`."""
    node = ScriptedNode()
    node.at_once = lambda call: answer

    async def main() -> bytes:
        async with kafka_door(node) as door, connected(door.port) as client:
            await client.send_bytes(frame)
            return await client.frame()

    said = run(main())
    (call,) = node.calls
    return call, said


def test_the_cluster_is_described_to_whoever_may_alter_it() -> None:
    said = only_answer(describe_cluster(2), Authorizer())
    assert (said.error_code.value, said.cluster_id, said.controller_id, said.brokers) == (31, "", -1, ())
    said = only_answer(describe_cluster(2), Authorizer(super_users=frozenset({ANONYMOUS})))
    assert (said.error_code.value, said.cluster_authorized_operations) == (0, 8096)


class TestAcls:
    @pytest.mark.parametrize("version", range(1, 4))
    def test_create(self, version: int) -> None:
        results = (AclCreationResult(), AclCreationResult(error=Error.INVALID_REQUEST, error_message="why"))
        call, said = exchange(create_acls(version), ClientAnswer(response=CreateAclsResponse(results=results)))
        assert call.request == CreateAcls(creations=(ENTRY,))
        assert [(each.error_code.value, each.error_message) for each in said.results] == [(0, None), (42, "why")]

    @pytest.mark.parametrize("version", range(1, 4))
    def test_delete(self, version: int) -> None:
        results = (AclDeletionResult(matching=(ENTRY,)), AclDeletionResult(error=Error.INVALID_REQUEST))
        call, said = exchange(delete_acls(version), ClientAnswer(response=DeleteAclsResponse(results=results)))
        assert call.request == DeleteAcls(filters=(FILTER,))
        done, refused = said.filter_results
        (deleted,) = done.matching_acls
        assert (done.error_code.value, deleted.error_code.value, deleted.error_message) == (0, 0, None)
        assert all(getattr(deleted, name) == getattr(ENTRY, name) for name in ENTRY.__struct_fields__)
        assert (refused.error_code.value, refused.matching_acls) == (42, ())

    @pytest.mark.parametrize("version", range(1, 4))
    def test_describe(self, version: int) -> None:
        entries = (ENTRY, replace(ENTRY, host="10.0.0.1"), replace(ENTRY, resource_name="x"))
        call, said = exchange(describe_acls(version), ClientAnswer(response=DescribeAclsResponse(entries=entries)))
        assert call.request == DescribeAcls(asked=FILTER)
        assert said.error_code.value == 0
        found = [(each.resource_type, each.resource_name, each.pattern_type) for each in said.resources]
        assert found == [(2, "orders", 4), (2, "x", 4)]
        acls = [(each.principal, each.host, each.operation, each.permission_type) for each in said.resources[0].acls]
        assert acls == [("User:alice", "*", 3, 3), ("User:alice", "10.0.0.1", 3, 3)]

    def test_refusals(self) -> None:
        answer = ClientAnswer(error=Error.NOT_CONTROLLER, message="why")
        assert [each.error_code.value for each in exchange(create_acls(3), answer)[1].results] == [41]
        assert [each.error_code.value for each in exchange(delete_acls(3), answer)[1].filter_results] == [41]
        assert exchange(describe_acls(3), answer)[1].error_code.value == 41


class TestDescribeConfigs:
    @pytest.mark.parametrize("version", range(1, 5))
    def test_each_field(self, version: int) -> None:
        synonym = ConfigSynonym(name="log.x", value="2", source=ConfigSource.DEFAULT_CONFIG)
        config = DescribedConfig(
            name="x",
            value=None,
            source=ConfigSource.DYNAMIC_TOPIC_CONFIG,
            kind=5,
            read_only=True,
            is_sensitive=True,
            synonyms=(synonym,),
        )
        resources = (
            DescribedResource(resource_type=2, name="t", configs=(config,)),
            DescribedResource(resource_type=4, name="1", error=Error.INVALID_REQUEST, error_message="why"),
        )
        call, said = exchange(
            describe_configs(version), ClientAnswer(response=DescribeConfigsResponse(resources=resources))
        )
        asked = (
            ResourceToDescribe(resource_type=2, name="t"),
            ResourceToDescribe(resource_type=4, name="1", names=("a", "b")),
        )
        assert call.request == DescribeConfigs(resources=asked, include_synonyms=True)
        assert call.at_least_offset == 0, "any controller may answer"
        topic, refused = said.results
        (told,) = topic.configs
        assert (told.name, told.value, told.read_only, told.config_source) == ("x", None, True, 1)
        assert told.is_sensitive
        assert [(each.name, each.value, each.source) for each in told.synonyms] == [("log.x", "2", 5)]
        if version > 2:
            assert (told.config_type, told.documentation) == (5, None)
        assert (refused.error_code.value, refused.error_message, refused.configs) == (42, "why", ())


class TestAlterConfigs:
    @pytest.mark.parametrize("version", range(3))
    def test_each_field(self, version: int) -> None:
        altered = AlteredResource(resource_type=2, name="t", error=Error.INVALID_CONFIG, error_message="why")
        call, said = exchange(alter_configs(version), ClientAnswer(response=AlterConfigsResponse(resources=(altered,))))
        resource = ReplacedResource(resource_type=2, name="t", configs=(("flush.ms", "1"), ("x", None)))
        assert call.request == AlterConfigs(resources=(resource,), validate_only=True)
        (answered,) = said.responses
        assert (answered.resource_type, answered.resource_name) == (2, "t")
        assert (answered.error_code.value, answered.error_message) == (40, "why")

    def test_a_refusal_stands_at_each_resource(self) -> None:
        _, said = exchange(alter_configs(2), ClientAnswer(error=Error.NOT_CONTROLLER, message="why"))
        assert [(each.resource_name, each.error_code.value) for each in said.responses] == [("t", 41)]


class TestAlterClientQuotas:
    @pytest.mark.parametrize("version", range(2))
    def test_each_field(self, version: int) -> None:
        entity = (("user", "alice"), ("client-id", None))
        entries = (AlteredQuota(entity=entity, error=Error.INVALID_REQUEST, error_message="why"),)
        call, said = exchange(
            alter_client_quotas(version), ClientAnswer(response=AlterClientQuotasResponse(entries=entries))
        )
        ops = (("producer_byte_rate", 1024.0), ("consumer_byte_rate", None))
        alteration = QuotaAlteration(entity=entity, ops=ops)
        assert call.request == AlterClientQuotas(entries=(alteration,), validate_only=True)
        (entry,) = said.entries
        assert (entry.error_code.value, entry.error_message) == (42, "why")
        assert tuple((part.entity_type, part.entity_name) for part in entry.entity) == entity

    def test_a_refusal_stands_at_each_entity(self) -> None:
        _, said = exchange(alter_client_quotas(1), ClientAnswer(error=Error.NOT_CONTROLLER))
        assert [each.error_code.value for each in said.entries] == [41]


class TestAlterUserScramCredentials:
    def test_each_field(self) -> None:
        results = (AlteredScramUser(user="bob", error=Error.RESOURCE_NOT_FOUND, error_message="why"),)
        answer = ClientAnswer(response=AlterUserScramCredentialsResponse(results=results))
        call, said = exchange(alter_user_scram_credentials(0), answer)
        upsertion = ScramUpsertion(name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"salted")
        deletion = ScramDeletion(name="bob", mechanism=2)
        assert call.request == AlterUserScramCredentials(deletions=(deletion,), upsertions=(upsertion,))
        assert "salted" not in repr(call.request), "a password must not get into a log"
        assert [(each.user, each.error_code.value, each.error_message) for each in said.results] == [("bob", 91, "why")]

    def test_a_refusal_stands_at_each_user(self) -> None:
        _, said = exchange(alter_user_scram_credentials(0), ClientAnswer(error=Error.NOT_CONTROLLER))
        assert [(each.user, each.error_code.value) for each in said.results] == [("bob", 41), ("alice", 41)]


class TestDelegationTokens:
    @pytest.mark.parametrize("version", range(1, 4))
    def test_create(self, version: int) -> None:
        response = CreateDelegationTokenResponse(
            owner="User:alice",
            requester="User:CN=a:b",
            issue_timestamp=1_700_000_000_001,
            expiry_timestamp=1_700_000_000_002,
            max_timestamp=1_700_000_000_003,
            token_id="token",
            hmac=b"secret",
        )
        call, said = exchange(create_delegation_token(version), ClientAnswer(response=response))
        owner = "User:alice" if version > 2 else None
        assert call.request == CreateDelegationToken(owner=owner, renewers=("User:bob",), max_lifetime_ms=-1)
        assert (said.error_code.value, said.principal_type, said.principal_name) == (0, "User", "alice")
        if version > 2:
            assert said.token_requester_principal_name == "CN=a:b"
        stamps = (said.issue_timestamp, said.expiry_timestamp, said.max_timestamp)
        assert [round(stamp.timestamp() * 1000) - 1_700_000_000_000 for stamp in stamps] == [1, 2, 3]
        assert (said.token_id, said.hmac) == ("token", b"secret")
        assert "secret" not in repr(response)

    def test_a_lifetime_beyond_all_dates(self) -> None:
        body = written(create_delegation_token(3))[:-9] + b"\x7f" + b"\xff" * 7 + b"\0"
        made = CreateDelegationTokenResponse(max_timestamp=1 << 60)
        call, _ = raw_exchange(request_bytes(38, 3, body), ClientAnswer(response=made))
        assert call.request.max_lifetime_ms > 10**16  # type: ignore[attr-defined]

    @pytest.mark.parametrize("version", range(1, 3))
    def test_renew(self, version: int) -> None:
        response = RenewDelegationTokenResponse(expiry_timestamp=1_700_000_000_001)
        call, said = exchange(renew_delegation_token(version), ClientAnswer(response=response))
        assert call.request == RenewDelegationToken(hmac=b"secret", renew_period_ms=5000)
        assert (said.error_code.value, round(said.expiry_timestamp.timestamp() * 1000)) == (0, 1_700_000_000_001)

    @pytest.mark.parametrize("version", range(1, 3))
    def test_expire(self, version: int) -> None:
        response = ExpireDelegationTokenResponse(error=Error.DELEGATION_TOKEN_NOT_FOUND)
        frame = request_bytes(40, version, written(expire_delegation_token(version)))
        call, said = raw_exchange(frame, ClientAnswer(response=response))
        assert call.request == ExpireDelegationToken(hmac=b"secret", expiry_period_ms=-1)
        assert struct.unpack_from(">hq", said, 4 + (version > 1)) == (62, -1), "kio's own reader knows no such time"

    def test_refusals(self) -> None:
        answer = ClientAnswer(error=Error.NOT_CONTROLLER)
        for request in (create_delegation_token(3), renew_delegation_token(2), expire_delegation_token(2)):
            frame = request_bytes(request.__api_key__, request.__version__, written(request))
            assert struct.unpack_from(">h", raw_exchange(frame, answer)[1], 5) == (41,)
