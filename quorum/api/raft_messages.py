"""The Raft RPCs as the core sees them: one partition, no cluster id, no topic id.

Decides: what a request and an answer hold. Must not know: protobuf, Kafka's wire forms, cluster ids and topic ids; the
node's gate checks and adds those. Errors are values of the answer, always with the leader and epoch that the answering
replica knows (KIP-595).

Sources: KIP-595 (Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch), KIP-630 (FetchSnapshot),
KIP-853 (replica keys, endpoints), KIP-996 (pre-vote),
KIP-1166 (the fetching replica's high watermark).
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.ids import NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.api.transfer_messages import TransferLeadershipRequest, TransferLeadershipResponse
from quorum.api.voter_messages import VoterRequest, VoterResponse

NO_LEADER: Final = NodeId(-1)
"""The leader id of an answer from a replica that knows none in its epoch."""
UNKNOWN_OFFSET: Final = Offset(-1)
"""A high watermark that the sender does not know, or does not tell."""


class VoteRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Asks `voter` for its vote in `candidate_epoch`, or, with `pre_vote`, whether it would give one in the next.

    `last_epoch` and `last_epoch_end_offset` are the end of the candidate's log. A pre-vote names the epoch that the
    candidate is in, not yet raised (KIP-996).
    """

    candidate: ReplicaKey
    voter: ReplicaKey
    candidate_epoch: Epoch
    last_epoch: Epoch
    last_epoch_end_offset: Offset
    pre_vote: bool = False


class VoteResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, FENCED_LEADER_EPOCH (the candidate's epoch is old), INVALID_VOTER_KEY."""

    error: Error = Error.NONE
    leader_id: NodeId = NO_LEADER
    leader_epoch: Epoch
    vote_granted: bool = False
    leader_endpoints: tuple[Endpoint, ...] = ()


class BeginQuorumEpochRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The new leader tells `voter` that it has won `leader_epoch`, and where it is to be fetched from."""

    leader_id: NodeId
    leader_epoch: Epoch
    voter: ReplicaKey
    leader_endpoints: tuple[Endpoint, ...] = ()


class BeginQuorumEpochResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, FENCED_LEADER_EPOCH, INVALID_VOTER_KEY."""

    error: Error = Error.NONE
    leader_id: NodeId = NO_LEADER
    leader_epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()


class EndQuorumEpochRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The leader of `leader_epoch` has resigned. `preferred_candidates` stand in the order in which they should try."""

    leader_id: NodeId
    leader_epoch: Epoch
    preferred_candidates: tuple[ReplicaKey, ...] = ()
    leader_endpoints: tuple[Endpoint, ...] = ()


class EndQuorumEpochResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, FENCED_LEADER_EPOCH."""

    error: Error = Error.NONE
    leader_id: NodeId = NO_LEADER
    leader_epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()


class CommittedBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A committed batch by its place and its content.

    Attributes:
        base_offset: of its first record.
        crc: the CRC-32C in its header, which covers the timestamps and the records.
    """

    base_offset: Offset
    crc: int


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Asks for the log from `fetch_offset` on, and so states that all before it is durable at `replica`.

    `last_fetched_epoch` is the epoch of the record before `fetch_offset`, 0 where there is none. `max_wait_ms` is how
    long the leader may park the request while it has nothing new. `high_watermark` is the fetching replica's own: when
    the leader's is ahead, it answers at once (KIP-1166); -1 where the replica does not tell it. `committed_batch`: the
    newest that is committed there, None where the replica does not name one. It is not part of Kafka's protocol.
    """

    replica: ReplicaKey
    current_leader_epoch: Epoch
    fetch_offset: Offset
    last_fetched_epoch: Epoch
    max_bytes: int
    max_wait_ms: int
    high_watermark: Offset = UNKNOWN_OFFSET
    committed_batch: CommittedBatch | None = None


class FetchResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, SNAPSHOT_NOT_FOUND.

    `diverging`: the replica's log leaves the leader's; this is where the leader's largest epoch not above the replica's
    ends. `snapshot_id`: the leader's log begins past `fetch_offset`; the replica has to install this snapshot.
    `records`: whole batches, byte for byte as in the leader's log.

    `own_ids`: the metadata topic's committed own id in the answering replica's log, then those that it replaced. Empty:
    it is not known. `has_committed_batch`: the leader's log has the batch that the request named; None: it named none,
    or its place is before the log's start.
    """

    error: Error = Error.NONE
    leader_id: NodeId = NO_LEADER
    leader_epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()
    high_watermark: Offset = UNKNOWN_OFFSET
    log_start_offset: Offset = Offset(0)
    diverging: OffsetAndEpoch | None = None
    snapshot_id: OffsetAndEpoch | None = None
    records: bytes = b""
    own_ids: tuple[TopicId, ...] = ()
    has_committed_batch: bool | None = None


class FetchSnapshotRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Asks for at most `max_bytes` of a snapshot's file, from the byte `position` on (KIP-630)."""

    replica: ReplicaKey
    current_leader_epoch: Epoch
    snapshot_id: OffsetAndEpoch
    position: int
    max_bytes: int


class FetchSnapshotResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, SNAPSHOT_NOT_FOUND,
    POSITION_OUT_OF_RANGE.

    `data` are bytes of the file from `position` on, cut anywhere; `size` is that of the whole file.
    """

    error: Error = Error.NONE
    leader_id: NodeId = NO_LEADER
    leader_epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()
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
