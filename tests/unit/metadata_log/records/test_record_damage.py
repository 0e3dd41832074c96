"""Bytes that are not a record: one kind of error, whatever is wrong; and odd bytes that Kafka reads are read as Kafka
does.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.errors import MalformedRecordError, RecordError, UnknownRecordError
from metadata_log.records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    TopicRecord,
    api_key_of,
    decode_control,
    decode_record,
    decode_versioned,
    encode_control,
    encode_record,
)
from tests.support.records import CONTROL_VERSIONS_OF, METADATA_VERSIONS_OF, full_record, version_id

TOPIC_ID = bytes(range(16))
TOPIC_BODY = "0261 000102030405060708090a0b0c0d0e0f"
CHANGE = "00000000 000102030405060708090a0b0c0d0e0f"


def hexed(text: str) -> bytes:
    return bytes.fromhex(text)


@pytest.mark.parametrize("kind", METADATA_VERSIONS_OF, ids=version_id)
@pytest.mark.parametrize("elements", [3, 20, 130])
def test_a_record_cut_anywhere_is_malformed(kind: tuple[type[MetadataRecord], int], elements: int) -> None:
    """A count of 130 takes two bytes. Those elements are alike, so that each seventh place behind the first will do."""
    value = encode_record(full_record(*kind, elements), kind[1])
    everywhere, some = range(len(value)), {*range(min(len(value), 300)), *range(0, len(value), 7)}
    for length in some if elements == 130 else everywhere:
        try:
            decode_record(value[:length])
        except MalformedRecordError:
            continue
        pytest.fail(f"the first {length} bytes of {len(value)} are a record")


@pytest.mark.parametrize("kind", METADATA_VERSIONS_OF, ids=version_id)
def test_a_record_with_something_after_it_is_malformed(kind: tuple[type[MetadataRecord], int]) -> None:
    value = encode_record(full_record(*kind), kind[1])
    with pytest.raises(MalformedRecordError, match="1 bytes are left over"):
        decode_record(value + b"\x00")


@pytest.mark.parametrize("kind", CONTROL_VERSIONS_OF, ids=version_id)
def test_a_control_record_cut_anywhere_is_malformed(kind: tuple[Any, int]) -> None:
    key, value = encode_control(full_record(*kind))
    for length in range(len(value)):
        with pytest.raises(MalformedRecordError):
            decode_control(key, value[:length])
    for length in range(len(key)):
        with pytest.raises(MalformedRecordError):
            decode_control(key[:length], value)


@given(st.sampled_from(METADATA_VERSIONS_OF), st.data())
def test_changed_bytes_are_read_or_refused_and_nothing_else(kind: Any, data: st.DataObject) -> None:
    value = bytearray(encode_record(full_record(*kind), kind[1]))
    for _ in range(data.draw(st.integers(1, 4))):
        value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
    try:
        record, version = decode_versioned(bytes(value))
    except RecordError:
        return
    assert decode_versioned(encode_record(record, version)) == (record, version) or "nan" in repr(record)


@pytest.mark.parametrize(
    ("value", "api_key", "version"),
    [("010600 00", 6, 0), ("011e00 00", 30, 0), ("010201 00", 2, 1), ("01800100 00", 128, 0), ("01028001 00", 2, 128)],
)
def test_an_unknown_type_or_version_is_named(value: str, api_key: int, version: int) -> None:
    with pytest.raises(UnknownRecordError) as refused:
        decode_record(hexed(value))
    assert (refused.value.api_key, refused.value.version) == (api_key, version)
    with pytest.raises(UnknownRecordError):
        decode_versioned(hexed(value))
    assert api_key_of(hexed(value)) == api_key


@pytest.mark.parametrize("value", ["", "01", "0102", "000200", "020200", "ffffffffff7f0200", "01ffffffff7f00"])
def test_what_has_no_frame_is_malformed(value: str) -> None:
    with pytest.raises(MalformedRecordError):
        decode_record(hexed(value))
    if len(hexed(value)) < 3 or hexed(value)[0] != 1:
        with pytest.raises(MalformedRecordError):
            api_key_of(hexed(value))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("010200 00 000102030405060708090a0b0c0d0e0f 00", "null"),
        ("010200 02ff 000102030405060708090a0b0c0d0e0f 00", "utf-8"),
        ("010200 ffffffff07 61", "only 1 bytes follow"),
        ("010200 ffffffff7f 61", "too large"),
        ("010e00 ffffffff07", "bytes follow"),
        ("010e00 00 026b 0000000000000000 00 00", "null"),
        (f"010500 {CHANGE} 01 00 02 01", "left over|size says"),
        (f"010500 {CHANGE} 01 00 01 0200000001", "size says|left over"),
        (f"010500 {CHANGE} 01 06 01 01", "newer version"),
        (f"010500 {CHANGE} 02 01 04 00000001", "index out of range"),
        ("011101 00000001 0000000000000001 01 02 01 01", "newer version"),
        ("011103 00000001 0000000000000001 01 02 01 00", "null"),
        (f"010200 {TOPIC_BODY} 01 05 7f 00", "past the end"),
        (f"010500 {CHANGE} 01 63 7f 00", "cut short"),
    ],
)
def test_what_is_wrong_is_said(value: str, complaint: str) -> None:
    with pytest.raises(MalformedRecordError, match=complaint):
        decode_record(hexed(value))


def test_a_string_longer_than_kafka_allows_is_malformed() -> None:
    body = b"\x01\x02\x00" + hexed("818002") + b"a" * 32768 + TOPIC_ID + b"\x00"
    with pytest.raises(MalformedRecordError, match="more than 32767"):
        decode_record(body)


@pytest.mark.parametrize(
    ("value", "record"),
    [
        pytest.param(f"010200 {TOPIC_BODY} 01 05 02 abcd", TopicRecord(name="a", topic_id=TOPIC_ID), id="unknown tag"),
        pytest.param(
            f"010500 {CHANGE} 02 01 04 00000007 63 00",
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=7),
            id="unknown tag after a known one",
        ),
        pytest.param(
            f"010500 {CHANGE} 01 8001 8001 {'00' * 128}",
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID),
            id="unknown tag of two bytes",
        ),
        pytest.param(
            f"010500 {CHANGE} 8100 01 04 fffffffe",
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID),
            id="a tag that holds its default, and a count with a needless byte",
        ),
        pytest.param(
            f"010500 {CHANGE} 01 00 01 00", PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID), id="a tag of null"
        ),
        pytest.param("01940000 00", NoOpRecord(), id="frame with a needless byte"),
        pytest.param("011400 00", NoOpRecord(), id="frame"),
        pytest.param(
            "010200 8200 61 000102030405060708090a0b0c0d0e0f 00",
            TopicRecord(name="a", topic_id=TOPIC_ID),
            id="length with a needless byte",
        ),
        pytest.param(
            "010400 02 0274 0274 0278 00",
            ConfigRecord(resource_type=2, resource_name="t", name="t", value="x"),
            id="config",
        ),
        pytest.param(
            "011100 00000001 0000000000000001 01 00 01 02",
            BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, fenced=2),
            id="a number that means nothing",
        ),
        pytest.param(
            "010000 00000001 000102030405060708090a0b0c0d0e0f 0000000000000002 01 01 00 02 00",
            RegisterBrokerRecord(
                broker_id=1, incarnation_id=TOPIC_ID, broker_epoch=2, end_points=(), features=(), rack=None, fenced=True
            ),
            id="a bool of 2",
        ),
    ],
)
def test_odd_bytes_are_read_as_kafka_reads_them(value: str, record: MetadataRecord) -> None:
    assert decode_record(hexed(value)) == record
    assert decode_versioned(hexed(value))[0] == record


@pytest.mark.parametrize(
    ("key", "value"),
    [("00000001", "000000"), ("00000007", "000000"), ("00000002", "000200"), ("00000002", "ffff00")],
)
def test_an_unknown_control_record_is_named(key: str, value: str) -> None:
    with pytest.raises(UnknownRecordError):
        decode_control(hexed(key), hexed(value))


def test_a_control_key_of_a_newer_version_is_read_and_of_a_negative_one_is_not() -> None:
    assert decode_control(hexed("00010004"), hexed("000000")) == decode_control(hexed("00000004"), hexed("000000"))
    with pytest.raises(MalformedRecordError, match="version -1"):
        decode_control(hexed("ffff0004"), hexed("000000"))
