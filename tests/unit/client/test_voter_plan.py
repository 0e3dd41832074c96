"""The effect of a voter change on the majority, and the sentences of the commands about it."""

from __future__ import annotations

import pytest

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Voter
from quorum.api.error_codes import Error
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
    VoterRequest,
)
from quorum.cli.errors import CliError
from quorum.cli.voters import _check_votes_not
from quorum.client.quorum_status import QuorumStatus, ReplicaStatus
from quorum.client.voter_plan import LIVE_MS, live_voters, plan_addition, plan_removal
from quorum.transport.grpc.convert import voters as wire
from tests.support.raft_transcript_voters import endpoints_of

NOW = 1_700_000_000_000


def _key(node_id: int) -> ReplicaKey:
    return ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes([node_id]) * 16))


def _replica(node_id: int, age_ms: int | None) -> ReplicaStatus:
    fetched = -1 if age_ms is None else NOW - age_ms
    return ReplicaStatus(
        replica=_key(node_id),
        log_end_offset=Offset(9),
        last_fetch_timestamp_ms=fetched,
        last_caught_up_timestamp_ms=fetched,
    )


def _status(ages: dict[int, int | None], observers: dict[int, int | None] | None = None) -> QuorumStatus:
    """Voter 1 leads; `ages` say how long ago each fetched."""
    return QuorumStatus(
        cluster_id="c",
        topic_id=TopicId(bytes(16)),
        address="host1:9094",
        answered_by=1,
        leader_id=1,
        leader_epoch=Epoch(3),
        high_watermark=Offset(9),
        voters=tuple(_replica(node_id, age) for node_id, age in ages.items()),
        observers=tuple(_replica(node_id, age) for node_id, age in (observers or {}).items()),
        nodes=(),
    )


def test_who_fetched_lately_is_live_by_the_leaders_clock() -> None:
    assert live_voters(_status({1: 0, 2: LIVE_MS, 3: LIVE_MS + 1, 4: None})) == (1, 2)


def test_a_removal_that_leaves_no_majority_of_live_voters_is_a_problem() -> None:
    plan = plan_removal(_status({1: 0, 2: 10, 3: None}), _key(2))
    assert (plan.after, plan.live_after, plan.majority_after) == ((1, 3), (1,), 2)
    assert plan.problem is not None
    assert "Start 3 first" in plan.problem


def test_the_removal_of_a_dead_voter_is_none() -> None:
    plan = plan_removal(_status({1: 0, 2: 10, 3: None}), _key(3))
    assert (plan.problem, plan.tolerated) == (None, 0)


def test_the_leader_and_a_running_voter_are_told_of() -> None:
    status = _status({1: 0, 2: 10, 3: 10})
    assert "resigns" in plan_removal(status, _key(1)).notes[0]
    assert "observer" in plan_removal(status, _key(2)).notes[0]


def test_an_addition_says_what_an_even_number_is_worth_and_who_does_not_fetch() -> None:
    unknown = plan_addition(_status({1: 0, 2: 10, 3: 10}), _key(4))
    stopped = plan_addition(_status({1: 0, 2: 10, 3: 10}, {4: LIVE_MS + 1}), _key(4))
    for plan in (unknown, stopped):
        assert (plan.after, plan.majority_after, plan.live_after) == ((1, 2, 3, 4), 3, (1, 2, 3))
        assert plan.problem is not None
        assert "does not fetch from the leader" in plan.problem
        assert plan.notes == ("4 voters tolerate no more losses than 3: add another one",)
    sound = plan_addition(_status({1: 0, 2: 10}, {3: 5}), _key(3))
    assert (sound.problem, sound.tolerated, sound.notes) == (None, 1, ())


def test_a_node_id_that_votes_is_not_added_again() -> None:
    status = _status({1: 0, 2: 10, 3: 10})
    with pytest.raises(CliError, match=r"^controller 3 is a voter already$"):
        _check_votes_not(status, _key(3))
    replaced = ReplicaKey(node_id=NodeId(3), directory_id=DirectoryId(bytes([9]) * 16))
    with pytest.raises(CliError, match=r"Remove the old one first: kraft quorum remove-controller --controller-id 3$"):
        _check_votes_not(status, replaced)
    _check_votes_not(status, _key(4))


def test_requests_and_answers_come_back_from_the_wire_as_they_went() -> None:
    voter = Voter(key=_key(4), endpoints=endpoints_of(4), max_kraft_version=1)
    requests: tuple[VoterRequest, ...] = (
        AddRaftVoterRequest(voter=_key(4), endpoints=endpoints_of(4), ack_when_committed=False, validate_only=True),
        AddRaftVoterRequest(voter=_key(4), endpoints=endpoints_of(4)),
        RemoveRaftVoterRequest(voter=_key(4), validate_only=True),
        RemoveRaftVoterRequest(voter=_key(4), keeps_majority=True),
        RemoveRaftVoterRequest(voter=_key(4), only_if_unreachable=True),
        UpdateRaftVoterRequest(current_leader_epoch=Epoch(7), voter=voter),
        UpgradeKRaftVersionRequest(kraft_version=1),
        ApiVersionsRequest(),
    )
    for request in requests:
        message = wire.METHODS[type(request)].to(request, "cluster")
        call = wire.request_from(type(request), type(message).FromString(message.SerializeToString()))
        assert (call.request, call.cluster_id) == (request, "cluster")
    change = AddRaftVoterResponse(
        error=Error.DUPLICATE_VOTER,
        error_message="twice",
        leader_id=NodeId(1),
        leader_epoch=Epoch(3),
        leader_endpoints=endpoints_of(1),
        voters_offset=Offset(8),
    )
    assert wire.change_response_from(AddRaftVoterRequest, wire.change_response_to(change)) == change
    versions = ApiVersionsResponse(leader_epoch=Epoch(3), replica=_key(4), can_vote=True, max_kraft_version=1)
    assert wire.versions_response_from(wire.versions_response_to(versions)) == versions
