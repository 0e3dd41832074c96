"""The readers written by hand agree with kio's entities, and so do the writers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.ids import METADATA_TOPIC_ID, DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from quorum.api.context import RequestContext
from quorum.api.producer_ids import AllocateProducerIds
from quorum.api.raft_messages import UNKNOWN_OFFSET, FetchRequest
from quorum.server.kafka.topic_apis import create_topics_from
from quorum.transport.kafka.fetch import TELLS_NONE, fetch_call_from
from quorum.transport.kafka.fetch_request_frame import _read_end, fetch_request_body
from quorum.transport.kafka.lengths import uvarint
from quorum.transport.kafka.plain_requests import plain_request
from quorum.transport.kafka.reader import MAX_ELEMENTS, BadFrame
from quorum.transport.kafka.wire import Header, read_header, read_request, uuid_to
from tests.support import kafka_requests as samples
from tests.support.kafka_voter_requests import only
from tests.support.kafka_wire import request_bytes, requests_of, written

NAMES = {1: "fetch", 19: "create_topics", 67: "allocate_producer_ids"}
INTS, LONGS = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
TOPICS = st.lists(st.tuples(st.text(max_size=40), INTS, st.integers(-(2**15), 2**15 - 1)), max_size=5)


def _frame(entity: Any) -> bytes:
    return request_bytes(type(entity).__api_key__, type(entity).__version__, written(entity))[4:]


def _by_kio(header: Header, frame: bytes) -> Any:
    """The same by way of kio's entities."""
    body = read_request(NAMES[header.key], header, frame)
    if header.key == 1:
        return fetch_call_from(body, RequestContext())
    if header.key == 19:
        return create_topics_from(body, header.version)
    return AllocateProducerIds(broker_id=body.broker_id, broker_epoch=body.broker_epoch)


def _read(frame: bytes) -> tuple[Any, Any]:
    """Return a request as read by hand and by kio. The reader by hand takes no malformed frame."""
    header = read_header(frame)
    by_hand = plain_request(header, frame)
    try:
        by_kio = _by_kio(header, frame)
    except BadFrame as bad:
        by_kio = bad
    return by_hand, by_kio


def _create_topics(version: int, topics: list[tuple[str, int, int]], *, timeout_ms: int, is_checked: bool) -> Any:
    module = requests_of(19, version)
    return module.CreateTopicsRequest(
        topics=tuple(
            module.CreatableTopic(
                name=name, num_partitions=count, replication_factor=factor, assignments=(), configs=()
            )
            for name, count, factor in topics
        ),
        timeout=timedelta(milliseconds=timeout_ms),
        validate_only=is_checked,
    )


@pytest.mark.parametrize("version", [5, 6, 7])
@given(topics=TOPICS, timeout_ms=INTS, is_checked=st.booleans())
def test_topics_without_configs_are_read_as_kio_reads_them(
    version: int, topics: list[tuple[str, int, int]], timeout_ms: int, is_checked: bool
) -> None:
    by_hand, by_kio = _read(_frame(_create_topics(version, topics, timeout_ms=timeout_ms, is_checked=is_checked)))
    assert by_hand == by_kio is not None
    assert [(each.name, each.num_partitions, each.replication_factor) for each in by_hand.topics] == topics
    assert (by_hand.timeout_ms, by_hand.validate_only, by_hand.wants_configs) == (timeout_ms, is_checked, True)


@pytest.mark.parametrize("version", [2, 4, 5, 7])
def test_topics_with_configs_and_of_old_clients_are_left_to_kio(version: int) -> None:
    by_hand, by_kio = _read(_frame(samples.create_topics(version)))
    assert by_hand is None
    assert by_kio.topics[0].name == "t"


def test_a_long_name_is_left_to_kio() -> None:
    by_hand, by_kio = _read(_frame(_create_topics(7, [("n" * 200, 1, 1)], timeout_ms=1, is_checked=False)))
    assert by_hand is None
    assert by_kio.topics[0].name == "n" * 200


