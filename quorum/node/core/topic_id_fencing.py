"""Names of the metadata log: which ids peers' requests may carry, and which ones this node sends (DESIGN 4.1).

Decides: whether a peer's request names this cluster and the metadata topic, and which topic id a request carries. Must
not know: the purpose of a request. Both protocols use it; each encodes a refusal in its own form.

Accepted: the sentinel always. While no own id is committed here, any id passes, so that it costs no election. After
that, the own id passes, those that it replaced in this log, and one that this node appended as leader.

Sent: the own id once it is committed here, in a Fetch only after the peer has responded to an earlier one. After an id
error the sentinel is sent, until the epoch or that id changes. A Java controller that leads allows the record to be
deleted. Then there is no own id until a controller of this software becomes active and writes another.

Source: KIP-516.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from metadata_log.directory import CommittedState
from metadata_log.ids import METADATA_TOPIC_ID, ZERO_TOPIC_ID, NodeId, TopicId, id_text
from metadata_log.image import MetadataImage
from metadata_log.offsets import Epoch
from metadata_log.voters import Endpoint
from quorum.api.calls import METADATA_PARTITION, PeerCall, PeerRequest, PeerResponse
from quorum.api.error_codes import Error
from quorum.api.leader_hint import NO_LEADER
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
from quorum.api.transfer_messages import TransferLeadershipRequest, TransferLeadershipResponse
from quorum.api.voter_messages import CHANGE_RESPONSE_OF, ApiVersionsRequest, ApiVersionsResponse

_WITH_OWN_ID: Final = frozenset({VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchSnapshotRequest})
"""The requests with a topic id, apart from Fetch."""

ID_ERRORS = frozenset({Error.UNKNOWN_TOPIC_ID, Error.INCONSISTENT_TOPIC_ID})
"""Errors that concern only the topic id: the request is sent again under the sentinel."""

_RESPONSES: Final[dict[type[Any], Callable[..., PeerResponse]]] = {
    VoteRequest: VoteResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
    FetchRequest: FetchResponse,
    FetchSnapshotRequest: FetchSnapshotResponse,
    **CHANGE_RESPONSE_OF,
    ApiVersionsRequest: ApiVersionsResponse,
    TransferLeadershipRequest: TransferLeadershipResponse,
}


class Refusal(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The reason why a request does not reach the core."""

    error: Error
    why: str

    def response_to(
        self, request: PeerRequest, leader_id: NodeId | None, leader_epoch: Epoch, endpoints: tuple[Endpoint, ...]
    ) -> PeerResponse:
        """Return the response in the request's form, with the leader.

        A peer of another cluster, or one without authorization, does not learn the leader.
        """
        if leader_id is None or self.error in (Error.INCONSISTENT_CLUSTER_ID, Error.CLUSTER_AUTHORIZATION_FAILED):
            leader_id, endpoints = NO_LEADER, ()
        return _RESPONSES[type(request)](
            error=self.error, leader_id=leader_id, leader_epoch=leader_epoch, leader_endpoints=endpoints
        )


class TopicIdFence:
    """One node's rules, and its knowledge of the metadata topic's own id."""

    def __init__(self, cluster_id: str, kept: CommittedState | None = None) -> None:
        """`kept`: the committed state that an earlier run of this replica stored."""
        self.cluster_id = cluster_id
        self._kept = kept
        self._committed: TopicId | None = None if kept is None else kept.topic_id
        self._former: tuple[TopicId, ...] = ()
        self._appended: TopicId | None = None
        self._answered: set[int] = set()
        self._doubtful: set[int] = set()
        self._strange: set[int] = set()

    @property
    def own_ids(self) -> tuple[TopicId, ...]:
        """The committed own id, then those that it replaced in this log; empty while none is committed."""
        return () if self._committed is None else (self._committed, *self._former)

    def validate(self, call: PeerCall) -> Refusal | None:
        """Return a refusal, or None if the request names this cluster and its metadata topic.

        Errors: INCONSISTENT_CLUSTER_ID, UNKNOWN_TOPIC_OR_PARTITION, and UNKNOWN_TOPIC_ID. The last one means a null id,
        or an id that is neither the sentinel nor a known own id although one is committed here.
        """
        if call.cluster_id is not None and call.cluster_id != self.cluster_id:
            return Refusal(
                error=Error.INCONSISTENT_CLUSTER_ID,
                why=f"it is for cluster {call.cluster_id!r}, this is {self.cluster_id!r}",
            )
        if not self._is_accepted(call.topic_id):
            return Refusal(
                error=Error.UNKNOWN_TOPIC_ID,
                why=f"topic id {id_text(call.topic_id)} is neither the metadata topic's own nor the sentinel",
            )
        if call.partition != METADATA_PARTITION:
            return Refusal(
                error=Error.UNKNOWN_TOPIC_OR_PARTITION,
                why=f"the metadata topic has no partition {call.partition}, only {METADATA_PARTITION}",
            )
        return None

    def _is_accepted(self, topic_id: TopicId) -> bool:
        if topic_id == METADATA_TOPIC_ID or self._committed is None:
            return topic_id != ZERO_TOPIC_ID
        return topic_id in (self._committed, self._appended, *self._former)

    def topic_id_for(self, request: PeerRequest, destination_id: int) -> TopicId:
        """Return the id of the metadata topic for this request."""
        if type(request) is FetchRequest:
            return self.fetch_topic_id(destination_id)
        if self._committed is None or destination_id in self._doubtful or type(request) not in _WITH_OWN_ID:
            return METADATA_TOPIC_ID
        return self._committed

    def fetch_topic_id(self, destination_id: int) -> TopicId:
        """Return the id of the metadata topic for a Fetch to this replica."""
        if self._committed is None:
            return METADATA_TOPIC_ID
        if destination_id in self._strange:
            return self._committed
        if destination_id not in self._answered or destination_id in self._doubtful:
            return METADATA_TOPIC_ID
        return self._committed

    def on_fetch_answered(self, destination_id: int) -> None:
        """Note a response to Fetch without an error."""
        self._answered.add(destination_id)
        self._strange.discard(destination_id)

    def on_stranger(self, destination_id: int) -> None:
        """Note a peer of another quorum. Its Fetches carry the own id, so that it never takes this log for a replica
        of its log."""
        self._strange.add(destination_id)

    def on_id_error(self, destination_id: int) -> None:
        """Note that the peer does not know the own id."""
        self._doubtful.add(destination_id)
        self._strange.discard(destination_id)

    def on_epoch(self) -> None:
        """Reset the notes: the leader of a new epoch may know the id by now."""
        self._answered.clear()
        self._doubtful.clear()
        self._strange.clear()

    def on_committed(self, image: MetadataImage) -> None:
        """Take the own id of the published image. Until the image reaches an earlier run's committed end, that run's
        id counts."""
        committed = image.topics.own_id
        if self._kept is not None:
            if not self._kept.is_reached_by(image.offset_and_epoch.offset, committed):
                return
            self._kept = None
        if committed != self._committed:
            if self._committed is not None:
                self._former = (self._committed, *(each for each in self._former if each != committed))
            self._committed = committed
            self._doubtful.clear()

    def on_appended(self, image: MetadataImage) -> None:
        """Take the own id of records that this node appended as leader."""
        self._appended = image.topics.own_id

    def on_lost_leadership(self) -> None:
        """Discard the id of appended records, which may not commit."""
        self._appended = None
