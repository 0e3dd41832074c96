from __future__ import annotations

from metadata_log.directory import CommittedState
from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, ZERO_TOPIC_ID, NodeId, ReplicaKey, TopicId
from metadata_log.image import ImageBuilder, MetadataImage
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import TopicRecord
from metadata_log.voters import Endpoint
from quorum.api.calls import PeerCall
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchRequest, FetchResponse, VoteRequest, VoteResponse
from quorum.node.core.topic_id_fencing import TopicIdFence
from tests.support.peer_requests import REQUESTS

OWN = TopicId(b"\x11" * 16)
OTHER = TopicId(b"\x22" * 16)
THIRD = TopicId(b"\x33" * 16)
ME = ReplicaKey(node_id=1)  # type: ignore[arg-type]
FETCH = FetchRequest(
    replica=ME,
    current_leader_epoch=Epoch(1),
    fetch_offset=Offset(0),
    last_fetched_epoch=Epoch(0),
    max_bytes=1,
    max_wait_ms=0,
)
VOTE = VoteRequest(
    candidate=ME, voter=ME, candidate_epoch=Epoch(1), last_epoch=Epoch(0), last_epoch_end_offset=Offset(0)
)


def _image(topic_id: TopicId, end: int = 1) -> MetadataImage:
    builder = ImageBuilder(MetadataImage.empty())
    builder.apply(TopicRecord(name=METADATA_TOPIC_NAME, topic_id=topic_id), 0)
    return builder.build(end, 1, 0)


def _error(gate: TopicIdFence, *, topic_id: TopicId = METADATA_TOPIC_ID, cluster_id: str | None = "c") -> Error:
    refusal = gate.validate(PeerCall(request=FETCH, cluster_id=cluster_id, topic_id=topic_id))
    return Error.NONE if refusal is None else refusal.error


def test_any_id_is_accepted_until_an_own_one_is_committed_but_the_null_id() -> None:
    """A fresh disk, or an image that is still loading, must not cost an election."""
    gate = TopicIdFence("c")
    assert _error(gate) is Error.NONE
    assert _error(gate, topic_id=OWN) is Error.NONE
    assert _error(gate, topic_id=ZERO_TOPIC_ID) is Error.UNKNOWN_TOPIC_ID
    gate.on_appended(_image(OWN))
    assert _error(gate, topic_id=OTHER) is Error.NONE, "what is only appended counts for nothing"


def test_the_sentinel_is_accepted_always_and_the_own_id_from_replay_on() -> None:
    gate = TopicIdFence("c")
    gate.on_committed(_image(OWN))
    assert _error(gate, topic_id=OWN) is Error.NONE
    assert _error(gate) is Error.NONE
    assert _error(gate, topic_id=OTHER) is Error.UNKNOWN_TOPIC_ID
    assert _error(gate, topic_id=ZERO_TOPIC_ID) is Error.UNKNOWN_TOPIC_ID


def test_an_id_that_was_only_appended_is_forgotten_with_the_leadership() -> None:
    gate = TopicIdFence("c")
    gate.on_committed(_image(OWN))
    gate.on_appended(_image(OTHER))
    assert _error(gate, topic_id=OTHER) is Error.NONE
    gate.on_lost_leadership()
    assert _error(gate, topic_id=OTHER) is Error.UNKNOWN_TOPIC_ID


def test_an_own_id_that_is_deleted_is_refused_and_not_sent_and_the_next_one_is() -> None:
    gate = TopicIdFence("c")
    gate.on_committed(_image(OWN))
    gate.on_fetch_answered(2)
    gate.on_id_error(2)
    gate.on_appended(MetadataImage.empty())
    assert _error(gate, topic_id=OWN) is Error.NONE, "what was only appended may be undone"
    gate.on_committed(MetadataImage.empty())
    assert gate.topic_id_for(FETCH, 2) == METADATA_TOPIC_ID
    assert (gate.own_ids, _error(gate)) == ((), Error.NONE)
    gate.on_appended(_image(OTHER))
    assert (_error(gate, topic_id=OTHER), gate.topic_id_for(FETCH, 2)) == (Error.NONE, METADATA_TOPIC_ID)
    gate.on_committed(_image(OTHER))
    assert gate.topic_id_for(FETCH, 2) == OTHER, "who did not know the id that was may know this one"
    assert gate.own_ids == (OTHER, OWN)
    assert (_error(gate, topic_id=OTHER), _error(gate, topic_id=OWN)) == (Error.NONE, Error.NONE), "this log held both"
    assert _error(gate, topic_id=THIRD) is Error.UNKNOWN_TOPIC_ID


def test_another_cluster_is_refused_and_a_missing_name_is_not() -> None:
    gate = TopicIdFence("c")
    assert _error(gate, cluster_id="d") is Error.INCONSISTENT_CLUSTER_ID
    assert _error(gate, cluster_id=None) is Error.NONE


