"""Requests of another cluster do not reach the core, whatever they ask for; those that name no cluster do."""

from __future__ import annotations

import pytest

from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Voter
from quorum.errors import Error
from quorum.node.gate import Gate
from quorum.node.ports import PeerCall, PeerRequest
from quorum.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteRequest,
    VoteResponse,
)
from quorum.raft.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from tests.support.raft_transcript import endpoints_of, key_of

VOTE = VoteRequest(
    candidate=key_of(2), voter=key_of(1), candidate_epoch=Epoch(5), last_epoch=Epoch(0), last_epoch_end_offset=Offset(0)
)
REQUESTS = {
    "vote": (VOTE, VoteResponse),
    "pre-vote": (
        VoteRequest(
            candidate=key_of(2),
            voter=key_of(1),
            candidate_epoch=Epoch(5),
            last_epoch=Epoch(0),
            last_epoch_end_offset=Offset(0),
            pre_vote=True,
        ),
        VoteResponse,
    ),
    "begin": (
        BeginQuorumEpochRequest(leader_id=key_of(2).node_id, leader_epoch=Epoch(5), voter=key_of(1)),
        BeginQuorumEpochResponse,
    ),
    "end": (
        EndQuorumEpochRequest(leader_id=key_of(2).node_id, leader_epoch=Epoch(5)),
        EndQuorumEpochResponse,
    ),
    "fetch": (
        FetchRequest(
            replica=key_of(2),
            current_leader_epoch=Epoch(5),
            fetch_offset=Offset(0),
            last_fetched_epoch=Epoch(0),
            max_bytes=1,
            max_wait_ms=0,
        ),
        FetchResponse,
    ),
    "fetch a snapshot": (
        FetchSnapshotRequest(
            replica=key_of(2),
            current_leader_epoch=Epoch(5),
            snapshot_id=OffsetAndEpoch(offset=Offset(9), epoch=Epoch(4)),
            position=0,
            max_bytes=1,
        ),
        FetchSnapshotResponse,
    ),
    "add a voter": (AddRaftVoterRequest(voter=key_of(3), endpoints=endpoints_of(3)), AddRaftVoterResponse),
    "remove a voter": (RemoveRaftVoterRequest(voter=key_of(2)), RemoveRaftVoterResponse),
    "update a voter": (
        UpdateRaftVoterRequest(current_leader_epoch=Epoch(5), voter=Voter(key=key_of(2), endpoints=endpoints_of(2))),
        UpdateRaftVoterResponse,
    ),
}


@pytest.mark.parametrize("cluster_id", ["ours", None], ids=["ours", "not named"])
@pytest.mark.parametrize("name", REQUESTS)
def test_our_clusters_requests_pass(name: str, cluster_id: str | None) -> None:
    assert Gate("ours").validate(PeerCall(request=REQUESTS[name][0], cluster_id=cluster_id)) is None


@pytest.mark.parametrize("cluster_id", ["", "invalid-uuid"])
@pytest.mark.parametrize("name", REQUESTS)
def test_another_clusters_are_refused_in_their_own_form_and_learn_of_no_leader(name: str, cluster_id: str) -> None:
    request: PeerRequest = REQUESTS[name][0]
    refusal = Gate("ours").validate(PeerCall(request=request, cluster_id=cluster_id))
    assert refusal is not None
    answer = refusal.response_to(request, key_of(3).node_id, Epoch(5), ())
    assert type(answer) is REQUESTS[name][1]
    assert (answer.error, answer.leader_id) == (Error.INCONSISTENT_CLUSTER_ID, -1)


@pytest.mark.parametrize("name", REQUESTS)
def test_another_partition_is_refused(name: str) -> None:
    """The metadata topic has one."""
    request: PeerRequest = REQUESTS[name][0]
    refusal = Gate("ours").validate(PeerCall(request=request, cluster_id="ours", partition=1))
    assert refusal is not None
    answer = refusal.response_to(request, key_of(3).node_id, Epoch(5), ())
    assert type(answer) is REQUESTS[name][1]
    assert (answer.error, answer.leader_id) == (Error.UNKNOWN_TOPIC_OR_PARTITION, 3)
