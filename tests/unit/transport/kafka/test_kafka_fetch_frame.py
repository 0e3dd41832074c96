"""The answer to a Fetch, put together by hand, is kio's, byte for byte; and read by hand it is what kio reads."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.constants import EntityType

from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, NodeId, TopicId
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchResponse
from quorum.transport.kafka.fetch_answer import _behind_records, read_fetch_answer
from quorum.transport.kafka.fetch_asking import fetch_response_from
from quorum.transport.kafka.fetch_frame import PLACED_FROM, fetch_frame, unplaced_fetch_frame
from quorum.transport.kafka.wire import NO_THROTTLE, Questions, questions_of, uuid_to
from tests.support.kafka_voter_requests import only

EPOCHS = st.integers(0, 2**31 - 1)
OFFSETS = st.integers(-1, 2**63 - 1)
POSITIONS = st.none() | st.builds(lambda e, o: OffsetAndEpoch(epoch=Epoch(e), offset=Offset(o)), EPOCHS, OFFSETS)
PORTS = st.integers(0, 65535)
PLACES = st.none() | st.builds(Endpoint, name=st.just("CONTROLLER"), host=st.text(max_size=200), port=PORTS)


@pytest.mark.parametrize("version", [16, 17, 18])
@given(
    error=st.sampled_from([Error.NONE, Error.FENCED_LEADER_EPOCH, Error.NOT_LEADER_OR_FOLLOWER]),
    leader_id=st.integers(0, 2**31 - 1),
    epoch=EPOCHS,
    offsets=st.tuples(OFFSETS, OFFSETS),
    positions=st.tuples(POSITIONS, POSITIONS),
    records=st.binary(max_size=300),
    place=PLACES,
)
def test_it_is_what_kio_writes(
    version: int,
    error: Error,
    leader_id: int,
    epoch: int,
    offsets: tuple[int, int],
    positions: tuple[OffsetAndEpoch | None, OffsetAndEpoch | None],
    records: bytes,
    place: Endpoint | None,
) -> None:
    response = FetchResponse(
        error=error,
        leader_id=NodeId(leader_id),
        leader_epoch=Epoch(epoch),
        high_watermark=Offset(offsets[0]),
        log_start_offset=Offset(offsets[1]),
        diverging=positions[0],
        snapshot_id=positions[1],
        records=records,
    )
    topic_id = TopicId(bytes(15) + b"\1")
    frame = fetch_frame(77, response, topic_id, place)
    assert frame == (77).to_bytes(4, "big") + b"\0" + _by_kio(version, response, topic_id, place)
    ours = fetch_frame(77, response, METADATA_TOPIC_ID, place)
    questions = questions_of("fetch", 1, version)
    read = read_fetch_answer(questions, ours)
    assert read == fetch_response_from(questions.read(ours))
    assert (read.records, read.high_watermark, read.error) == (records, offsets[0], error)
    if place is None or len(place.host.encode()) < 200:
        assert read_fetch_answer(cast("Questions", _Unread(version)), ours) == read


@pytest.mark.parametrize("version", [12, 13, 14, 15])
@given(leader_id=st.integers(-1, 2**31 - 1), positions=st.tuples(POSITIONS, POSITIONS), records=st.binary(max_size=300))
def test_without_places_it_is_what_kio_writes(
    version: int,
    leader_id: int,
    positions: tuple[OffsetAndEpoch | None, OffsetAndEpoch | None],
    records: bytes,
) -> None:
    response = FetchResponse(
        leader_id=NodeId(leader_id),
        leader_epoch=Epoch(4),
        high_watermark=Offset(9),
        log_start_offset=Offset(2),
        diverging=positions[0],
        snapshot_id=positions[1],
        records=records,
    )
    frame = unplaced_fetch_frame(77, response, version, METADATA_TOPIC_ID)
    assert frame == (77).to_bytes(4, "big") + b"\0" + _by_kio(version, response, METADATA_TOPIC_ID, None)


class _Unread:
    """A stub of kio's reader that must not run: the bytes behind the records are known."""

    def __init__(self, version: int) -> None:
        self.version = version

    def read(self, data: bytes) -> Any:
        raise AssertionError("it was left to kio")


def test_what_is_long_behind_the_records_is_not_kept() -> None:
    place = Endpoint(name="CONTROLLER", host="h" * 600, port=1)
    response = FetchResponse(leader_id=NodeId(1), leader_epoch=Epoch(1), records=b"r")
    before = _behind_records.cache_info().misses
    read = read_fetch_answer(questions_of("fetch", 1, 18), fetch_frame(7, response, METADATA_TOPIC_ID, place))
    assert (read.leader_endpoints, read.records) == ((place,), b"r")
    assert _behind_records.cache_info().misses == before


def _by_kio(version: int, response: FetchResponse, topic_id: TopicId, place: Endpoint | None) -> bytes:
    module: Any = load_payload_module(1, version, EntityType.response)
    values: dict[str, Any] = {}
    if response.diverging is not None:
        values["diverging_epoch"] = module.EpochEndOffset(
            epoch=response.diverging.epoch, end_offset=response.diverging.offset
        )
    if response.snapshot_id is not None:
        values["snapshot_id"] = module.SnapshotId(
            epoch=response.snapshot_id.epoch, end_offset=response.snapshot_id.offset
        )
    leader_id = -1 if place is None and version >= PLACED_FROM else response.leader_id
    partition = module.PartitionData(
        partition_index=0,
        error_code=ErrorCode(int(response.error)),
        high_watermark=response.high_watermark,
        log_start_offset=response.log_start_offset,
        current_leader=module.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=response.leader_epoch),
        aborted_transactions=(),
        records=response.records,
        **values,
    )
    topic = {"topic": METADATA_TOPIC_NAME} if version == 12 else {"topic_id": uuid_to(topic_id)}
    nodes = () if place is None else (module.NodeEndpoint(node_id=leader_id, host=place.host, port=place.port),)
    entity = only(
        module.FetchResponse,
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        responses=(module.FetchableTopicResponse(**topic, partitions=(partition,)),),
        node_endpoints=nodes,
    )
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()
