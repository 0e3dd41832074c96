"""The executor's side towards other replicas: their requests on the way to the core, and their responses.

Decides: the effect of a refusal by `topic_id_fencing`, here or at the peer, on the core, which knows no cluster and
topic ids. Must not know: how messages travel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from metadata_log.ids import METADATA_TOPIC_ID, NodeId, ReplicaKey
from quorum.api.calls import PeerRequest
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteRequest,
)
from quorum.api.voter_messages import UpdateRaftVoterRequest
from quorum.node.core.access import validate_right
from quorum.node.core.effects import Effects, with_own_ids
from quorum.node.core.log_fence import Hold, HoldReason
from quorum.node.core.peer_failures import (
    NOT_SENT,
    LeaderUnreached,
    PeerFailures,
    PeersReached,
    UnreachedPeer,
    VotersUnreached,
)
from quorum.node.core.ports import OutgoingRequest, PeerAnswered, PeerFailed, PeerGone, PeerRequested, RequestRejected
from quorum.node.core.replica_context import ReplicaContext
from quorum.node.core.topic_id_fencing import ID_ERRORS, Refusal
from quorum.raft.inputs import Input, RequestDropped, RequestFailed, RequestReceived, ResponseReceived
from quorum.raft.ready import Effect, MajorityFound, MajorityLost, Ready

_ALONE_MS: Final = 5_000
"""How long an observer may fetch nothing before it reports the reasons; an election takes less."""
_OF_THE_LOG: Final = (FetchResponse, FetchSnapshotResponse)


class Peers:
    """Events from and about peers.

    Attributes:
        last_fetched_ms: when a leader last answered a Fetch of this replica without an error; monotonic.
    """

    def __init__(self, executor: ReplicaContext, effects: Effects, feed: Callable[[Input], Ready]) -> None:
        self._executor = executor
        self._effects = effects
        self._feed = feed
        self.last_fetched_ms: int | None = None
        self.failures: Final = PeerFailures()
        self._alone_since_ms: int | None = None
        self._is_alone_told = False

    def on_requested(self, event: PeerRequested) -> None:
        """Pass a peer's request to the core if the peer is authorized and names this cluster and the metadata topic."""
        executor = self._executor
        refusal = validate_right(event.call, executor.image) or executor.topic_id_fence.validate(event.call)
        if refusal is not None:
            self._refuse(event, refusal)
            return
        named = event.call.request.committed_batch if isinstance(event.call.request, FetchRequest) else None
        self._effects.expect_answer(event.request_id, executor.changes.watch(event), named)
        draw = executor.ports.entropy.draw()
        self._feed(RequestReceived(request_id=event.request_id, request=event.call.request, draw=draw))

    def on_gone(self, event: PeerGone) -> None:
        """Discard a request whose sender is gone; a no-op after the response."""
        if self._effects.drop_answer(event.request_id):
            self._feed(RequestDropped(request_id=event.request_id))

    def on_answered(self, event: PeerAnswered) -> None:
        """Pass a peer's response to the core, except errors about ids, and Fetch responses of another quorum's log."""
        executor, response = self._executor, event.response
        self.failures.note_response(event.destination_id, response)
        hold = executor.fence.judge(event)
        if hold is not None:
            self._on_foreign(event, hold)
            return
        if executor.fence.ask_for_proof(event):
            self._ask_again(event)
            return
        by_own_id = self._effects.take_by_own_id(event.correlation)
        if response.error in ID_ERRORS or response.error is Error.INCONSISTENT_CLUSTER_ID:
            self._on_refused(event, by_own_id)
            return
        if isinstance(response, _OF_THE_LOG) and response.error is Error.NONE:
            self.last_fetched_ms = executor.clock.monotonic_ms
            self._forget_alone()
            if isinstance(response, FetchResponse):
                executor.topic_id_fence.on_fetch_answered(event.destination_id)
        log_end = executor.machine.log_end_offset
        self._feed(
            ResponseReceived(
                destination_id=event.destination_id,
                correlation=event.correlation,
                response=response,
                draw=executor.ports.entropy.draw(),
            )
        )
        executor.fence.on_taken(event, log_end)

    def _on_foreign(self, event: PeerAnswered, hold: Hold) -> None:
        """Hold because of this peer's response."""
        if hold.reason is HoldReason.OTHER_TOPIC and event.response.own_ids:  # type: ignore[union-attr]
            self._executor.topic_id_fence.on_stranger(event.destination_id)
        self._executor.fence.hold(hold, name_of(event.destination_id))
        self._ask_again(event)

    def _ask_again(self, event: PeerAnswered) -> None:
        """Report the request to the core as not sent: that is no evidence about the peer, and the core retries."""
        self.on_failed(PeerFailed(destination_id=event.destination_id, correlation=event.correlation, failure=NOT_SENT))

    def on_failed(self, event: PeerFailed) -> None:
        """Pass on that a request failed."""
        self.failures.note(event.destination_id, event.failure)
        self._note_alone()
        self._effects.take_by_own_id(event.correlation)
        self._feed(
            RequestFailed(
                destination_id=event.destination_id,
                correlation=event.correlation,
                disconnected=event.failure.disconnected,
                draw=self._executor.ports.entropy.draw(),
            )
        )

    def _note_alone(self) -> None:
        """Report an observer that has fetched from no leader for long. The core reports voters."""
        executor = self._executor
        now_ms = executor.clock.monotonic_ms
        if self._alone_since_ms is None:
            self._alone_since_ms = now_ms
        elif not (self._is_alone_told or now_ms - self._alone_since_ms < _ALONE_MS):
            self._is_alone_told = True
            if not executor.machine.voters.is_voter(executor.replica):
                executor.tell(LeaderUnreached(unreached=self.unreached()))

    def _forget_alone(self) -> None:
        if self._is_alone_told and not self._executor.machine.voters.is_voter(self._executor.replica):
            self._executor.tell(PeersReached(leader_id=self._executor.machine.leader_id))
        self._alone_since_ms, self._is_alone_told = None, False

    def effect_handlers(self) -> dict[type[Effect], Callable[[Any], None]]:
        """Return the handlers of the core's effects about reachable peers."""
        return {MajorityLost: self._on_majority_lost, MajorityFound: self._on_majority_found}

    def _on_majority_lost(self, effect: MajorityLost) -> None:
        """Report the missing voters, with the reason of the last request to each."""
        missing = tuple(self._unreached(key) for key in effect.missing)
        self._executor.tell(VotersUnreached(missing=missing, voters=effect.voters))

    def _on_majority_found(self, effect: MajorityFound) -> None:
        """Report that the loss is over."""
        self._executor.tell(PeersReached(leader_id=self._executor.machine.leader_id))

    def unreached(self) -> tuple[UnreachedPeer, ...]:
        """Return the peers whose last request failed: voters by their keys, others by their ids."""
        voters = {voter.key.node_id: voter.key for voter in self._executor.machine.voters}
        peers = (voters.get(NodeId(node_id), NodeId(node_id)) for node_id, _ in self.failures.all())
        return tuple(self._unreached(peer) for peer in peers)

    def _unreached(self, peer: ReplicaKey | NodeId) -> UnreachedPeer:
        node_id = NodeId(peer.node_id if isinstance(peer, ReplicaKey) else peer)
        voter = self._executor.machine.voters.get(node_id)
        endpoints = () if voter is None else voter.endpoints
        return UnreachedPeer(peer=peer, endpoints=endpoints, failure=self.failures.of(node_id))

    def _refuse(self, event: PeerRequested, refusal: Refusal) -> None:
        executor, call = self._executor, event.call
        executor.tell(
            RequestRejected(
                request=type(call.request).__name__,
                error=refusal.error,
                why=refusal.why,
                by_us=True,
                peer=f"{_asker_id(call.request)}@{call.context.client_host}",
            )
        )
        machine = executor.machine
        answer = refusal.response_to(call.request, machine.leader_id, machine.epoch, machine.leader_endpoints)
        event.respond(with_own_ids(answer, executor.topic_id_fence) if refusal.error in ID_ERRORS else answer)

    def _on_refused(self, event: PeerAnswered, by_own_id: OutgoingRequest | None) -> None:
        """Handle a refused request. The core is given a failure that is no evidence about the peer, and retries after
        its backoff.

        A request that named the own id is sent again at once under the sentinel, so that it costs no round of an
        election.
        """
        error, topic_id_fence = event.response.error, self._executor.topic_id_fence
        is_by_own_id = by_own_id is not None or topic_id_fence.fetch_topic_id(event.destination_id) != METADATA_TOPIC_ID
        passes = error in ID_ERRORS and is_by_own_id
        if error in ID_ERRORS:
            topic_id_fence.on_id_error(event.destination_id)
        self._executor.tell(
            RequestRejected(
                request=type(event.response).__name__.replace("Response", "Request"),
                error=error,
                why=self._why_refused(error),
                by_us=False,
                peer=name_of(event.destination_id),
                passes=passes,
            )
        )
        if error in ID_ERRORS and by_own_id is not None and self._executor.machine.awaits(event.correlation):
            self._effects.send_by_sentinel(by_own_id)
            return
        self._ask_again(event)

    def _why_refused(self, error: Error) -> str:
        if error is Error.INCONSISTENT_CLUSTER_ID:
            own = self._executor.topic_id_fence.cluster_id
            return (
                f"it is not of cluster {own}, which this node's directory belongs to: "
                "look at log.dirs and controller.quorum.bootstrap.servers"
            )
        return "it does not take the topic id that we named: it is asked again under the sentinel"


def name_of(destination_id: int) -> str:
    """Return the id of a peer, or the position of a bootstrap server, whose id is unknown, in the configuration."""
    return str(destination_id) if destination_id >= 0 else f"bootstrap server {-1 - destination_id}"


def _asker_id(request: PeerRequest) -> int:
    """Return the node id in the request, as its sender states it; -1 if the request has none."""
    if isinstance(request, VoteRequest):
        return request.candidate.node_id
    if isinstance(request, UpdateRaftVoterRequest):
        return request.voter.key.node_id
    if isinstance(request, BeginQuorumEpochRequest | EndQuorumEpochRequest):
        return request.leader_id
    return request.replica.node_id if isinstance(request, FetchRequest | FetchSnapshotRequest) else -1
