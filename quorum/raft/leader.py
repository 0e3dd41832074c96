"""Leaders and resigned leaders: proposals, acknowledgements, deadlines, the clean stop.

Decides: when a leader resigns. Must not know: Fetch, or how an election proceeds.
"""

from __future__ import annotations

from metadata_log.format.batch import build_batch
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset
from quorum.api.error_codes import Error
from quorum.api.raft_messages import BeginQuorumEpochResponse, EndQuorumEpochResponse
from quorum.raft.core import MAX_EPOCH, Core
from quorum.raft.fetch_purgatory import answer_overdue
from quorum.raft.inputs import Propose, RequestFailed, Shutdown
from quorum.raft.leader_discovery import EpochUpdate, apply_leader_hint
from quorum.raft.majority_loss import note_unheard
from quorum.raft.read_barrier import on_begin_answered, on_elapsed_barrier
from quorum.raft.ready import ProposalRefused
from quorum.raft.replication import append, begin_interval_ms, send_begin
from quorum.raft.roles import send_end, shut, transition_to_resigned, transition_to_unattached
from quorum.raft.states import Leader, Resigned
from quorum.raft.voter_responses import expire_change


def handle_propose(core: Core, proposal: Propose) -> None:
    """Append one data batch, or emit `ProposalRefused`."""
    state = core.state
    if type(state) is not Leader or proposal.epoch != core.epoch:
        core.outbox.add(ProposalRefused(error=Error.NOT_LEADER_OR_FOLLOWER, proposed_epoch=proposal.epoch))
        return
    base_offset = core.log.end_offset
    data = build_batch(base_offset=base_offset, epoch=proposal.epoch, timestamp_ms=core.wall_ms, values=proposal.values)
    if len(data) > core.config.max_batch_bytes:
        core.outbox.add(ProposalRefused(error=Error.MESSAGE_TOO_LARGE, proposed_epoch=proposal.epoch))
        return
    append(core, state, Offset(base_offset + len(proposal.values)), data)


def on_begin_response(core: Core, node_id: int, correlation: int, response: BeginQuorumEpochResponse) -> None:
    """Handle a voter's response: an acknowledgement proves that it follows, and counts for the read barrier."""
    news = apply_leader_hint(core, node_id, response, response.error)
    state = core.state
    if news is EpochUpdate.CURRENT and response.error is not Error.NONE:
        core.refuse(node_id, f"it answers BeginQuorumEpoch with {response.error.name} in epoch {core.epoch}")
    if type(state) is Leader:
        acknowledged = news is EpochUpdate.CURRENT and response.error is Error.NONE
        on_begin_answered(core, state, correlation, acknowledged=acknowledged)


def on_begin_failed(core: Core, leader: Leader, failed: RequestFailed) -> None:
    """Note that the voter has not acknowledged; the leader repeats BeginQuorumEpoch at its own interval."""
    on_begin_answered(core, leader, failed.correlation, acknowledged=False)


def on_end_response(core: Core, node_id: int, _correlation: int, response: EndQuorumEpochResponse) -> None:
    """Note that a voter knows of the resignation."""
    if apply_leader_hint(core, node_id, response, response.error) is EpochUpdate.CHANGED:
        return
    state = core.state
    if type(state) is Resigned:
        state.unacknowledged = {known for known in state.unacknowledged if known != node_id}
        state.acknowledged.add(NodeId(node_id))
        _maybe_shut(core, state)


def on_end_failed(core: Core, state: Resigned, failed: RequestFailed) -> None:
    """Repeat EndQuorumEpoch soon; in a clean stop the voter has to notice by itself."""
    if core.is_shutting_down:
        state.unacknowledged = {known for known in state.unacknowledged if known != failed.destination_id}
        _maybe_shut(core, state)
    elif state.retry_at_ms is None:
        state.retry_at_ms = core.now_ms + core.config.retry_backoff_ms


def _maybe_shut(core: Core, state: Resigned) -> None:
    """Complete the shutdown if every voter has acknowledged the resignation or failed to respond.

    A successor may still need this replica's vote: another voter may have rejected it before it heard of the
    resignation. If a majority has acknowledged, wait until two successors have had their turn.
    """
    if not core.is_shutting_down or state.unacknowledged:
        return
    if len(state.acknowledged) >= core.members.majority:
        state.election_deadline_ms = min(state.election_deadline_ms, core.now_ms + core.successor_delay_ms(2))
    else:
        shut(core)


def handle_shutdown(core: Core, _: Shutdown) -> None:
    """Stop cleanly: a leader resigns and informs the other voters first; any other replica stops at once."""
    core.is_shutting_down = True
    state = core.state
    if type(state) is Leader and core.members.peers:
        transition_to_resigned(core, state)
    if type(core.state) is Resigned and core.state.unacknowledged:
        core.state.election_deadline_ms = core.now_ms + core.config.request_timeout_ms
    else:
        shut(core)


def on_elapsed_leader(core: Core, state: Leader) -> None:
    """Resign without a majority; otherwise handle due Fetches, read barriers, changes and BeginQuorumEpoch."""
    deadline_ms = state.check_quorum_deadline_ms
    if deadline_ms is not None and deadline_ms <= core.now_ms:
        note_unheard(core, state)
        transition_to_resigned(core, state)
        return
    answer_overdue(core, state)
    on_elapsed_barrier(core, state)
    expire_change(core, state)
    if state.begin_deadline_ms is not None and state.begin_deadline_ms <= core.now_ms:
        send_begin(core, state)
        state.begin_deadline_ms = core.now_ms + begin_interval_ms(core)


def on_elapsed_resigned(core: Core, state: Resigned) -> None:
    """Move to the next epoch if no successor has won in time, and repeat EndQuorumEpoch if that is due.

    A resigned leader never acts again in the epoch that it led.
    """
    if state.election_deadline_ms <= core.now_ms:
        if core.is_shutting_down:
            shut(core)
        elif core.epoch < MAX_EPOCH:
            transition_to_unattached(core, Epoch(core.epoch + 1))
            return
        state.election_deadline_ms = core.now_ms + core.config.request_timeout_ms
    if state.retry_at_ms is not None and state.retry_at_ms <= core.now_ms:
        send_end(core, state)
