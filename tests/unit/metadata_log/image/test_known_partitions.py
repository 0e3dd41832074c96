from __future__ import annotations

import msgspec
import pytest

from metadata_log.errors import MalformedRecordError
from metadata_log.format.batch import batch_values, build_batch, parse_header
from metadata_log.ids import DirectoryId, NodeId, TopicId
from metadata_log.image import MetadataImage, ReplayError
from metadata_log.image.replayer import Replayer
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import MetadataRecord, PartitionRecord, TopicRecord, encode_record

ONE = PartitionRecord(
    partition_id=0,
    topic_id=TopicId(b"\x11" * 16),
    replicas=(NodeId(1), NodeId(2)),
    isr=(NodeId(1),),
    removing_replicas=(),
    adding_replicas=(),
    leader=NodeId(1),
    leader_epoch=0,
    partition_epoch=0,
    directories=(DirectoryId(b"\x07" * 16), DirectoryId(b"\x08" * 16)),
)


def _topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=TopicId(bytes([number]) * 16))


def _partition(number: int, **changes: object) -> PartitionRecord:
    return msgspec.structs.replace(ONE, topic_id=TopicId(bytes([number]) * 16), **changes)


def _replayed_bytes(values: list[bytes]) -> MetadataImage:
    data = build_batch(base_offset=Offset(0), epoch=Epoch(1), timestamp_ms=7, values=values)
    header = parse_header(data)
    return Replayer.start(MetadataImage.empty()).on_batch(header, batch_values(data, header)).image


def _encoded(records: list[MetadataRecord]) -> list[bytes]:
    return [encode_record(record, 2 if isinstance(record, PartitionRecord) else 0) for record in records]


def test_partitions_read_by_their_bytes_are_what_their_records_describe() -> None:
    changes: list[dict[str, object]] = [
        {},
        {"isr": (NodeId(2),), "leader": 2},
        {"leader_epoch": 3, "partition_epoch": 9},
        {"partition_id": 1},
        {"eligible_leader_replicas": (NodeId(2),)},
        {"removing_replicas": (NodeId(2),), "adding_replicas": (NodeId(1),), "leader_recovery_state": 1},
        {"directories": ()},
        {},
    ]
    records: list[MetadataRecord] = []
    for number, change in enumerate(changes, start=20):
        records += [_topic(number), _partition(number, **change), _partition(number, partition_id=5)]
    slow = Replayer.start(MetadataImage.empty()).on_records(
        records, base_offset=0, next_offset=len(records), epoch=1, timestamp_ms=7
    )
    for _ in range(2):
        assert _replayed_bytes(_encoded(records)) == slow.image
    topics = slow.image.topics.by_id
    assert topics[TopicId(b"\x14" * 16)].partitions == topics[TopicId(b"\x1b" * 16)].partitions


def test_the_same_state_is_kept_in_memory_once() -> None:
    image = _replayed_bytes(_encoded([_topic(40), _partition(40), _topic(41), _partition(41)]))
    first, second = (topic.partitions[0] for topic in image.topics.by_id.values())
    assert first is second


def test_a_known_partition_of_an_unknown_topic_is_refused_by_its_records_name() -> None:
    _replayed_bytes(_encoded([_topic(50), _partition(50)]))
    with pytest.raises(ReplayError, match=r"PartitionRecord.*there is no topic"):
        _replayed_bytes(_encoded([_partition(51)]))


@pytest.mark.parametrize("attempt", ["first", "again"])
def test_what_makes_no_sense_is_refused_each_time(attempt: str) -> None:
    odd = _partition(60, directories=(DirectoryId(b"\x07" * 16),))
    with pytest.raises(ReplayError, match=r"PartitionRecord.*1 directories for 2 replicas"):
        _replayed_bytes(_encoded([_topic(60), odd]))


def test_a_cut_value_is_malformed_whatever_is_known() -> None:
    values = _encoded([_topic(70), _partition(70)])
    _replayed_bytes(values)
    with pytest.raises(MalformedRecordError, match="record at offset 1"):
        _replayed_bytes([values[0], values[1][:-1]])
    with pytest.raises(MalformedRecordError, match="record at offset 1"):
        _replayed_bytes([values[0], values[1][:12]])
