"""Every record in every version survives a round trip, and its bytes are those that Kafka writes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_log.errors import InvariantViolation, MalformedRecordError
from metadata_log.records import (
    AbortTransactionRecord,
    ConfigRecord,
    FenceBrokerRecord,
    MetadataRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    api_key_of,
    decode_control,
    decode_record,
    decode_versioned,
    encode_control,
    encode_record,
)
from metadata_log.records.generate import CODEC_PATH, codec_text, is_fresh
from metadata_log.records.generate import main as generate
from metadata_log.records.json_form import data_of, json_text, type_name
from metadata_log.records.wire import schema_of
from tests.support.fixture_files import FIXTURES
from tests.support.records import (
    CONTROL_VERSIONS_OF,
    METADATA_VERSIONS_OF,
    any_record,
    bare_record,
    full_record,
    version_id,
)

TOPIC_ID = bytes(range(16))
BY_KAFKA = [
    json.loads(line)
    for release in ("4.3.0", "4.4.0")
    for line in gzip.decompress((FIXTURES / "records" / f"kafka-{release}.jsonl.gz").read_bytes()).splitlines()
]
"""Records that Kafka itself has written, with their JSON as its converters print it; of 4.4.0 those that it added."""


@pytest.mark.parametrize("kind", METADATA_VERSIONS_OF, ids=version_id)
@settings(max_examples=30)
@given(data=st.data())
def test_any_record_is_read_as_it_was_written(kind: tuple[type[MetadataRecord], int], data: st.DataObject) -> None:
    record_type, version = kind
    record = data.draw(any_record(record_type, version))
    value = encode_record(record, version)
    assert decode_versioned(value) == (record, version)
    assert decode_record(value) == record
    assert api_key_of(value) == record_type.API_KEY


@pytest.mark.parametrize("kind", CONTROL_VERSIONS_OF, ids=version_id)
@settings(max_examples=30)
@given(data=st.data())
def test_any_control_record_is_read_as_it_was_written(kind: tuple[Any, int], data: st.DataObject) -> None:
    record = data.draw(any_record(*kind))
    assert decode_control(*encode_control(record)) == record


@pytest.mark.parametrize("kind", METADATA_VERSIONS_OF, ids=version_id)
@pytest.mark.parametrize("make", [full_record, bare_record])
def test_a_record_with_everything_set_and_one_with_nothing(kind: tuple[type[MetadataRecord], int], make: Any) -> None:
    record_type, version = kind
    record = make(record_type, version)
    assert decode_versioned(encode_record(record, version)) == (record, version)


@pytest.mark.parametrize("sample", BY_KAFKA, ids=lambda sample: sample["what"])
def test_bytes_and_json_are_kafkas(sample: dict[str, Any]) -> None:
    value = bytes.fromhex(sample["value"])
    record, version = decode_versioned(value)
    assert encode_record(record, version) == value
    assert (type_name(type(record)), version) == (sample["type"], sample["version"])
    assert json_text(data_of(record, version)) == sample["json"]


def test_kafkas_samples_hold_every_version_of_every_record() -> None:
    held = {(sample["type"], sample["version"]) for sample in BY_KAFKA}
    assert held == {(type_name(record), version) for record, version in METADATA_VERSIONS_OF}


@pytest.mark.parametrize(
    ("record", "value"),
    [
        (FenceBrokerRecord(id=3, epoch=9), "010700 00000003 0000000000000009 00"),
        (UnfenceBrokerRecord(id=3, epoch=9), "010800 00000003 0000000000000009 00"),
        (AbortTransactionRecord(), "011900 00"),
        (AbortTransactionRecord(reason="no"), "011900 01 00 03 036e6f"),
        (
            RegisterBrokerRecord(
                broker_id=1,
                incarnation_id=TOPIC_ID,
                broker_epoch=2,
                end_points=(),
                features=(),
                rack=None,
                fenced=False,
            ),
            "010000 00000001 000102030405060708090a0b0c0d0e0f 0000000000000002 01 01 00 00 00",
        ),
    ],
)
def test_bytes_of_the_records_that_no_cluster_would_write(record: MetadataRecord, value: str) -> None:
    assert encode_record(record, 0) == bytes.fromhex(value)


def test_a_field_that_the_version_lacks_must_be_at_its_default() -> None:
    for record_type, version in METADATA_VERSIONS_OF:
        whole = full_record(record_type, record_type.VERSIONS[-1])
        for field in schema_of(record_type).newer(version):
            only = bare_record(record_type, 0)
            changed = {name: getattr(only, name) for name in only.__struct_fields__}
            changed[field.name] = getattr(whole, field.name) if field.wire_type != "bool" else not field.default
            with pytest.raises(InvariantViolation, match=f"{field.name} is set"):
                encode_record(record_type(**changed), version)


@pytest.mark.parametrize("version", [-1, 1, 200])
def test_a_version_that_a_record_does_not_have_is_our_own_fault(version: int) -> None:
    with pytest.raises(InvariantViolation, match=f"TopicRecord has no version {version}"):
        encode_record(TopicRecord(name="a", topic_id=TOPIC_ID), version)


@pytest.mark.parametrize(
    "record",
    [
        TopicRecord(name="a", topic_id=b"short"),
        TopicRecord(name="\ud800", topic_id=TOPIC_ID),
        ConfigRecord(resource_type=2, resource_name="a", name="b", value="x" * 32768),
        ConfigRecord(resource_type=2, resource_name="a", name="b" * 32768, value=None),
        ConfigRecord(resource_type=128, resource_name="a", name="b", value=None),
        FenceBrokerRecord(id=2**31, epoch=0),
    ],
)
def test_what_does_not_fit_on_the_wire_is_refused(record: MetadataRecord) -> None:
    with pytest.raises(MalformedRecordError, match=type(record).__name__):
        encode_record(record, 0)


@pytest.mark.parametrize("directories", [(b"",), (TOPIC_ID, b"x" * 15), (TOPIC_ID, b"x" * 15, b"x" * 17)])
def test_directory_ids_of_a_wrong_size_are_refused(directories: tuple[Any, ...]) -> None:
    partition = PartitionRecord(
        topic_id=TOPIC_ID, replicas=(), isr=(), removing_replicas=(), adding_replicas=(), directories=directories
    )
    with pytest.raises(MalformedRecordError, match="an id has"):
        encode_record(partition, 1)


def test_the_checked_in_codec_is_what_the_declarations_ask_for() -> None:
    assert CODEC_PATH.read_text(encoding="utf-8") == codec_text()
    assert generate(["--check"]) == 0


def test_a_codec_edited_by_hand_is_noticed(tmp_path: Path) -> None:
    edited = tmp_path / "codec.py"
    edited.write_text(codec_text().replace("n < 128", "n < 127"), encoding="utf-8")
    assert not is_fresh(edited)
