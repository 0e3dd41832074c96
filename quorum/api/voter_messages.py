"""The RPCs that reconfigure the voters, as the core uses them (KIP-853).

Must not know: wire formats and ids, as in `raft_messages`. Every response carries the leader and epoch that the replica
knows. `voters_offset` is the offset of the change's record. If it is -1, nothing was appended, and the request may be
sent again.

Sources: KIP-853 (AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter), KIP-1186 (`ack_when_committed`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.ids import ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint, Voter
from quorum.api.error_codes import Error
from quorum.api.leader_hint import LeaderHint

NOTHING_APPENDED: Final = Offset(-1)


class VoterChangeOutcome(LeaderHint, frozen=True, kw_only=True, gc=False):
    """The response to a change of the voter set; one class for each request derives from it."""

    error: Error = Error.NONE
    error_message: str | None = None
    voters_offset: Offset = NOTHING_APPENDED


class AddRaftVoterRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Ask the leader to make `voter`, which listens at `endpoints`, a voter.

    `ack_when_committed`: if False, the leader responds once the record is appended. A replica needs this if the record
    cannot commit before it fetches. `validate_only`: check everything, append nothing.
    """

    voter: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    ack_when_committed: bool = True
    validate_only: bool = False


class AddRaftVoterResponse(VoterChangeOutcome, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, UNSUPPORTED_VERSION, DUPLICATE_VOTER."""


class RemoveRaftVoterRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Ask the leader to remove `voter` from the voter set. `validate_only`: check everything, append nothing.

    `keeps_majority`: only if a majority of the remaining voters fetches. `only_if_unreachable`: only if `voter` has
    stopped fetching. Kafka's protocol has neither field.
    """

    voter: ReplicaKey
    validate_only: bool = False
    keeps_majority: bool = False
    only_if_unreachable: bool = False


class RemoveRaftVoterResponse(VoterChangeOutcome, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, UNSUPPORTED_VERSION, VOTER_NOT_FOUND."""


class UpdateRaftVoterRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A voter reports its endpoints and supported kraft.version to the leader of `current_leader_epoch`."""

    current_leader_epoch: Epoch
    voter: Voter


class UpdateRaftVoterResponse(VoterChangeOutcome, frozen=True, kw_only=True, gc=False):
    """Errors: INVALID_REQUEST, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, REQUEST_TIMED_OUT,
    VOTER_NOT_FOUND."""


class UpgradeKRaftVersionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Ask the leader to raise kraft.version. From 0 to 1, the voters move from the configuration into the log.

    Kafka has this as one feature of UpdateFeatures. `validate_only`: check everything, append nothing.
    """

    kraft_version: int
    validate_only: bool = False


class UpgradeKRaftVersionResponse(VoterChangeOutcome, frozen=True, kw_only=True, gc=False):
    """Errors: NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, INVALID_UPDATE_VERSION."""


class ApiVersionsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Ask the process at a new voter's endpoints for its identity and supported versions."""


class ApiVersionsResponse(LeaderHint, frozen=True, kw_only=True, gc=False):
    """`replica`: None if the protocol lacks it, as Kafka's does. `can_vote`: the node has the controller role."""

    error: Error = Error.NONE
    replica: ReplicaKey | None = None
    can_vote: bool = True
    min_kraft_version: int = 0
    max_kraft_version: int = 0


VoterChange = AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest | UpgradeKRaftVersionRequest
VoterChangeResponse = (
    AddRaftVoterResponse | RemoveRaftVoterResponse | UpdateRaftVoterResponse | UpgradeKRaftVersionResponse
)
VoterRequest = VoterChange | ApiVersionsRequest
VoterResponse = VoterChangeResponse | ApiVersionsResponse
CHANGE_RESPONSE_OF: Final[dict[type[VoterChange], type[VoterChangeResponse]]] = {
    AddRaftVoterRequest: AddRaftVoterResponse,
    RemoveRaftVoterRequest: RemoveRaftVoterResponse,
    UpdateRaftVoterRequest: UpdateRaftVoterResponse,
    UpgradeKRaftVersionRequest: UpgradeKRaftVersionResponse,
}
