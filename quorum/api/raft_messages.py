"""The Raft RPCs as the core uses them: one partition, no cluster id, no topic id.

Must not know: protobuf, Kafka's wire formats, cluster ids and topic ids. `topic_id_fencing` in the node checks the ids
of requests and adds them to responses. An error is a field of the response, together with the leader and epoch that the
replica knows (KIP-595).

Sources: KIP-595 (Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch), KIP-630 (FetchSnapshot), KIP-853 (replica keys,
endpoints), KIP-996 (pre-vote), KIP-1166 (the fetching replica's high watermark).
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.ids import NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.api.leader_hint import LeaderHint
from quorum.api.transfer_messages import TransferLeadershipRequest, TransferLeadershipResponse
from quorum.api.voter_messages import VoterRequest, VoterResponse

UNKNOWN_OFFSET: Final = Offset(-1)
"""A high watermark that the sender does not know, or omits."""


class VoteRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Request the vote of `voter` in `candidate_epoch`. A pre-vote asks whether it would grant its vote in the next
    epoch.

    `last_epoch` and `last_epoch_end_offset` are the end of the candidate's log. A pre-vote carries the candidate's
    current epoch, not yet incremented (KIP-996).
    """

    candidate: ReplicaKey
    voter: ReplicaKey
    candidate_epoch: Epoch
    last_epoch: Epoch
    last_epoch_end_offset: Offset
    pre_vote: bool = False


class VoteResponse(LeaderHint, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, FENCED_LEADER_EPOCH (the candidate's epoch is old), INVALID_VOTER_KEY."""

    error: Error = Error.NONE
    vote_granted: bool = False


class BeginQuorumEpochRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The new leader announces to `voter` that it has won `leader_epoch`, with the endpoints to fetch from."""

    leader_id: NodeId
    leader_epoch: Epoch
    voter: ReplicaKey
    leader_endpoints: tuple[Endpoint, ...] = ()


class BeginQuorumEpochResponse(LeaderHint, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, FENCED_LEADER_EPOCH, INVALID_VOTER_KEY."""

    error: Error = Error.NONE


class EndQuorumEpochRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The leader of `leader_epoch` has resigned. `preferred_candidates` are in the order in which they should
    campaign."""

    leader_id: NodeId
    leader_epoch: Epoch
    preferred_candidates: tuple[ReplicaKey, ...] = ()
    leader_endpoints: tuple[Endpoint, ...] = ()


class EndQuorumEpochResponse(LeaderHint, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, FENCED_LEADER_EPOCH."""

    error: Error = Error.NONE


class CommittedBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The identity of a committed batch: its offset and its checksum.

    Attributes:
        base_offset: of its first record.
        crc: the CRC-32C in its header, which covers the timestamps and the records.
    """

    base_offset: Offset
    crc: int


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Request the log from `fetch_offset` on. This also states that every earlier record is durable at `replica`.

    `last_fetched_epoch` is the epoch of the record before `fetch_offset`, or 0 if there is no such record.
    `max_wait_ms` bounds how long the leader may park the request while it has no new records.

    `high_watermark` is that of the fetching replica, or -1 if it omits it. A leader with a higher one responds at once
    (KIP-1166).

    `committed_batch` is the newest committed batch there, or None if the replica names none. Kafka's protocol lacks
    this field.
    """

    replica: ReplicaKey
    current_leader_epoch: Epoch
    fetch_offset: Offset
    last_fetched_epoch: Epoch
    max_bytes: int
    max_wait_ms: int
    high_watermark: Offset = UNKNOWN_OFFSET
    committed_batch: CommittedBatch | None = None


class FetchResponse(LeaderHint, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, SNAPSHOT_NOT_FOUND.

    - `diverging`: the logs diverge. It is the end of the leader's largest epoch that is not above the replica's.
    - `snapshot_id`: the leader's log begins past `fetch_offset`. The replica must fetch and install this snapshot.
    - `records`: whole batches, byte for byte as in the leader's log.
    - `own_ids`: the metadata topic's committed own id in the responding replica's log, then the ids that it replaced.
      Empty if unknown.
    - `has_committed_batch`: True if the leader's log has the batch that the request named. None if the request named
      none, or if the batch's offset is before the log start.
    """

    error: Error = Error.NONE
    high_watermark: Offset = UNKNOWN_OFFSET
    log_start_offset: Offset = Offset(0)
    diverging: OffsetAndEpoch | None = None
    snapshot_id: OffsetAndEpoch | None = None
    records: bytes = b""
    own_ids: tuple[TopicId, ...] = ()
    has_committed_batch: bool | None = None


class FetchSnapshotRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Request at most `max_bytes` of a checkpoint file, from the byte `position` on (KIP-630)."""

    replica: ReplicaKey
    current_leader_epoch: Epoch
    snapshot_id: OffsetAndEpoch
    position: int
    max_bytes: int


class FetchSnapshotResponse(LeaderHint, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, SNAPSHOT_NOT_FOUND,
    POSITION_OUT_OF_RANGE.

    `data` are bytes of the file from `position` on, cut at any byte. `size` is the length of the whole file.
    """

    error: Error = Error.NONE
    snapshot_id: OffsetAndEpoch | None = None
    size: int = 0
    position: int = 0
    data: bytes = b""


Request = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | VoterRequest
    | TransferLeadershipRequest
)
Response = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | VoterResponse
    | TransferLeadershipResponse
)
