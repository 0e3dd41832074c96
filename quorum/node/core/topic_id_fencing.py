"""By which names the metadata log may be asked for, and by which we ask (DESIGN 6).

Decides: whether a peer's request names our cluster and the metadata topic, and which topic id ours carry. Must not
know: what a request asks for. Both doors use it; where they must spell a refusal differently, they do.

Accepted: the sentinel always, the topic's own id for as long as its TopicRecord stands in an image of ours, committed
or not. Sent: the sentinel, but in a Fetch the own id once it is committed here and the peer has answered a Fetch
before; after any id error the sentinel again, for as long as the epoch or that id lasts. A Java controller that leads
lets the record be deleted: then there is no own id until a controller of ours becomes active and writes another.
Source: KIP-516.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, NodeId, TopicId, id_text
from metadata_log.image import MetadataImage
from metadata_log.offsets import Epoch
from metadata_log.voters import Endpoint
from quorum.api.calls import METADATA_PARTITION, PeerCall, PeerRequest, PeerResponse
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    NO_LEADER,
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
from quorum.api.voter_messages import ANSWER_OF

ID_ERRORS = frozenset({Error.UNKNOWN_TOPIC_ID, Error.INCONSISTENT_TOPIC_ID})
"""Answers that speak of the topic id alone: the request is sent again under the sentinel."""

_RESPONSES: Final[dict[type[Any], Callable[..., PeerResponse]]] = {
    VoteRequest: VoteResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
    FetchRequest: FetchResponse,
    FetchSnapshotRequest: FetchSnapshotResponse,
    **ANSWER_OF,
    TransferLeadershipRequest: TransferLeadershipResponse,
}


class Refusal(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Why a request does not reach the core."""

    error: Error
    why: str

    def response_to(
        self, request: PeerRequest, leader_id: NodeId | None, leader_epoch: Epoch, endpoints: tuple[Endpoint, ...]
    ) -> PeerResponse:
        """The answer in the form that the request asks for, with the leader: but not to who is of another cluster, or
        has no right to ask."""
        if leader_id is None or self.error in (Error.INCONSISTENT_CLUSTER_ID, Error.CLUSTER_AUTHORIZATION_FAILED):
            leader_id, endpoints = NO_LEADER, ()
        return _RESPONSES[type(request)](
            error=self.error, leader_id=leader_id, leader_epoch=leader_epoch, leader_endpoints=endpoints
        )


class Gate:
    """One node's rules, and what it knows of the metadata topic's own id."""

    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self._committed: TopicId | None = None
        self._appended: TopicId | None = None
        self._answered: set[int] = set()
        self._doubtful: set[int] = set()

    def validate(self, call: PeerCall) -> Refusal | None:
        """A refusal, or None when the request names our cluster and its metadata topic.

        Errors: INCONSISTENT_CLUSTER_ID, UNKNOWN_TOPIC_ID (the id is neither the sentinel nor the topic's own),
        UNKNOWN_TOPIC_OR_PARTITION.
        """
        if call.cluster_id is not None and call.cluster_id != self.cluster_id:
            return Refusal(
                error=Error.INCONSISTENT_CLUSTER_ID,
                why=f"it is for cluster {call.cluster_id!r}, this is {self.cluster_id!r}",
            )
        if call.topic_id != METADATA_TOPIC_ID and call.topic_id not in (self._committed, self._appended):
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

    @property
    def knows_no_id(self) -> bool:
        """Whether this node has not replayed the topic's own id yet: then it refuses the right one, too."""
        return self._committed is None and self._appended is None

    def topic_id_for(self, request: PeerRequest, destination_id: int) -> TopicId:
        """The id to name the metadata topic by in this request."""
        return self.fetch_topic_id(destination_id) if type(request) is FetchRequest else METADATA_TOPIC_ID

    def fetch_topic_id(self, destination_id: int) -> TopicId:
        """The id by which a Fetch to this replica names the metadata topic."""
        if self._committed is None:
            return METADATA_TOPIC_ID
        if destination_id not in self._answered or destination_id in self._doubtful:
            return METADATA_TOPIC_ID
        return self._committed

    def on_fetch_answered(self, destination_id: int) -> None:
        """A Fetch was answered without an error."""
        self._answered.add(destination_id)

    def on_id_error(self, destination_id: int) -> None:
        """It does not know the id that we named."""
        self._doubtful.add(destination_id)

    def on_epoch(self) -> None:
        """Another epoch: whoever leads it may know the id by now."""
        self._answered.clear()
        self._doubtful.clear()

    def on_committed(self, image: MetadataImage) -> None:
        """The published image is another one."""
        committed = image.topics.by_name.get(METADATA_TOPIC_NAME)
        if committed != self._committed:
            self._committed = committed
            self._doubtful.clear()

    def on_appended(self, image: MetadataImage) -> None:
        """As leader, we appended up to this image."""
        self._appended = image.topics.by_name.get(METADATA_TOPIC_NAME)

    def on_lost_leadership(self) -> None:
        """What we appended and did not see committed may be gone."""
        self._appended = None
