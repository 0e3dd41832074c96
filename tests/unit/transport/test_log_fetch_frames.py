"""The frames by which our controllers fetch the log from each other are Kafka's: kio writes and reads the same."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Endpoint
from quorum.controller.context import RequestContext
from quorum.errors import Error
from quorum.raft.messages import UNKNOWN_OFFSET, FetchRequest, FetchResponse
from quorum.transport.kafka.asking import asked
from quorum.transport.kafka.fetch import fetch_call_from
from quorum.transport.kafka.fetch_asking import fetch_response_from
from quorum.transport.kafka.log_fetch_frames import (
    HEAD_BYTES,
    LENGTH_BYTES,
    MAX_FETCH_BYTES,
    answer_frame,
    correlation_in,
    may_be_request,
    read_plain_answer,
    read_request,
    request_frame,
)
from quorum.transport.kafka.wire import questions_of, read_header
from quorum.transport.kafka.wire import read_request as read_by_kio

QUESTIONS = questions_of("fetch", 1, 18)
CONTEXT = RequestContext(client_host="::1", listener="CONTROLLER")
TOPIC_ID = TopicId(bytes(15) + b"\1")
EPOCHS = st.integers(0, 2**31 - 1)
OFFSETS = st.integers(0, 2**63 - 2)
CORRELATIONS = st.integers(0, 2**31 - 1)
CLUSTER_IDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=100)
REQUESTS = st.builds(
    FetchRequest,
    replica=st.builds(ReplicaKey, node_id=EPOCHS, directory_id=st.binary(min_size=16, max_size=16)),
    current_leader_epoch=EPOCHS,
    fetch_offset=OFFSETS,
    last_fetched_epoch=EPOCHS,
    max_bytes=st.integers(0, MAX_FETCH_BYTES),
    max_wait_ms=EPOCHS,
    high_watermark=OFFSETS | st.just(UNKNOWN_OFFSET),
)
FETCH = FetchRequest(
    replica=ReplicaKey(node_id=NodeId(3), directory_id=DirectoryId(bytes(range(16)))),
    current_leader_epoch=Epoch(4),
    fetch_offset=Offset(70),
    last_fetched_epoch=Epoch(3),
    max_bytes=1 << 20,
    max_wait_ms=500,
    high_watermark=Offset(60),
)
CONTROLLER = Endpoint(name="CONTROLLER", host="c2.example", port=9093)


def _frame(request: FetchRequest = FETCH, cluster_id: str = "4L6g3nShT-eMCtK--X86sw", number: int = 7) -> bytes:
    return request_frame(request, cluster_id=cluster_id, topic_id=TOPIC_ID, correlation_id=number)


def _in_full(request: FetchRequest, cluster_id: str) -> Any:
    """kio's entity of the same request, as a Java controller is asked."""
    return asked(request, {1: (18, 18)}, cluster_id=cluster_id, timeout_ms=1000).entity


class TestRequests:
    @settings(deadline=None)
    @given(request=REQUESTS, cluster_id=CLUSTER_IDS, number=CORRELATIONS)
    def test_a_request_is_what_kio_writes_but_for_defaults_that_it_leaves_out(
        self, request: FetchRequest, cluster_id: str, number: int
    ) -> None:
        frame = _frame(request, cluster_id, number)
        assert int.from_bytes(frame[:LENGTH_BYTES], "big") == len(frame) - LENGTH_BYTES
        header = read_header(frame[LENGTH_BYTES:])
        assert (header.key, header.version, header.correlation_id) == (1, 18, number)
        call: Any = fetch_call_from(read_by_kio("fetch", header, frame[LENGTH_BYTES:]), CONTEXT)
        assert (call.request, call.cluster_id, call.topic_id) == (request, cluster_id, TOPIC_ID)
        if request.high_watermark != UNKNOWN_OFFSET and any(request.replica.directory_id):
            assert frame == QUESTIONS.frame(number, "kraft-controller", _in_full(request, cluster_id))

    @settings(deadline=None)
    @given(request=REQUESTS, cluster_id=CLUSTER_IDS, number=CORRELATIONS)
    def test_it_is_read_as_by_who_reads_in_full(self, request: FetchRequest, cluster_id: str, number: int) -> None:
        frame = _frame(request, cluster_id, number)
        assert may_be_request(frame[:HEAD_BYTES])
        found = read_request(frame[LENGTH_BYTES:], CONTEXT)
        assert found is not None
        assert found[0] == number
        in_full = fetch_call_from(_in_full(request, cluster_id), CONTEXT)
        assert in_full is not None
        assert (found[1].request, found[1].cluster_id, found[1].context) == (request, cluster_id, CONTEXT)
        assert found[1].topic_id == in_full.topic_id == TOPIC_ID

    @settings(deadline=None)
    @given(data=st.data())
    def test_whatever_has_another_layout_is_left_to_others(self, data: st.DataObject) -> None:
        """A changed byte makes another request of this layout, which kio reads alike, or none."""
        frame = bytearray(_frame()[LENGTH_BYTES:])
        at = data.draw(st.integers(0, len(frame) - 1))
        frame[at] = data.draw(st.integers(0, 255))
        found = read_request(bytes(frame), CONTEXT)
        if found is None:
            return
        header = read_header(bytes(frame))
        call: Any = fetch_call_from(read_by_kio("fetch", header, bytes(frame)), CONTEXT)
        assert (found[0], found[1].request) == (header.correlation_id, call.request)
        assert (found[1].cluster_id, found[1].topic_id) == (call.cluster_id, call.topic_id)

    @pytest.mark.parametrize("cut", [1, 20, 90])
    def test_one_cut_short_or_too_long_is_none(self, cut: int) -> None:
        frame = _frame()[LENGTH_BYTES:]
        assert read_request(frame[:-cut], CONTEXT) is None
        assert read_request(frame + bytes(cut), CONTEXT) is None

    def test_another_client_is_none_of_ours(self) -> None:
        other = QUESTIONS.frame(7, "broker-raft-clie", _in_full(FETCH, "c"))
        assert not may_be_request(other[:HEAD_BYTES])
        assert read_request(other[LENGTH_BYTES:], CONTEXT) is None