@given(broker_id=INTS, broker_epoch=LONGS)
def test_a_block_of_producer_ids_is_asked_as_kio_reads_it(broker_id: int, broker_epoch: int) -> None:
    asked = requests_of(67, 0).AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=broker_epoch)
    by_hand, by_kio = _read(_frame(asked))
    assert by_hand == by_kio == AllocateProducerIds(broker_id=broker_id, broker_epoch=broker_epoch)


@pytest.mark.parametrize("version", [15, 16, 17, 18])
@given(
    numbers=st.tuples(INTS, INTS, INTS, INTS, INTS),
    offset=LONGS,
    told=LONGS,
    directory=st.binary(min_size=16, max_size=16),
    cluster_id=st.none() | st.text(max_size=130),
)
def test_a_fetch_is_read_as_kio_reads_it(
    version: int, numbers: tuple[int, ...], offset: int, told: int, directory: bytes, cluster_id: str | None
) -> None:
    partition, epoch, last_epoch, node_id, max_bytes = numbers
    changes = {
        "partition": partition,
        "current_leader_epoch": epoch,
        "last_fetched_epoch": last_epoch,
        "fetch_offset": offset,
        "high_watermark": told,
        "replica_directory_id": uuid_to(directory),
        "cluster_id": cluster_id,
        "max_bytes": max_bytes,
        "replica_state": requests_of(1, version).ReplicaState(replica_id=node_id),
    }
    by_hand, by_kio = _read(_frame(samples.fetch(version, **changes)))
    is_plain = (cluster_id is None or len(cluster_id.encode()) < 0x7F) and node_id != -1
    assert by_kio is not None
    assert by_hand == (by_kio if is_plain else None)


@pytest.mark.parametrize("version", [12, 13, 14])
@given(epoch=INTS, offset=LONGS, node_id=INTS)
def test_a_fetch_before_version_15_is_left_to_kio(version: int, epoch: int, offset: int, node_id: int) -> None:
    changes = {"current_leader_epoch": epoch, "fetch_offset": offset, "replica_id": node_id}
    by_hand, by_kio = _read(_frame(samples.fetch(version, **changes)))
    assert by_hand is None
    assert by_kio is not None


def test_a_count_of_tags_in_several_bytes_is_left_to_kio() -> None:
    """It begins with a byte that, alone, would be a count of 128."""
    body = written(samples.fetch(18))
    one = b"\0\x10" + samples.ID.bytes
    assert body[71:90] == b"\2" + one
    behind = body[100:]
    by_hand, by_kio = _read(request_bytes(1, 18, body[:71] + b"\x80" + one * 128 + behind)[4:])
    assert by_hand is None
    assert isinstance(by_kio, BadFrame)


def test_a_tag_of_a_later_version_is_left_to_kio() -> None:
    by_hand, by_kio = _read(request_bytes(1, 16, written(samples.fetch(17)))[4:])
    assert by_hand is None
    assert by_kio.request.replica.directory_id == bytes(16)


def test_what_is_long_behind_a_fetch_is_not_kept() -> None:
    frame = _frame(samples.fetch(18))
    before = _read_end.cache_info().misses
    for number in range(3):
        assert plain_request(read_header(frame), frame + bytes([number]) * 1000) is None
    assert _read_end.cache_info().misses == before


@pytest.mark.parametrize("sample", [samples.fetch(18), samples.allocate_producer_ids(0)])
def test_tags_of_the_header_are_left_to_kio(sample: Any) -> None:
    for entity in (sample, _create_topics(7, [("t", 1, 1)], timeout_ms=1, is_checked=False)):
        frame = _frame(entity)
        at = read_header(frame).ends_at
        by_hand, by_kio = _read(frame[:at] + b"\1\x63\1\0" + frame[at + 1 :])
        assert by_hand is None
        assert not isinstance(by_kio, BadFrame)


