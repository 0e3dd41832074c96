"""Requests about configs, access, quotas, credentials and tokens, of every version that the Kafka listener supports."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from tests.support.kafka_wire import requests_of


def alter_configs(version: int) -> Any:
    module = requests_of(33, version)
    configs = (module.AlterableConfig(name="flush.ms", value="1"), module.AlterableConfig(name="x", value=None))
    resource = module.AlterConfigsResource(resource_type=2, resource_name="t", configs=configs)
    return module.AlterConfigsRequest(resources=(resource,), validate_only=True)


def describe_configs(version: int) -> Any:
    module = requests_of(32, version)
    resources = (
        module.DescribeConfigsResource(resource_type=2, resource_name="t", configuration_keys=None),
        module.DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=("a", "b")),
    )
    words: dict[str, Any] = {"include_documentation": True} if version > 2 else {}
    return module.DescribeConfigsRequest(resources=resources, include_synonyms=True, **words)


def create_acls(version: int) -> Any:
    module = requests_of(30, version)
    entry = module.AclCreation(
        resource_type=2,
        resource_name="orders",
        resource_pattern_type=4,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    return module.CreateAclsRequest(creations=(entry,))


def acl_filter(kind: Any) -> Any:
    """Return a filter in the form that both requests share."""
    return kind(
        resource_type_filter=2,
        resource_name_filter="orders",
        pattern_type_filter=2,
        principal_filter="User:alice",
        host_filter=None,
        operation=3,
        permission_type=1,
    )


def delete_acls(version: int) -> Any:
    module = requests_of(31, version)
    return module.DeleteAclsRequest(filters=(acl_filter(module.DeleteAclsFilter),))


def describe_acls(version: int) -> Any:
    return acl_filter(requests_of(29, version).DescribeAclsRequest)


def alter_client_quotas(version: int) -> Any:
    module = requests_of(49, version)
    entity = tuple(
        module.EntityData(entity_type=kind, entity_name=name) for kind, name in (("user", "alice"), ("client-id", None))
    )
    ops = (
        module.OpData(key="producer_byte_rate", value=1024.0, remove=False),
        module.OpData(key="consumer_byte_rate", value=0.0, remove=True),
    )
    return module.AlterClientQuotasRequest(entries=(module.EntryData(entity=entity, ops=ops),), validate_only=True)


def alter_user_scram_credentials(version: int) -> Any:
    module = requests_of(51, version)
    upsertion = module.ScramCredentialUpsertion(
        name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"salted"
    )
    deletion = module.ScramCredentialDeletion(name="bob", mechanism=2)
    return module.AlterUserScramCredentialsRequest(deletions=(deletion,), upsertions=(upsertion,))


def create_delegation_token(version: int, max_lifetime_ms: int = -1) -> Any:
    module = requests_of(38, version)
    words: dict[str, Any] = {
        "renewers": (module.CreatableRenewers(principal_type="User", principal_name="bob"),),
        "max_lifetime": timedelta(milliseconds=max_lifetime_ms),
    }
    if version > 2:
        words |= {"owner_principal_type": "User", "owner_principal_name": "alice"}
    return module.CreateDelegationTokenRequest(**words)


def renew_delegation_token(version: int) -> Any:
    module = requests_of(39, version)
    return module.RenewDelegationTokenRequest(hmac=b"secret", renew_period=timedelta(milliseconds=5000))


def expire_delegation_token(version: int) -> Any:
    module = requests_of(40, version)
    return module.ExpireDelegationTokenRequest(hmac=b"secret", expiry_time_period=timedelta(milliseconds=-1))


ADMIN_SAMPLES: Final[dict[int, Callable[[int], Any]]] = {
    29: describe_acls,
    30: create_acls,
    31: delete_acls,
    32: describe_configs,
    33: alter_configs,
    38: create_delegation_token,
    39: renew_delegation_token,
    40: expire_delegation_token,
    49: alter_client_quotas,
    51: alter_user_scram_credentials,
}