def test_only_a_fetch_that_was_answered_before_names_the_own_id() -> None:
    gate = TopicIdFence("c")
    gate.on_fetch_answered(2)
    assert gate.topic_id_for(FETCH, 2) == METADATA_TOPIC_ID
    gate.on_committed(_image(OWN))
    assert gate.topic_id_for(FETCH, 2) == OWN
    assert gate.topic_id_for(FETCH, 3) == METADATA_TOPIC_ID
    gate.on_epoch()
    assert gate.topic_id_for(FETCH, 2) == METADATA_TOPIC_ID


def test_votes_and_the_like_name_the_own_id_once_it_is_committed_and_the_sentinel_after_an_id_error() -> None:
    gate = TopicIdFence("c")
    assert gate.topic_id_for(VOTE, 2) == METADATA_TOPIC_ID
    gate.on_appended(_image(OWN))
    assert gate.topic_id_for(VOTE, 2) == METADATA_TOPIC_ID
    gate.on_committed(_image(OWN))
    for request in (VOTE, *(REQUESTS[name][0] for name in ("begin", "end", "fetch a snapshot"))):
        assert gate.topic_id_for(request, 2) == OWN
    gate.on_id_error(2)
    assert (gate.topic_id_for(VOTE, 2), gate.topic_id_for(VOTE, 3)) == (METADATA_TOPIC_ID, OWN)
    gate.on_epoch()
    assert gate.topic_id_for(VOTE, 2) == OWN


def test_a_stranger_is_asked_by_the_own_id_alone_until_it_answers_as_one_of_us() -> None:
    """The sentinel would let it take our position for a copy of its log."""
    gate = TopicIdFence("c")
    gate.on_committed(_image(OWN))
    gate.on_stranger(2)
    assert gate.topic_id_for(FETCH, 2) == OWN
    gate.on_id_error(2)
    assert gate.topic_id_for(FETCH, 2) == METADATA_TOPIC_ID


def test_what_an_earlier_run_knew_counts_until_the_image_has_come_as_far() -> None:
    gate = TopicIdFence("c", CommittedState(high_watermark=Offset(5), topic_id=OWN))
    assert gate.own_ids == (OWN,)
    gate.on_committed(_image(OTHER))
    assert list(gate.own_ids) == [OWN], "it ends at 1"
    gate.on_committed(_image(OTHER, end=5))
    assert list(gate.own_ids) == [OTHER, OWN]


def test_an_id_that_was_only_accepted_counts_until_the_image_has_one() -> None:
    gate = TopicIdFence("c", CommittedState(high_watermark=Offset(0), topic_id=OWN))
    gate.on_committed(MetadataImage.empty())
    assert gate.own_ids == (OWN,)
    gate.on_committed(_image(OTHER))
    assert list(gate.own_ids) == [OTHER, OWN]


def test_after_an_id_error_the_sentinel_is_sent_until_the_next_epoch() -> None:
    gate = TopicIdFence("c")
    gate.on_committed(_image(OWN))
    gate.on_fetch_answered(2)
    gate.on_id_error(2)
    gate.on_fetch_answered(2)
    assert gate.topic_id_for(FETCH, 2) == METADATA_TOPIC_ID
    gate.on_epoch()
    gate.on_fetch_answered(2)
    assert gate.topic_id_for(FETCH, 2) == OWN


def test_a_refusal_has_the_form_of_the_answer_that_was_asked_for_and_names_the_leader_to_our_own() -> None:
    at = (Endpoint(name="GRPC", host="h", port=9094),)
    foreign = TopicIdFence("c").validate(PeerCall(request=VOTE, cluster_id="d"))
    assert foreign is not None
    vote = foreign.response_to(VOTE, NodeId(2), Epoch(4), at)
    assert isinstance(vote, VoteResponse)
    assert (vote.error, vote.leader_id, vote.leader_epoch, vote.vote_granted, vote.leader_endpoints) == (
        Error.INCONSISTENT_CLUSTER_ID, -1, 4, False, (),
    )  # fmt: skip
    gate = TopicIdFence("c")
    gate.on_committed(_image(OWN))
    wrong_id = gate.validate(PeerCall(request=FETCH, cluster_id="c", topic_id=OTHER))
    assert wrong_id is not None
    fetch = wrong_id.response_to(FETCH, NodeId(2), Epoch(4), at)
    assert isinstance(fetch, FetchResponse)
    assert (fetch.error, fetch.leader_id, fetch.leader_endpoints) == (Error.UNKNOWN_TOPIC_ID, 2, at)
    assert wrong_id.response_to(FETCH, None, Epoch(4), ()).leader_id == -1
