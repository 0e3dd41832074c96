"""PartitionRecords that are alike: encoded once, to the very bytes that each has by itself."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.errors import InvariantViolation, MalformedRecordError
from metadata_log.ids import NodeId, TopicId
from metadata_log.records import PartitionRecord, encode_record
from metadata_log.records.alike import PartitionEncoder
from tests.support.records import any_record

IDS = st.tuples(st.integers(0, 2**31 - 1), st.binary(min_size=16, max_size=16))


def _partition() -> PartitionRecord:
    nodes = (NodeId(1), NodeId(2))
    return PartitionRecord(
        partition_id=3,
        topic_id=TopicId(bytes(range(16))),
        replicas=nodes,
        isr=nodes,
        removing_replicas=(),
        adding_replicas=(),
        leader=NodeId(1),
        leader_epoch=0,
        partition_epoch=0,
    )


@pytest.mark.parametrize("version", PartitionRecord.VERSIONS)
@given(data=st.data())
def test_a_record_has_the_same_bytes_whatever_was_encoded_before(version: int, data: st.DataObject) -> None:
    encoder = PartitionEncoder(version)
    seen = data.draw(st.lists(any_record(PartitionRecord, version), min_size=1, max_size=3))
    for number, topic_id in data.draw(st.lists(IDS, min_size=1, max_size=6)):
        for one in seen:
            record = msgspec.structs.replace(one, partition_id=number, topic_id=TopicId(topic_id))
            assert encoder.encode(record) == encode_record(record, version)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"topic_id": bytes(15)}, MalformedRecordError),
        ({"topic_id": bytes(17)}, MalformedRecordError),
        ({"partition_id": 2**31}, MalformedRecordError),
        ({"leader": 2**31}, MalformedRecordError),
        ({"eligible_leader_replicas": (NodeId(1),)}, InvariantViolation),
    ],
)
def test_what_cannot_be_written_is_refused_after_its_like_was(
    changes: dict[str, object], error: type[Exception]
) -> None:
    encoder, record = PartitionEncoder(1), _partition()
    assert encoder.encode(record) == encode_record(record, 1)
    wrong = msgspec.structs.replace(record, **changes)
    for _ in range(2):
        with pytest.raises(error):
            encoder.encode(wrong)
    least = msgspec.structs.replace(record, partition_id=-(2**31))
    assert encoder.encode(least) == encode_record(least, 1)


def test_more_kinds_than_are_remembered_are_encoded_too() -> None:
    encoder = PartitionEncoder(1)
    for epoch in [*range(5_000), *range(10)]:
        record = msgspec.structs.replace(_partition(), leader_epoch=epoch)
        assert encoder.encode(record) == encode_record(record, 1)
