"""Raising kraft.version: from 0 to 1 the static voters move from the configuration into the log (KIP-853, Kafka 4.1).

Decides: whether that is allowed now, and the voters in the record: the configured ones, each with its reported
directory and listeners (UpdateRaftVoter). Must not know: the configuration itself.
"""

from __future__ import annotations

from metadata_log.ids import ZERO_DIRECTORY_ID
from metadata_log.voters import Voter, VoterSet
from quorum.api.error_codes import Error
from quorum.api.voter_messages import UpgradeKRaftVersionRequest, UpgradeKRaftVersionResponse
from quorum.raft.control_batches import VOTERS_IN_THE_LOG
from quorum.raft.core import Core
from quorum.raft.states import Leader, PendingChange
from quorum.raft.voter_changes import append_voters, validate_change, validate_dynamic
from quorum.raft.voter_responses import Verdict, answer


def handle_upgrade(core: Core, request_id: int, request: UpgradeKRaftVersionRequest) -> None:
    """Append KRaftVersion and Voters records; the response leaves once they are committed."""
    state = core.state
    if type(state) is not Leader:
        message = "this replica is not the leader"
        answer(core, request_id, UpgradeKRaftVersionResponse, Error.NOT_LEADER_OR_FOLLOWER, message)
        return
    current = core.members.kraft_version
    refusal = _validate_version(current, request.kraft_version) or validate_change(core, state)
    if refusal is None and current < request.kraft_version:
        refusal = _validate_voters(state.reported_voters or VoterSet(), request.kraft_version)
    elif refusal is None and current > 0:
        # The upgrade is not committed yet: the next leader's log may lack it.
        refusal = validate_dynamic(core)
    if refusal is not None:
        answer(core, request_id, UpgradeKRaftVersionResponse, *refusal)
    elif request.validate_only or current == request.kraft_version or state.reported_voters is None:
        answer(core, request_id, UpgradeKRaftVersionResponse)
    else:
        voters, state.reported_voters = state.reported_voters, None
        offset = append_voters(core, state, voters, kraft_version=request.kraft_version)
        state.change = PendingChange(
            request_id=request_id,
            answer=UpgradeKRaftVersionResponse,
            deadline_ms=core.now_ms + core.config.request_timeout_ms,
            offset=offset,
        )


def _validate_version(current: int, wanted: int) -> Verdict | None:
    if wanted < current:
        return Error.INVALID_UPDATE_VERSION, f"kraft.version is {current}: it is never lowered"
    if wanted > VOTERS_IN_THE_LOG:
        return Error.INVALID_UPDATE_VERSION, f"kraft.version {wanted} is not known here: the highest is 1"
    return None


def _validate_voters(voters: VoterSet, wanted: int) -> Verdict | None:
    silent = [voter for voter in voters if voter.key.directory_id == ZERO_DIRECTORY_ID]
    if silent:
        return Error.INVALID_UPDATE_VERSION, (
            f"{_names(silent)} sent this leader no directory id yet: every voter must run and follow it"
        )
    unable = [voter for voter in voters if not voter.supports(wanted)]
    if unable:
        return Error.INVALID_UPDATE_VERSION, f"{_names(unable)} does not support kraft.version {wanted}"
    return None


def _names(voters: list[Voter]) -> str:
    ids = ", ".join(str(voter.key.node_id) for voter in voters)
    return f"of the voters, {ids}"
