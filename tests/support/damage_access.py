"""Access control entries, credentials, quotas and the like as no controller writes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from metadata_log.format.batch import batch_values, iter_batches
from metadata_log.ids import UNASSIGNED_DIRECTORY_ID, DirectoryId, NodeId, TopicId, Uuid
from metadata_log.records import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerEndpoint,
    BrokerFeature,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EndTransactionRecord,
    EntityData,
    FeatureLevelRecord,
    MetadataRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    TopicRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
    decode_record,
)
from metadata_log.records.levels import ACL_RANGES_LEVEL
from tests.support.damage import Cluster
from tests.support.damage_records import LEADER, appended, broker_record, partition_record

_ID, _OTHER_ID = Uuid(b"an entry's id..."), Uuid(b"another entry's.")


def entry(acl_id: Uuid = _ID, **fields: object) -> AccessControlEntryRecord:
    """Return a valid entry, except for these fields."""
    sound = {
        "resource_type": 2,
        "resource_name": "orders",
        "pattern_type": 3,
        "principal": "User:alice",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    return AccessControlEntryRecord(id=acl_id, **(sound | fields))  # type: ignore[arg-type]


def controller(node_id: int) -> RegisterControllerRecord:
    """Return a registration of a controller."""
    return RegisterControllerRecord(
        controller_id=NodeId(node_id),
        incarnation_id=Uuid(b"an incarnation.."),
        zk_migration_ready=False,
        end_points=(),
        features=(),
    )


_REMOVAL = RemoveAccessControlEntryRecord(id=_ID)

RANGES = FeatureLevelRecord(name="metadata.version", feature_level=ACL_RANGES_LEVEL)

SOUND_RECORDS: dict[str, list[MetadataRecord]] = {
    "two": [entry(), entry(_OTHER_ID, host="10.0.0.1")],
    "removed_and_added_again": [entry(), _REMOVAL, entry(_OTHER_ID)],
    "aborted_and_added_again": [
        BeginTransactionRecord(),
        entry(),
        AbortTransactionRecord(reason="none"),
        entry(),
    ],
    "host_with_a_slash_below_4_4": [entry(host="10.0.0.0/33")],
    "range_of_hosts": [RANGES, entry(host="10.0.0.0/8"), entry(_OTHER_ID, host="fe80::1%eth0/64")],
}
"""Records that a controller may write, although an id or an entry occurs twice."""


_LOG_END = 96
"""The end of the log of `basic`, and so the epoch of a broker that registers there."""


def _with_broker(c: Cluster, **fields: int) -> list[MetadataRecord]:
    """Return a block of producer ids for broker 11, valid except for these fields.

    `next_producer_id` counts from the end of the log's last block.
    """
    data = c.segment(LEADER).read_bytes()
    batches = [(at, header) for at, header in iter_batches(data) if not header.is_control]
    records = [decode_record(value) for at, header in batches for value in batch_values(data, header, at)]
    epochs = [one.broker_epoch for one in records if isinstance(one, RegisterBrokerRecord) and one.broker_id == 11]
    own = {"broker_id": 11, "broker_epoch": epochs[-1], "next_producer_id": 1000}
    last = max((one.next_producer_id for one in records if isinstance(one, ProducerIdsRecord)), default=0)
    asked = own | fields
    return [ProducerIdsRecord(**(asked | {"next_producer_id": last + asked["next_producer_id"]}))]  # type: ignore[arg-type]


def credential(**fields: object) -> UserScramCredentialRecord:
    """Return a valid credential, except for these fields."""
    sound = {
        "name": "alice",
        "mechanism": 1,
        "salt": b"salt",
        "stored_key": bytes(32),
        "server_key": bytes(32),
        "iterations": 4096,
    }
    return UserScramCredentialRecord(**(sound | fields))  # type: ignore[arg-type]


def quota(
    *types: str, value: float = 1.0, key: str = "producer_byte_rate", name: str | None = "one", remove: bool = False
) -> ClientQuotaRecord:
    """Return a quota of an entity of these types."""
    entity = tuple(EntityData(entity_type=kind, entity_name=name) for kind in types)
    return ClientQuotaRecord(entity=entity, key=key, value=value, remove=remove)


def token(expiration: int = 2000, **fields: object) -> DelegationTokenRecord:
    """Return a token with a maximum of 2000 ms."""
    sound = {
        "owner": "User:a",
        "requester": "User:a",
        "renewers": (),
        "issue_timestamp": 1000,
        "max_timestamp": 2000,
        "expiration_timestamp": expiration,
        "token_id": "one",
    }
    return DelegationTokenRecord(**(sound | fields))  # type: ignore[arg-type]


def broker_with(**fields: object) -> RegisterBrokerRecord:
    """Return a valid registration of a broker, except for these fields."""
    return msgspec.structs.replace(broker_record(77, _LOG_END), **fields)


def _endpoints(*names: str) -> tuple[BrokerEndpoint, ...]:
    return tuple(BrokerEndpoint(name=name, host="h", port=9092, security_protocol=0) for name in names)


def _range(lowest: int, highest: int) -> tuple[BrokerFeature, ...]:
    one = BrokerFeature(name="group.version", min_supported_version=lowest, max_supported_version=highest)
    return (one,)


_CONNECTIONS = "connection_creation_rate"


def topics(*names: str) -> list[MetadataRecord]:
    """Return new topics of one partition each."""
    made: list[MetadataRecord] = []
    for number, name in enumerate(names):
        topic_id = TopicId(b"topic number " + str(100 + number).encode())
        made += [TopicRecord(name=name, topic_id=topic_id), partition_record(topic_id)]
    return made


SOUND_RECORDS |= {
    "entries_of_all_codes": [
        *(entry(Uuid(b"an operation: %02d" % code), operation=code) for code in range(2, 16)),
        *(entry(Uuid(b"a resource: %04d" % code), resource_type=code, host="10.0.0.1") for code in range(2, 8)),
        entry(Uuid(b"a prefix's entry"), pattern_type=4),
        entry(Uuid(b"a denying entry!"), permission_type=2),
    ],
    "entries_from_zookeeper": [
        ZkMigrationStateRecord(zk_migration_state=2),
        entry(principal="", operation=0, resource_name=""),
    ],
    "controller_0": [controller(0)],
    "credentials": [credential(), credential(mechanism=2, stored_key=bytes(64), server_key=bytes(64))],
    "quotas": [
        quota("user", "client-id"),
        quota("ip", key=_CONNECTIONS),
        quota("user", value=math.nan),
        quota("client-id", name=None),
        quota("user", key="request_percentage"),
        quota("user", key="no longer known", remove=True),
    ],
    "listeners_and_ranges": [broker_with(end_points=_endpoints("A", "B"), features=_range(0, 0))],
    "token_at_its_maximum": [token(2000)],
    "name_of_a_removed_topic": [
        *topics("col.a"),
        RemoveTopicRecord(topic_id=TopicId(b"topic number 100")),
        *topics("other", "col_a")[2:],
    ],
}

_STRANGE: dict[str, Callable[[Cluster], Sequence[MetadataRecord]]] = {
    "producer_ids_of_nobody": lambda c: _with_broker(c, broker_id=99),
    "producer_ids_of_old_epoch": lambda c: _with_broker(c, broker_epoch=1),
    "producer_ids_of_another_block": lambda c: _with_broker(c, next_producer_id=1001),
    "credential_of_too_many_iterations": lambda c: [credential(iterations=16385)],
    "quota_of_two_users": lambda c: [quota("user", "user")],
    "credential_of_no_mechanism": lambda c: [credential(mechanism=9)],
    "credential_of_no_iterations": lambda c: [credential(iterations=0)],
    "credential_of_a_short_key": lambda c: [credential(stored_key=b"k")],
    "credential_of_another_hash": lambda c: [credential(mechanism=2)],
    "quota_of_no_type": lambda c: [quota("user", "planet")],
    "quota_of_nobody": lambda c: [quota()],
    "quota_of_an_address_and_a_user": lambda c: [quota("ip", "user", key=_CONNECTIONS)],
    "quota_of_an_address_as_of_users": lambda c: [quota("ip")],
    "quota_of_a_user_as_of_addresses": lambda c: [quota("user", key=_CONNECTIONS)],
    "quota_that_nobody_knows": lambda c: [quota("user", key="tea_per_hour")],
    "quota_of_no_name": lambda c: [quota("user", name="")],
    "credential_of_no_name": lambda c: [credential(name="")],
    "config_of_no_name": lambda c: [ConfigRecord(resource_type=4, resource_name="", name="", value="b")],
    "token_beyond_its_maximum": lambda c: [token(2001)],
    "token_that_expires_before_1970": lambda c: [token(-1)],
    "token_issued_beyond_its_maximum": lambda c: [token(issue_timestamp=2001)],
    "token_of_no_id": lambda c: [token(token_id="")],
    "token_of_no_type": lambda c: [token(owner="alice")],
    "acl_of_no_operation": lambda c: [entry(operation=-2)],
    "acl_of_a_later_operation": lambda c: [entry(operation=16)],
    "acl_of_any_operation": lambda c: [entry(operation=1)],
    "acl_of_no_resource_type": lambda c: [entry(resource_type=99)],
    "acl_of_any_resource_type": lambda c: [entry(resource_type=1)],
    "acl_of_any_pattern": lambda c: [entry(pattern_type=1)],
    "acl_of_matching_pattern": lambda c: [entry(pattern_type=2)],
    "acl_of_no_permission": lambda c: [entry(permission_type=0)],
    "acl_of_any_permission": lambda c: [entry(permission_type=1)],
    "acl_of_nobody": lambda c: [entry(principal="")],
    "acl_of_no_type": lambda c: [entry(principal="alice")],
    "acl_of_no_name": lambda c: [entry(resource_name="")],
    "controller_negative": lambda c: [controller(-2)],
    "broker_negative": lambda c: [broker_record(-2, _LOG_END)],
    "directory_reserved": lambda c: [broker_record(77, _LOG_END, (UNASSIGNED_DIRECTORY_ID,))],
    "listener_twice": lambda c: [broker_with(end_points=_endpoints("A", "B", "A"))],
    "feature_range_of_nothing": lambda c: [broker_with(features=_range(2, 1))],
    "feature_range_negative": lambda c: [broker_with(features=_range(-1, 1))],
    "directory_named_twice": lambda c: [broker_record(77, _LOG_END, (DirectoryId(b"the same direct."),) * 2)],
}
ACCESS_DAMAGE = [
    *(appended(name, "strange_value", records) for name, records in _STRANGE.items()),
    appended(
        "producer_ids_past_a_block",
        "strange_value",
        lambda c: [*_with_broker(c, next_producer_id=1000), *_with_broker(c, next_producer_id=3000)],
        index=1,
    ),
    appended("migration_of_no_state", "impossible_record", lambda c: [ZkMigrationStateRecord(zk_migration_state=99)]),
    appended("topic_names_collide", "topic_name_collides", lambda c: topics("col.a", "col_a"), index=2),
    appended(
        "acl_of_no_operation_from_zookeeper",
        "strange_value",
        lambda c: [ZkMigrationStateRecord(zk_migration_state=2), entry(operation=-2)],
        index=1,
    ),
    appended("acl_id_null", "acl_id_null", lambda c: [entry(Uuid(bytes(16)))]),
    appended("acl_id_twice", "acl_id_reused", lambda c: [entry(), entry(host="10.0.0.1")], index=1),
    appended("acl_twice", "acl_id_reused", lambda c: [entry(), entry()], index=1),
    appended("acl_under_two_ids", "acl_repeated", lambda c: [entry(), entry(_OTHER_ID)], index=1),
    appended(
        "acl_removed_and_twice",
        "acl_repeated",
        lambda c: [entry(), _REMOVAL, entry(_OTHER_ID), entry()],
        index=3,
    ),
    appended(
        "acl_twice_after_transaction",
        "acl_id_reused",
        lambda c: [BeginTransactionRecord(), entry(), EndTransactionRecord(), entry()],
        index=3,
    ),
]
