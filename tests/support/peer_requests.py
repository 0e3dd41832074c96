"""One request of each kind that replicas and operators send to a quorum, with the form of its response."""

from __future__ import annotations

from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Voter
from quorum.api.raft_messages import (
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
from quorum.api.voter_messages import (
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
