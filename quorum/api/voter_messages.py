"""The RPCs that change who votes, as the core sees them (KIP-853).

Decides: what a request and an answer hold. Must not know: as `raft_messages`.

Every answer names the leader and epoch that the answering replica knows. `voters_offset` is where the record of a
change stands; -1: nothing was appended, so that it is safe to ask again.

Sources: KIP-853 (AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter), KIP-1186 (`ack_when_committed`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint, Voter
from quorum.api.error_codes import Error

_NO_LEADER: Final = NodeId(-1)
NOTHING_APPENDED: Final = Offset(-1)


class AddRaftVoterRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Asks the leader to make `voter`, which listens at `endpoints`, a voter.

    `ack_when_committed`: false answers once the record is appended, for a replica that has to fetch for it to commit.
    `validate_only`: everything is checked, nothing appended.
    """

    voter: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    ack_when_committed: bool = True
    validate_only: bool = False


class AddRaftVoterResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, UNSUPPORTED_VERSION, DUPLICATE_VOTER."""

    error: Error = Error.NONE
    error_message: str | None = None
    leader_id: NodeId = _NO_LEADER
    leader_epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()
    voters_offset: Offset = NOTHING_APPENDED


class RemoveRaftVoterRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Asks the leader to take `voter`'s vote. `validate_only`: everything is checked, nothing appended.

    `keeps_majority`: only where a majority of the voters left fetches. `only_if_silent`: only where it fetches no more.
    Kafka's protocol can say neither.
    """

    voter: ReplicaKey
    validate_only: bool = False
    keeps_majority: bool = False
    only_if_silent: bool = False


class RemoveRaftVoterResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, UNSUPPORTED_VERSION, VOTER_NOT_FOUND."""

    error: Error = Error.NONE
    error_message: str | None = None
    leader_id: NodeId = _NO_LEADER
    leader_epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()
    voters_offset: Offset = NOTHING_APPENDED


class UpdateRaftVoterRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A voter tells the leader of `current_leader_epoch` where it listens, and which kraft.version it supports."""

    current_leader_epoch: Epoch
    voter: Voter


class UpdateRaftVoterResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, REQUEST_TIMED_OUT,
    VOTER_NOT_FOUND."""

    error: Error = Error.NONE
    error_message: str | None = None
    leader_id: NodeId = _NO_LEADER
    leader_epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()
    voters_offset: Offset = NOTHING_APPENDED


class UpgradeKRaftVersionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Asks the leader to raise kraft.version: from 0 to 1 it moves the voters from the configuration into the log.

    Kafka has this as one feature of UpdateFeatures. `validate_only`: everything is checked, nothing appended.
    """

    kraft_version: int
    validate_only: bool = False


class UpgradeKRaftVersionResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Errors: NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, INVALID_UPDATE_VERSION."""

    error: Error = Error.NONE
    error_message: str | None = None
    leader_id: NodeId = _NO_LEADER
    leader_epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()
    voters_offset: Offset = NOTHING_APPENDED


class ApiVersionsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Asks whoever listens at a new voter's endpoints who it is and what it supports."""


class ApiVersionsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`replica` is None where the protocol does not tell it (Kafka's); `can_vote`: it has the controller role."""

    error: Error = Error.NONE
    leader_id: NodeId = _NO_LEADER
    leader_epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()
    replica: ReplicaKey | None = None
    can_vote: bool = True
    min_kraft_version: int = 0
    max_kraft_version: int = 0


VoterRequest = (
    AddRaftVoterRequest
    | RemoveRaftVoterRequest
    | UpdateRaftVoterRequest
    | UpgradeKRaftVersionRequest
    | ApiVersionsRequest
)
VoterResponse = (
    AddRaftVoterResponse
    | RemoveRaftVoterResponse
    | UpdateRaftVoterResponse
    | UpgradeKRaftVersionResponse
    | ApiVersionsResponse
)
ANSWER_OF: Final[dict[type[VoterRequest], type[VoterResponse]]] = {
    AddRaftVoterRequest: AddRaftVoterResponse,
    RemoveRaftVoterRequest: RemoveRaftVoterResponse,
    UpdateRaftVoterRequest: UpdateRaftVoterResponse,
    UpgradeKRaftVersionRequest: UpgradeKRaftVersionResponse,
    ApiVersionsRequest: ApiVersionsResponse,
}
