"""Requests of Kafka's protocol, read from bytes: what kio writes comes back; no bytes do harm."""

from __future__ import annotations

import dataclasses
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import entity_reader

from quorum.node.config.door_limits import DEFAULT_FRAME_BYTES
from quorum.server.kafka.offered_versions import OFFERED
from quorum.transport.kafka.reader import MAX_ELEMENTS, NUMBERS_AN_ELEMENT, BadFrame, Cursor, reader_of
from quorum.transport.kafka.wire import read_header, read_request
from tests.support.kafka_requests import SAMPLES
from tests.support.kafka_wire import request_bytes, request_schema, requests_of, written

_EVERY = [(key, version) for key, offered in OFFERED.items() for version in offered.versions]


@pytest.mark.parametrize(("key", "version"), _EVERY)
def test_kio_reads_the_same(key: int, version: int) -> None:
    sample = SAMPLES[key](version)
    frame = request_bytes(key, version, written(sample))[4:]
    header = read_header(frame)
    assert (header.key, header.version, header.correlation_id, header.client_id) == (key, version, 1, "me")
    read = read_request(OFFERED[key].name, header, frame)
    assert read == sample
    assert entity_reader(type(sample))(written(sample), 0)[0] == read


@pytest.mark.parametrize(("key", "version"), _EVERY)
def test_every_cut_and_every_changed_byte_is_read_or_refused(key: int, version: int) -> None:
    body = written(SAMPLES[key](version))
    read = reader_of(request_schema(key, version))
    for end in range(len(body)):
        with pytest.raises(BadFrame):
            read(Cursor(body[:end]))
    for at in range(len(body)):
        for byte in (0x00, 0x7F, 0x80, 0xFF):
            _read_or_refused(read, body[:at] + bytes([byte]) + body[at + 1 :])


@given(st.sampled_from(_EVERY), st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(kind: tuple[int, int], body: bytes) -> None:
    _read_or_refused(reader_of(request_schema(*kind)), body)


@given(st.binary(max_size=40))
def test_any_header_is_read_or_refused(data: bytes) -> None:
    try:
        read_header(data)
    except BadFrame:
        return


def _read_or_refused(read: Any, body: bytes) -> None:
    try:
        read(Cursor(body))
    except BadFrame:
        return


def test_elements_are_counted_over_the_whole_request() -> None:
    cursor = Cursor(bytes(MAX_ELEMENTS + 1))
    assert len(cursor.elements(MAX_ELEMENTS)) == MAX_ELEMENTS
    with pytest.raises(BadFrame, match="more elements"):
        cursor.elements(1)


def test_numbers_count_less() -> None:
    cursor = Cursor(bytes(MAX_ELEMENTS * NUMBERS_AN_ELEMENT + 1))
    cursor.elements(MAX_ELEMENTS * NUMBERS_AN_ELEMENT, NUMBERS_AN_ELEMENT)
    with pytest.raises(BadFrame, match="more elements"):
        cursor.elements(1, NUMBERS_AN_ELEMENT)


def test_partitions_to_elect_leaders_of_count_as_one_each() -> None:
    sample = SAMPLES[43](2)
    topic = sample.topic_partitions[0]

    def read(count: int) -> Any:
        asked = dataclasses.replace(
            sample, topic_partitions=(dataclasses.replace(topic, partitions=(topic.partitions[0],) * count),)
        )
        frame = request_bytes(43, 2, written(asked))[4:]
        return read_request("elect_leaders", read_header(frame), frame)

    assert len(read(MAX_ELEMENTS - 1).topic_partitions[0].partitions) == MAX_ELEMENTS - 1
    with pytest.raises(BadFrame, match="more elements"):
        read(MAX_ELEMENTS)


@pytest.mark.parametrize("version", [2, 3])
def test_a_broker_may_alter_all_partitions_that_a_frame_holds(version: int) -> None:
    sample = SAMPLES[56](version)
    (topic,) = sample.topics
    partition = topic.partitions[0]
    isr = "new_isr_with_epochs" if version == 3 else "new_isr"
    partition = dataclasses.replace(partition, **{isr: (getattr(partition, isr)[0],) * 3})
    topic = dataclasses.replace(topic, partitions=(partition,) * 70_000)
    asked = dataclasses.replace(sample, topics=(topic,))
    frame = request_bytes(56, version, written(asked))[4:]
    assert len(frame) < DEFAULT_FRAME_BYTES
    assert read_request("alter_partition", read_header(frame), frame) == asked


def test_tags_between_structs_of_numbers_are_skipped() -> None:
    """A BrokerState that a newer broker says more of."""
    module = requests_of(56, 3)
    read = reader_of(module.PartitionData)
    states = (module.BrokerState(broker_id=1, broker_epoch=2), module.BrokerState(broker_id=3, broker_epoch=4))
    plain = written(
        module.PartitionData(
            partition_index=7, leader_epoch=1, new_isr_with_epochs=states, leader_recovery_state=0, partition_epoch=9
        )
    )
    last = struct.pack(">iq", 3, 4)
    at = plain.index(last) + len(last)
    tagged = plain[:at] + b"\1\5\2ab" + plain[at + 1 :]
    assert read(Cursor(tagged)) == read(Cursor(plain))


@pytest.mark.parametrize("version", [0, 1])
def test_a_text_has_at_most_32767_bytes(version: int) -> None:
    """IncrementalAlterConfigs, whose version 1 is flexible."""
    key = 44
    read = reader_of(request_schema(key, version))
    sample = SAMPLES[key](version)

    def of(length: int) -> Any:
        resource = dataclasses.replace(sample.resources[0], resource_name="x" * length)
        return dataclasses.replace(sample, resources=(resource,))

    assert read(Cursor(written(of(32767)))) == of(32767)
    if version == 1:
        with pytest.raises(BadFrame, match="a text of 32768 bytes: the longest has 32767"):
            read(Cursor(written(of(32768))))


def test_a_tagged_field_has_the_length_that_it_says() -> None:
    read = reader_of(request_schema(1, 18))
    head = struct.pack(">iii", 500, 0, 1) + b"\0" + struct.pack(">ii", 0, -1) + b"\1\1\1"
    assert read(Cursor(head + b"\1\0\2\2a")).cluster_id == "a"
    with pytest.raises(BadFrame, match="tagged field 0"):
        read(Cursor(head + b"\1\0\3\2ax"))