class TestAnswers:
    @settings(deadline=None)
    @given(
        number=CORRELATIONS,
        leader=st.sampled_from([(), (CONTROLLER,), (Endpoint(name="GRPC", host="h", port=1), CONTROLLER)]),
        offsets=st.tuples(OFFSETS, OFFSETS),
        records=st.binary(max_size=300) | st.binary(min_size=16_000, max_size=17_000),
    )
    def test_a_plain_one_is_read_as_by_kio(
        self, number: int, leader: tuple[Endpoint, ...], offsets: tuple[int, int], records: bytes
    ) -> None:
        answer = FetchResponse(
            leader_id=NodeId(2),
            leader_epoch=Epoch(4),
            leader_endpoints=leader,
            high_watermark=Offset(offsets[0]),
            log_start_offset=Offset(offsets[1]),
            records=records,
        )
        frame = answer_frame(answer, TOPIC_ID, number)
        assert int.from_bytes(frame[:LENGTH_BYTES], "big") == len(frame) - LENGTH_BYTES
        assert correlation_in(frame[LENGTH_BYTES:]) == number
        found = read_plain_answer(frame[LENGTH_BYTES:], TOPIC_ID)
        by_kio = fetch_response_from(QUESTIONS.read(frame[LENGTH_BYTES:]))
        assert found is not None
        assert (found.leader_id, found.leader_epoch) == (by_kio.leader_id, by_kio.leader_epoch)
        assert (found.high_watermark, found.log_start_offset) == offsets
        assert found.records == by_kio.records == records
        assert found.leader_endpoints == ()

    @pytest.mark.parametrize(
        "more",
        [
            {"error": Error.NOT_LEADER_OR_FOLLOWER},
            {"error": Error.FENCED_LEADER_EPOCH},
            {"diverging": OffsetAndEpoch(offset=Offset(4), epoch=Epoch(2))},
            {"snapshot_id": OffsetAndEpoch(offset=Offset(4), epoch=Epoch(2))},
        ],
    )
    def test_one_that_tells_more_is_not_plain(self, more: dict[str, Any]) -> None:
        answer = FetchResponse(leader_id=NodeId(2), leader_epoch=Epoch(4), **more)
        assert read_plain_answer(answer_frame(answer, TOPIC_ID, 7)[LENGTH_BYTES:], TOPIC_ID) is None

    def test_a_refusal_of_the_whole_and_another_topic_are_not_plain(self) -> None:
        refused = bytearray(answer_frame(FetchResponse(leader_epoch=Epoch(4)), TOPIC_ID, 7)[LENGTH_BYTES:])
        struct.pack_into(">h", refused, 9, Error.INCONSISTENT_CLUSTER_ID)
        assert read_plain_answer(bytes(refused), TOPIC_ID) is None
        whole = answer_frame(FetchResponse(leader_epoch=Epoch(4)), TOPIC_ID, 7)[LENGTH_BYTES:]
        assert read_plain_answer(whole, TopicId(bytes(16))) is None

    def test_one_cut_anywhere_is_not_plain(self) -> None:
        answer = FetchResponse(leader_id=NodeId(2), leader_epoch=Epoch(4), records=b"records")
        frame = answer_frame(answer, TOPIC_ID, 7)[LENGTH_BYTES:]
        assert read_plain_answer(frame, TOPIC_ID) is not None
        assert all(read_plain_answer(frame[:end], TOPIC_ID) is None for end in range(len(frame) - 1))