def test_no_more_topics_are_read_than_of_any_request() -> None:
    topic = b"\2t" + bytes(6) + b"\1\1\0"
    for count in (MAX_ELEMENTS, MAX_ELEMENTS + 1):
        body = uvarint(count + 1) + topic * count + bytes(6)
        by_hand, by_kio = _read(request_bytes(19, 7, body)[4:])
        assert isinstance(by_kio, BadFrame) == (count > MAX_ELEMENTS)
        assert by_hand == (None if count > MAX_ELEMENTS else by_kio)


@pytest.mark.parametrize("sample", [samples.fetch(18), samples.fetch(16), samples.allocate_producer_ids(0)])
def test_every_cut_and_every_changed_byte_is_read_alike_or_left_to_kio(sample: Any) -> None:
    plain = _create_topics(7, [("t", 1, 1), ("u", 2, 3)], timeout_ms=9, is_checked=False)
    for entity in (sample, plain):
        frame = _frame(entity)
        head = read_header(frame).ends_at
        for end in range(head, len(frame)):
            _same_or_none(frame[:end])
        for at in range(head, len(frame)):
            for byte in (0x00, 0x01, 0x02, 0x7F, 0x80, 0xFF):
                _same_or_none(frame[:at] + bytes([byte]) + frame[at + 1 :])
        _same_or_none(frame + b"\0")


@given(
    sample=st.sampled_from([samples.fetch(18), samples.fetch(17), samples.allocate_producer_ids(0)])
    | TOPICS.map(lambda topics: _create_topics(7, topics, timeout_ms=9, is_checked=False)),
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 2), st.binary(max_size=3)), max_size=3),
)
def test_any_bytes_in_a_plain_request_are_read_alike_or_left_to_kio(
    sample: Any, changes: list[tuple[int, int, bytes]]
) -> None:
    frame = _frame(sample)
    head = read_header(frame).ends_at
    for at, removed, added in changes:
        place = head + at % (len(frame) - head + 1)
        frame = frame[:place] + added + frame[place + removed :]
    _same_or_none(frame)


def _same_or_none(frame: bytes) -> None:
    by_hand, by_kio = _read(frame)
    assert by_hand is None or by_hand == by_kio


@pytest.mark.parametrize("version", [16, 17, 18])
@given(
    numbers=st.tuples(INTS, INTS, INTS, INTS),
    offsets=st.tuples(LONGS, st.just(UNKNOWN_OFFSET) | st.integers(0, 2**63 - 2)),
    directory=st.just(bytes(16)) | st.binary(min_size=16, max_size=16),
    cluster_id=st.none() | st.text(max_size=200),
)
def test_a_fetch_is_written_as_kio_writes_it(
    version: int, numbers: tuple[int, ...], offsets: tuple[int, int], directory: bytes, cluster_id: str | None
) -> None:
    epoch, last_epoch, node_id, max_bytes = numbers
    request = FetchRequest(
        replica=ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(directory)),
        current_leader_epoch=Epoch(epoch),
        fetch_offset=Offset(offsets[0]),
        last_fetched_epoch=Epoch(last_epoch),
        max_bytes=max_bytes,
        max_wait_ms=500,
        high_watermark=Offset(offsets[1]),
    )
    module = requests_of(1, version)
    partition = only(
        module.FetchPartition,
        partition=0,
        current_leader_epoch=epoch,
        fetch_offset=offsets[0],
        last_fetched_epoch=last_epoch,
        partition_max_bytes=0,
        replica_directory_id=uuid_to(directory),
        high_watermark=TELLS_NONE if offsets[1] == UNKNOWN_OFFSET else offsets[1],
    )
    whole = module.FetchRequest(
        cluster_id=cluster_id,
        replica_state=module.ReplicaState(replica_id=node_id),
        max_wait=timedelta(milliseconds=500),
        min_bytes=0,
        max_bytes=max_bytes,
        topics=(module.FetchTopic(topic_id=uuid_to(METADATA_TOPIC_ID), partitions=(partition,)),),
        forgotten_topics_data=(),
    )
    assert fetch_request_body(version, request, cluster_id) == written(whole)
