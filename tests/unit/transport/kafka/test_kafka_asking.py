"""Requests to controllers of Kafka and their answers, against frames that real ones exchanged."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_response_schema
from kio.serial import entity_reader

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import NO_EPOCH, Epoch, Offset
from metadata_log.voters import Endpoint, Voter
from quorum.api.context import RequestContext
from quorum.api.controllers import RegisterController
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchRequest, FetchResponse, VoteRequest, VoteResponse
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
)
from quorum.transport.kafka import elections, fetch, voters
from quorum.transport.kafka.asking import NotSpokenError, asked, first_question, offered_in
from quorum.transport.kafka.fetch_answer import read_fetch_answer
from quorum.transport.kafka.fetch_asking import fetch_response_from
from quorum.transport.kafka.reader import BadFrame
from quorum.transport.kafka.wire import Questions, answers_of, questions_of, read_header, read_request

RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "fixtures" / "wire" / "voters.jsonl").read_text().splitlines()
]
NAMES = {
    1: "fetch",
    18: "api_versions",
    52: "vote",
    53: "begin_quorum_epoch",
    54: "end_quorum_epoch",
    59: "fetch_snapshot",
    70: "controller_registration",
    80: "add_raft_voter",
}
NEWEST = {1: (4, 18), 18: (0, 4), 52: (0, 2), 53: (0, 1), 54: (0, 1), 59: (0, 1), 70: (0, 0), 80: (0, 1), 81: (0, 0)}
KEY = ReplicaKey(node_id=NodeId(3), directory_id=DirectoryId(bytes([3]) * 16))
VOTE = VoteRequest(
    candidate=KEY, voter=KEY, candidate_epoch=Epoch(4), last_epoch=Epoch(3), last_epoch_end_offset=Offset(9)
)
_IDS = [f"{number}-{each['api']}" for number, each in enumerate(RECORDED)]


def _named(recorded: dict[str, Any]) -> Questions:
    return questions_of(NAMES[recorded["key"]], recorded["key"], recorded["version"])


def _frame(recorded: dict[str, Any], side: str) -> bytes:
    return base64.b64decode(recorded[side])[4:]


_CALLS: dict[int, Any] = {
    1: fetch.fetch_call_from,
    52: elections.vote_call_from,
    53: elections.begin_call_from,
    54: elections.end_call_from,
    59: fetch.snapshot_call_from,
    80: voters.add_call_from,
}


@pytest.mark.parametrize("recorded", [each for each in RECORDED if each["key"] != 18], ids=lambda each: each["api"])
def test_what_real_controllers_asked_is_asked_in_the_same_bytes(recorded: dict[str, Any]) -> None:
    data = _frame(recorded, "request")
    header = read_header(data)
    body = read_request(NAMES[header.key], header, data)
    cluster_id, timeout_ms = getattr(body, "cluster_id", None), 0
    if header.key == 70:
        request: Any = voters.registration_from(body)
    else:
        request = _CALLS[header.key](body, RequestContext()).request
    if header.key == 80:
        timeout_ms = body.timeout.total_seconds() * 1000
    ours = asked(request, NEWEST, cluster_id=cluster_id, timeout_ms=timeout_ms)
    mine = ours.frame(header.correlation_id, header.client_id or "")[4:]
    if header.key == 1:
        # Kafka's asks a bootstrap server for less, and says that it knows no high watermark where ours says 0.
        again = read_request("fetch", header, mine)
        assert _of_log(again) == _of_log(body)
    else:
        assert mine == data


def _of_log(body: Any) -> Any:
    (topic,) = body.topics
    (partition,) = topic.partitions
    known = max(partition.high_watermark, 0)
    place = (partition.current_leader_epoch, partition.fetch_offset, partition.last_fetched_epoch, known)
    whole = (body.cluster_id, body.replica_state, body.min_bytes, body.session_id, body.session_epoch, body.rack_id)
    return topic.topic_id, place, partition.replica_directory_id, partition.partition_max_bytes, whole, body.max_wait


@pytest.mark.parametrize("recorded", RECORDED, ids=_IDS)
def test_what_real_controllers_answered_is_read_as_kio_reads_it(recorded: dict[str, Any]) -> None:
    data = _frame(recorded, "answer")
    kind = load_response_schema(recorded["key"], recorded["version"])
    _, at = entity_reader(kind.__header_schema__)(data, 0)  # type: ignore[attr-defined]
    read = _named(recorded).read(data)
    wanted, _ = entity_reader(kind)(data, at)
    # Error codes stay numbers here.
    assert repr(read) == re.sub(r"<ErrorCode\.\w+: (-?\d+)>", r"\1", repr(wanted))


@pytest.mark.parametrize("recorded", [each for each in RECORDED if len(each["answer"]) < 900], ids=lambda e: e["api"])
def test_every_cut_and_every_changed_byte_of_an_answer_is_read_or_refused(recorded: dict[str, Any]) -> None:
    data, questions = _frame(recorded, "answer"), _named(recorded)
    for end in range(4, len(data)):
        with pytest.raises(BadFrame):
            questions.read(data[:end])
    for at in range(4, len(data)):
        for byte in (0x00, 0x7F, 0x80, 0xFF):
            _read_or_refused(recorded["key"], questions, data[:at] + bytes([byte]) + data[at + 1 :])


@given(st.sampled_from(RECORDED), st.binary(max_size=200))
def test_any_answer_is_read_or_refused(recorded: dict[str, Any], body: bytes) -> None:
    _read_or_refused(recorded["key"], _named(recorded), b"\0\0\0\1\0" + body)


_SAMPLES: dict[int, Any] = {
    1: FetchRequest(
        replica=KEY,
        current_leader_epoch=Epoch(4),
        fetch_offset=Offset(9),
        last_fetched_epoch=Epoch(3),
        max_bytes=1 << 20,
        max_wait_ms=500,
    ),
    52: VOTE,
}


def _read_or_refused(key: int, questions: Questions, data: bytes) -> None:
    if key == 1:
        # By hand it is read and refused as by kio.
        assert _found(lambda: read_fetch_answer(questions, data)) == _found(
            lambda: fetch_response_from(questions.read(data))
        )
    elif key in _SAMPLES:
        _found(lambda: asked(_SAMPLES[key], NEWEST, cluster_id="c", timeout_ms=1).read(data))
    else:
        _found(lambda: questions.read(data))


def _found(read: Callable[[], Any]) -> Any:
    """Return the result of `read`, or None if it rejects its input."""
    try:
        return read()
    except BadFrame:
        return None


class TestVersions:
    def test_the_newest_that_both_know_is_taken(self) -> None:
        for last, version in ((9, 2), (2, 2), (1, 1), (0, 0)):
            found = asked(VOTE, {52: (0, last)}, cluster_id="c", timeout_ms=1)
            assert found.questions.version == version

    @pytest.mark.parametrize(
        ("request_", "offered"),
        [
            (VOTE, {}),
            (_SAMPLES[1], {1: (4, 15)}),
            (AddRaftVoterRequest(voter=KEY, endpoints=(), ack_when_committed=False), {80: (0, 0)}),
        ],
    )
    def test_what_the_other_side_does_not_know_is_not_asked(self, request_: Any, offered: Any) -> None:
        with pytest.raises(NotSpokenError, match=r"Kafka 4\.0 or newer"):
            asked(request_, offered, cluster_id="c", timeout_ms=1)

    @pytest.mark.parametrize(
        ("request_", "offered", "words"),
        [
            (VOTE, {52: (3, 9)}, "versions 3 to 9 of vote (52); version 0 to 2 is needed"),
            (_SAMPLES[1], {1: (19, 21)}, "versions 19 to 21 of fetch (1); version 16 to 18 is needed"),
        ],
    )
    def test_a_later_release_without_a_version_of_ours_is_named(self, request_: Any, offered: Any, words: str) -> None:
        with pytest.raises(NotSpokenError) as raised:
            asked(request_, offered, cluster_id="c", timeout_ms=1)
        assert str(raised.value) == (
            f"it knows {words}: it is of a later release: use a version of this software that knows that release"
        )

    @pytest.mark.parametrize("key", sorted(_SAMPLES))
    def test_of_a_later_release_that_knows_ours_the_newest_of_ours_is_asked(self, key: int) -> None:
        questions = asked(_SAMPLES[key], {key: (0, 99)}, cluster_id="c", timeout_ms=1).questions
        assert (questions.key, questions.version) == (key, NEWEST[key][1])

    def test_a_pre_vote_is_never_asked_as_a_vote(self) -> None:
        pre_vote = VoteRequest(
            candidate=KEY,
            voter=KEY,
            candidate_epoch=Epoch(4),
            last_epoch=Epoch(3),
            last_epoch_end_offset=Offset(9),
            pre_vote=True,
        )
        assert asked(pre_vote, {52: (0, 2)}, cluster_id="c", timeout_ms=1).entity.topics[0].partitions[0].pre_vote
        with pytest.raises(NotSpokenError):
            asked(pre_vote, {52: (0, 1)}, cluster_id="c", timeout_ms=1)

    def test_who_does_not_know_our_api_versions_is_asked_again_in_what_it_knows(self) -> None:
        answers = answers_of("api_versions", 0)
        key = answers.make("ApiVersion", api_key=18, min_version=0, max_version=3)
        refusal = answers.frame(7, answers.response(error_code=Error.UNSUPPORTED_VERSION, api_keys=(key,)))
        again = offered_in(first_question(), refusal)
        assert isinstance(again, Questions)
        assert again.version == 3
        none = answers.make("ApiVersion", api_key=18, min_version=7, max_version=9)
        strange = answers.frame(7, answers.response(error_code=Error.UNSUPPORTED_VERSION, api_keys=(none,)))
        with pytest.raises(BadFrame, match="no version of ApiVersions"):
            offered_in(first_question(), strange)

    def test_a_peer_that_calls_itself_another_node_is_named_as_such(self) -> None:
        answers = answers_of("api_versions", 5)
        rejected = answers.frame(7, answers.response(error_code=Error.REBOOTSTRAP_REQUIRED, api_keys=()))
        with pytest.raises(BadFrame, match=r"REBOOTSTRAP_REQUIRED \(129\): another node, or one of another cluster"):
            offered_in(first_question(), rejected)

    def test_kafkas_own_answer_tells_versions_and_features(self) -> None:
        recorded = next(each for each in RECORDED if each["key"] == 18)
        offered = offered_in(first_question(), _frame(recorded, "answer"))
        assert isinstance(offered, dict)
        assert (offered[52], offered[80], offered[82]) == ((0, 2), (0, 1), (0, 0))
        said = asked(ApiVersionsRequest(), offered, cluster_id="c", timeout_ms=1).read(_frame(recorded, "answer"))
        assert (said.min_kraft_version, said.max_kraft_version, said.can_vote) == (0, 1, True)  # type: ignore[union-attr]


class TestAnswers:
    def _said(self, request: Any, key: int, **values: Any) -> Any:
        found = asked(request, {**NEWEST, 82: (0, 0)}, cluster_id="c", timeout_ms=1)
        answers = answers_of(found.questions._whole.__module__.split(".")[2], found.questions.version)
        return found.read(answers.frame(1, answers.response(**values)))

    def test_a_refusal_at_the_top_tells_no_epoch(self) -> None:
        assert self._said(VOTE, 52, error_code=Error.INCONSISTENT_CLUSTER_ID, topics=()) == VoteResponse(
            error=Error.INCONSISTENT_CLUSTER_ID, leader_epoch=NO_EPOCH
        )
        assert self._said(_SAMPLES[1], 1, error_code=Error.INCONSISTENT_CLUSTER_ID, responses=()) == FetchResponse(
            error=Error.INCONSISTENT_CLUSTER_ID, leader_epoch=NO_EPOCH
        )

    def test_an_answer_about_something_else_is_refused(self) -> None:
        with pytest.raises(BadFrame, match="one partition"):
            self._said(VOTE, 52, error_code=Error.NONE, topics=())
        with pytest.raises(BadFrame, match="one partition"):
            self._said(_SAMPLES[1], 1, error_code=Error.NONE, responses=())

    def test_changes_of_voters_are_answered_without_an_epoch(self) -> None:
        values = {"error_code": Error.DUPLICATE_VOTER, "error_message": "it is one"}
        for request, key in (
            (AddRaftVoterRequest(voter=KEY, endpoints=()), 80),
            (RemoveRaftVoterRequest(voter=KEY), 81),
        ):
            said = self._said(request, key, **values)
            assert (said.error, said.error_message) == (Error.DUPLICATE_VOTER, "it is one")
            assert (said.leader_id, said.leader_epoch) == (-1, NO_EPOCH)

    def test_an_update_is_answered_with_the_leader(self) -> None:
        update = UpdateRaftVoterRequest(current_leader_epoch=Epoch(4), voter=Voter(key=KEY))
        leader = answers_of("update_raft_voter", 0).make(
            "CurrentLeader", leader_id=2, leader_epoch=4, host="c2", port=9093
        )
        said = self._said(update, 82, error_code=Error.REQUEST_TIMED_OUT, current_leader=leader)
        assert (said.error, said.leader_id, said.leader_epoch) == (Error.REQUEST_TIMED_OUT, 2, 4)
        assert said.leader_endpoints == (Endpoint(name="CONTROLLER", host="c2", port=9093),)

    def test_a_registration_is_refused_in_words(self) -> None:
        request = RegisterController(controller_id=3, incarnation_id=bytes(16), listeners=(), features=())  # type: ignore[arg-type]
        said = self._said(request, 70, error_code=Error.NOT_CONTROLLER, error_message="not here")
        assert (said.error, said.message) == (Error.NOT_CONTROLLER, "not here")
        assert self._said(request, 70, error_code=Error.NONE, error_message=None).error is Error.NONE
