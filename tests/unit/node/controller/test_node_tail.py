from __future__ import annotations

import pytest

from metadata_log.errors import InvariantViolation
from metadata_log.format.batch import batch_values, build_batch, parse_header
from metadata_log.ids import DirectoryId, TopicId
from metadata_log.image import MetadataImage
from metadata_log.image.replayer import Replayer
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import FeatureLevelRecord, MetadataRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from quorum.node.controller.tail import Tail, TooLargeError
from quorum.raft.ready import AppendBatches

LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=30)


class Log:
    """A log in memory. It raises on an append after `end_leadership`."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.end = Offset(0)
        self.remembered: list[Replayer] = []
        self.is_leading = True

    def propose(self, epoch: Epoch, values: tuple[bytes, ...]) -> AppendBatches | None:
        if not self.is_leading:
            return None
        data = build_batch(base_offset=self.end, epoch=epoch, timestamp_ms=7, values=values)
        base, self.end = self.end, Offset(self.end + len(values))
        self.batches.append(data)
        return AppendBatches(token=1, base_offset=base, end_offset=self.end, epoch=epoch, data=data)

    def tail(self, *, max_records: int = 10, max_bytes: int = 10_000) -> Tail:
        return Tail(
            Replayer.follow(MetadataImage.empty()),
            Epoch(1),
            propose=self.propose,
            remember=self.remembered.append,
            max_records=max_records,
            max_bytes=max_bytes,
        )

    def replayed(self) -> Replayer:
        """Return a follower's replay of this log."""
        replayer = Replayer.follow(MetadataImage.empty())
        for data in self.batches:
            header = parse_header(data)
            replayer = replayer.on_batch(header, batch_values(data, header))
        return replayer


def _topic(number: int) -> list[MetadataRecord]:
    topic_id = TopicId(number.to_bytes(16, "big"))
    partition = PartitionRecord(
        partition_id=0,
        topic_id=topic_id,
        replicas=(1,),
        isr=(1,),
        removing_replicas=(),
        adding_replicas=(),
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=(DirectoryId(b"\x07" * 16),),
    )
    return [TopicRecord(name=f"t{number}", topic_id=topic_id), partition]


def test_requests_share_a_batch_and_each_outcome_is_remembered() -> None:
    log = Log()
    tail = log.tail()
    assert tail.add([LEVEL], 7, is_atomic=True)
    for number in (1000, 1001):
        assert tail.add(_topic(number), 7, is_atomic=True)
    assert log.batches == []
    assert (tail.next_offset, log.remembered) == (5, [])
    assert tail.flush(7)
    assert [parse_header(data).count for data in log.batches] == [5]
    assert [replayer.end.offset for replayer in log.remembered] == [1, 3, 5]
    assert log.remembered[-1].image == log.replayed().image == tail.image


def test_a_batch_is_dated_when_it_is_appended_and_so_is_the_image_after_it() -> None:
    log = Log()
    tail = log.tail()
    tail.add([LEVEL], 5, is_atomic=True)
    tail.add(_topic(1000), 6, is_atomic=True)
    assert tail.flush(7)
    assert tail.image == log.remembered[-1].image == log.replayed().image
    tail.add(_topic(1001), 6, is_atomic=True)
    assert tail.flush(7)
    assert tail.image == log.remembered[-1].image == log.replayed().image


def test_a_batch_is_in_flight_until_all_of_it_is_committed() -> None:
    log = Log()
    tail = log.tail()
    tail.add([LEVEL], 7, is_atomic=True)
    assert tail.in_flight(Offset(0)) == 0
    tail.flush(7)
    tail.add(_topic(1000), 7, is_atomic=True)
    tail.flush(7)
    assert [tail.in_flight(Offset(end)) for end in (0, 1, 2, 3)] == [2, 1, 1, 0]


def test_a_request_that_does_not_fit_any_more_begins_the_next_batch() -> None:
    log = Log()
    tail = log.tail(max_records=5)
    tail.add([LEVEL], 7, is_atomic=True)
    for number in range(1000, 1004):
        assert tail.add(_topic(number), 7, is_atomic=True)
    assert tail.flush(7)
    assert [parse_header(data).count for data in log.batches] == [5, 4]
    assert log.replayed().image == tail.image


def test_atomic_records_that_fit_no_batch_are_refused_and_leave_no_trace() -> None:
    log = Log()
    tail = log.tail(max_records=4)
    tail.add([LEVEL], 7, is_atomic=True)
    before = tail.image
    records = [record for number in range(1000, 1003) for record in _topic(number)]
    with pytest.raises(TooLargeError, match="it needs 6 records"):
        tail.add(records, 7, is_atomic=True)
    assert tail.image is before
    assert tail.add(records, 7, is_atomic=False)
    assert tail.flush(7)
    assert [parse_header(data).count for data in log.batches] == [1, 4, 2]


def test_bytes_bound_a_batch_too() -> None:
    log = Log()
    tail = log.tail(max_bytes=400)
    tail.add([LEVEL], 7, is_atomic=True)
    for number in range(1000, 1005):
        assert tail.add(_topic(number), 7, is_atomic=True)
    assert tail.flush(7)
    assert len(log.batches) > 1
    assert all(len(data) <= 400 for data in log.batches)
    with pytest.raises(TooLargeError):
        tail.add([TopicRecord(name="x" * 500, topic_id=TopicId(b"\x05" * 16))], 7, is_atomic=True)


def test_a_refused_append_is_said_and_nothing_is_remembered() -> None:
    log = Log()
    tail = log.tail()
    tail.add([LEVEL], 7, is_atomic=True)
    log.is_leading = False
    assert not tail.flush(7)
    assert log.remembered == []


def test_records_that_make_no_sense_are_a_bug_of_our_own() -> None:
    tail = Log().tail()
    tail.add([LEVEL], 7, is_atomic=True)
    with pytest.raises(InvariantViolation, match="RemoveTopicRecord at offset 1"):
        tail.add([RemoveTopicRecord(topic_id=TopicId(b"\x05" * 16))], 7, is_atomic=True)


def test_nothing_is_written_before_a_level_is_known() -> None:
    with pytest.raises(InvariantViolation, match=r"before any metadata\.version is known"):
        Log().tail().add(_topic(1000), 7, is_atomic=True)
