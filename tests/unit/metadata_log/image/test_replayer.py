"""When an image is published: batches, metadata transactions, control batches, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from metadata_log.errors import MalformedRecordError, UnknownRecordError
from metadata_log.format.batch import build_batch, build_control_batch, parse_header
from metadata_log.image import MetadataImage, Replayer, ReplayError
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    KRaftVersionRecord,
    MetadataRecord,
    NoOpRecord,
    RemoveTopicRecord,
    encode_control,
    encode_record,
)
from tests.support.image_records import broker, config, image_of, level, partition, topic, topic_id

BEGIN, END, ABORT = BeginTransactionRecord(name="x"), EndTransactionRecord(), AbortTransactionRecord()


def _start(*records: MetadataRecord) -> Replayer:
    return _append(Replayer.start(MetadataImage.empty()), *records)


def _append(replayer: Replayer, *records: MetadataRecord, epoch: int = 1) -> Replayer:
    base = replayer.end.offset
    return replayer.on_records(
        records, base_offset=base, next_offset=base + len(records), epoch=epoch, timestamp_ms=100 + base
    )


def _end(offset: int, epoch: int = 1) -> OffsetAndEpoch:
    return OffsetAndEpoch(offset=Offset(offset), epoch=Epoch(epoch))


def _names(replayer: Replayer) -> set[str]:
    return set(replayer.image.topics.by_name)


def _batch(replayer: Replayer, values: Sequence[bytes]) -> bytes:
    return build_batch(base_offset=replayer.end.offset, epoch=Epoch(3), timestamp_ms=77, values=values)


def test_a_batch_publishes_an_image_at_its_end() -> None:
    first = _start(topic(1), partition(1))
    second = _append(first, topic(2), epoch=4)
    assert (second.image.offset_and_epoch, second.image.last_contained_timestamp_ms) == (_end(3, 4), 102)
    assert second.end == second.image.offset_and_epoch
    assert _names(second) == {"t1", "t2"}
    assert _names(first) == {"t1"}
    assert first.image.offset_and_epoch == _end(2)


def test_a_batch_of_bytes_is_decoded() -> None:
    replayer = Replayer.start(MetadataImage.empty())
    values = [encode_record(topic(1), 0), encode_record(NoOpRecord(), 0)]
    after = replayer.on_batch(parse_header(_batch(replayer, values)), values)
    assert (after.image.offset_and_epoch, after.image.last_contained_timestamp_ms) == (_end(2, 3), 77)
    assert _names(after) == {"t1"}


def test_a_control_batch_moves_the_end_and_nothing_else() -> None:
    replayer = _start(topic(1))
    records = [encode_control(KRaftVersionRecord(version=0, kraft_version=1))]
    batch = build_control_batch(base_offset=Offset(1), epoch=Epoch(2), timestamp_ms=9, records=records)
    after = replayer.on_batch(parse_header(batch), [value for _, value in records])
    assert after.image.offset_and_epoch == _end(2, 2)
    assert after.image.says_the_same_as(replayer.image)
    assert after.image.topics is replayer.image.topics
    assert after.changes.topics == frozenset()


def test_an_open_transaction_publishes_nothing() -> None:
    before = _start(topic(1))
    opened = _append(before, BEGIN, topic(2))
    more = _append(opened, partition(2))
    for replayer in (opened, more):
        assert replayer.in_transaction
        assert replayer.image is before.image
        assert not replayer.changes.topics
    assert more.end == _end(4)
    done = _append(more, END)
    assert not done.in_transaction
    assert _names(done) == {"t1", "t2"}
    assert done.image.offset_and_epoch == _end(5)
    assert done.changes.topics == {topic_id(2)}
    assert done.image.topics.partition(topic_id(2), 0) is not None


def test_an_aborted_transaction_leaves_the_image_of_its_begin_at_the_new_end() -> None:
    before = _start(topic(1))
    inside = _append(before, BEGIN, topic(2), RemoveTopicRecord(topic_id=topic_id(1)))
    aborted = _append(inside, ABORT, epoch=2)
    assert not aborted.in_transaction
    assert aborted.image.says_the_same_as(before.image)
    assert aborted.image.offset_and_epoch == _end(5, 2)
    assert _names(_append(aborted, topic(2))) == {"t1", "t2"}


def test_a_control_batch_inside_a_transaction_publishes_nothing() -> None:
    opened = _start(BEGIN, topic(1))
    records = [encode_control(KRaftVersionRecord(version=0, kraft_version=1))]
    batch = build_control_batch(base_offset=Offset(2), epoch=Epoch(2), timestamp_ms=9, records=records)
    after = opened.on_batch(parse_header(batch), [])
    assert after.in_transaction
    assert (after.image, after.end) == (MetadataImage.empty(), _end(3, 2))
    assert _names(_append(after, END)) == {"t1"}


def test_what_precedes_begin_in_its_batch_waits_and_survives_an_abort() -> None:
    opened = _start(topic(1), BEGIN, topic(2))
    assert opened.image == MetadataImage.empty()
    aborted = _append(opened, ABORT, topic(3))
    assert _names(aborted) == {"t1", "t3"}
    assert aborted.changes.topics == {topic_id(1), topic_id(3)}
    assert _names(_append(opened, END)) == {"t1", "t2"}


def test_transactions_may_follow_one_another_within_a_batch() -> None:
    opened = _start(BEGIN, topic(1), END, topic(2), BEGIN, topic(3))
    assert (opened.image, opened.in_transaction) == (MetadataImage.empty(), True)
    aborted = _append(opened, ABORT, BEGIN, topic(4), END)
    assert _names(aborted) == {"t1", "t2", "t4"}
    whole = _start(BEGIN, topic(1), END, BEGIN, topic(2), ABORT, BEGIN, END)
    assert _names(whole) == {"t1"}
    assert not whole.in_transaction


@pytest.mark.parametrize(
    ("first", "second", "record", "offset", "why"),
    [
        ((BEGIN,), (NoOpRecord(), BEGIN), "BeginTransactionRecord", 2, "that began at 0 is still open"),
        ((NoOpRecord(),), (END,), "EndTransactionRecord", 1, "no transaction is open"),
        ((BEGIN, END), (ABORT,), "AbortTransactionRecord", 2, "no transaction is open"),
        ((BEGIN,), (END, END), "EndTransactionRecord", 2, "no transaction is open"),
        ((topic(1),), (topic(2), topic(1)), "TopicRecord", 2, "there is a topic 't1' already"),
    ],
)
def test_nonsense_is_refused_and_nothing_of_its_batch_stays(
    first: tuple[MetadataRecord, ...], second: tuple[MetadataRecord, ...], record: str, offset: int, why: str
) -> None:
    before = _start(*first)
    with pytest.raises(ReplayError, match=why) as caught:
        _append(before, *second)
    assert (caught.value.record, caught.value.offset) == (record, offset)
    assert before == _start(*first)


def test_a_gap_or_an_overlap_is_refused() -> None:
    replayer = _start(topic(1), topic(2))
    for base in (0, 1, 3):
        with pytest.raises(ReplayError, match=f"at offset {base}: the batch before it ended at 2"):
            replayer.on_records([], base_offset=base, next_offset=base + 1, epoch=1, timestamp_ms=1)


@pytest.mark.parametrize(
    ("value", "error", "what"),
    [
        (bytes([1, 120, 0, 0]), UnknownRecordError, "at offset 2: type 120, version 0"),
        (encode_record(topic(3), 0)[:-3], MalformedRecordError, "record at offset 2: "),
    ],
)
def test_a_value_that_cannot_be_read_is_named_by_its_offset(value: bytes, error: type[Exception], what: str) -> None:
    replayer = _start(topic(1))
    values = [encode_record(topic(2), 0), value]
    header = parse_header(_batch(replayer, values))
    with pytest.raises(error, match=what):
        replayer.on_batch(header, values)
    assert _names(replayer) == {"t1"}


def test_replay_goes_on_from_an_image() -> None:
    image = image_of(topic(1), partition(1))
    replayer = _append(Replayer.start(image), topic(2))
    assert _names(replayer) == {"t1", "t2"}


def test_changes_name_what_a_batch_touched() -> None:
    base = _start(topic(1), topic(2), broker(1), config("t1", "a", "b"))
    after = _append(base, RemoveTopicRecord(topic_id=topic_id(1)), broker(2), level("group.version", 1))
    changes = after.changes
    assert changes.topics == {topic_id(1)}
    assert changes.brokers == {2}
    assert {resource.name for resource in changes.configs} == {"t1"}
    assert (changes.features, changes.other, changes.controllers) == (True, False, frozenset())
    assert _append(after, NoOpRecord()).changes.topics == frozenset()


def test_what_was_replayed_early_takes_the_date_of_its_batch() -> None:
    first = _start(topic(1), partition(1))
    dated = first.dated(500)
    assert dated.image.last_contained_timestamp_ms == 500
    assert (dated.end, dated.changes, dated.image.topics) == (first.end, first.changes, first.image.topics)
    assert dated.dated(500) is dated


def test_an_open_transaction_leaves_the_published_image_its_date() -> None:
    inside = _append(_start(topic(1)), BEGIN, topic(2))
    assert inside.dated(500) is inside
