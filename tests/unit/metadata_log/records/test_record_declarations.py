"""The classes are the table: which records there are, and that a class which contradicts itself is refused."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from metadata_log.records import CONTROL_RECORDS, METADATA_RECORDS, PartitionChangeRecord, PartitionRecord
from metadata_log.records.json_form import type_name
from metadata_log.records.wire import DeclarationError, Wire, camel_case, schema_of

KAFKA_4_4 = """
    0 REGISTER_BROKER_RECORD 4, 1 UNREGISTER_BROKER_RECORD 0, 2 TOPIC_RECORD 0, 3 PARTITION_RECORD 2, 4 CONFIG_RECORD 0,
    5 PARTITION_CHANGE_RECORD 2, 7 FENCE_BROKER_RECORD 0, 8 UNFENCE_BROKER_RECORD 0, 9 REMOVE_TOPIC_RECORD 0,
    10 DELEGATION_TOKEN_RECORD 0, 11 USER_SCRAM_CREDENTIAL_RECORD 0, 12 FEATURE_LEVEL_RECORD 0,
    14 CLIENT_QUOTA_RECORD 0, 15 PRODUCER_IDS_RECORD 0, 17 BROKER_REGISTRATION_CHANGE_RECORD 3,
    18 ACCESS_CONTROL_ENTRY_RECORD 0,
    19 REMOVE_ACCESS_CONTROL_ENTRY_RECORD 0, 20 NO_OP_RECORD 0, 21 ZK_MIGRATION_STATE_RECORD 0,
    22 REMOVE_USER_SCRAM_CREDENTIAL_RECORD 0, 23 BEGIN_TRANSACTION_RECORD 0, 24 END_TRANSACTION_RECORD 0,
    25 ABORT_TRANSACTION_RECORD 0, 26 REMOVE_DELEGATION_TOKEN_RECORD 0, 27 REGISTER_CONTROLLER_RECORD 0,
    28 CLEAR_ELR_RECORD 0, 29 UNREGISTER_CONTROLLER_RECORD 0
"""
"""Key, name and highest version."""


def test_every_record_of_kafka_is_declared_with_all_its_versions() -> None:
    expected = {int(key): (name, int(last)) for key, name, last in (row.split() for row in KAFKA_4_4.split(","))}
    declared = {key: (type_name(record), record.VERSIONS[-1]) for key, record in METADATA_RECORDS.items()}
    assert declared == expected
    assert {key: record.VERSIONS[-1] for key, record in CONTROL_RECORDS.items()} == {2: 1, 3: 0, 4: 0, 5: 0, 6: 0}


@pytest.mark.parametrize(
    ("record", "tags"),
    [
        (PartitionRecord, {"leader_recovery_state": 0, "eligible_leader_replicas": 1, "last_known_elr": 2}),
        (
            PartitionChangeRecord,
            {
                "isr": 0,
                "leader": 1,
                "replicas": 2,
                "removing_replicas": 3,
                "adding_replicas": 4,
                "leader_recovery_state": 5,
                "eligible_leader_replicas": 6,
                "last_known_elr": 7,
                "directories": 8,
            },
        ),
    ],
)
def test_tags_are_kafkas_and_ascend_whatever_the_order_of_the_fields(
    record: type[msgspec.Struct], tags: dict[str, int]
) -> None:
    schema = schema_of(record)
    assert {field.name: field.tag for field in schema.fields if field.tag is not None} == tags
    assert [field.tag for field in schema.tagged(2)] == sorted(tags.values())


class NoMark(msgspec.Struct):
    name: str


class NoSuchForm(msgspec.Struct):
    number: Annotated[int, Wire("int31")]


class NullOfNumber(msgspec.Struct):
    number: Annotated[int | None, Wire("int32?")]


class NullOfStructs(msgspec.Struct):
    parts: Annotated[tuple[NoMark, ...] | None, Wire("[]struct?")]


class NullInOnePlace(msgspec.Struct):
    name: Annotated[str, Wire("string?")]


class NoDefault(msgspec.Struct):
    name: Annotated[str, Wire("string", since=1)]


class SameTagTwice(msgspec.Struct):
    one: Annotated[int, Wire("int8", tag=0)] = 0
    two: Annotated[int, Wire("int8", tag=0)] = 0


class NotAStruct(msgspec.Struct):
    parts: Annotated[tuple[int, ...], Wire("[]struct")]


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (NoMark, "exactly one Wire"),
        (NoSuchForm, "int31"),
        (NullOfNumber, "no null"),
        (NullOfStructs, "no null"),
        (NullInOnePlace, "not in both"),
        (NoDefault, "needs a default"),
        (SameTagTwice, "one tag to two fields"),
        (NotAStruct, "its type is not one"),
    ],
)
def test_a_class_that_contradicts_itself_is_refused(record: type[msgspec.Struct], complaint: str) -> None:
    with pytest.raises(DeclarationError, match=complaint):
        schema_of(record)


def test_json_names_are_camel_case() -> None:
    assert camel_case("last_known_elr") == "lastKnownElr"
