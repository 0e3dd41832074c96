"""What the Raft RPCs share: one topic and its one partition, and the leader that an answer names.

Decides: that a request names one topic and its one partition, and where in an answer an error stands: a wrong cluster
id at the top, without topics; everything else at the partition, beside leader and epoch, whose endpoints stand at the
top. Must not know: which cluster or topic id is the right one (the node's gate does).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, TypeVar

from kraft.v1 import common_pb2, quorum_pb2
from metadata_log.ids import NodeId, ReplicaKey, TopicId
from metadata_log.offsets import NO_EPOCH, Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Endpoint
from quorum.api.calls import PeerCall, PeerRequest, PeerResponse
from quorum.api.error_codes import Error
from quorum.transport.grpc.convert.common import (
    BadMessage,
    directory_id_from,
    endpoint_from,
    endpoint_to,
    error_from,
    topic_id_from,
)

TOP_LEVEL_ERRORS: Final = frozenset({Error.INCONSISTENT_CLUSTER_ID, Error.CLUSTER_AUTHORIZATION_FAILED})
"""Errors of a request as a whole, beside which no leader is told."""

P_co = TypeVar("P_co", covariant=True)
M = TypeVar("M")


class Topic(Protocol[P_co]):
    @property
    def topic_id(self) -> bytes: ...
    @property
    def partitions(self) -> Sequence[P_co]: ...


def only_partition(topics: Sequence[Topic[P_co]]) -> tuple[TopicId, P_co]:
    """The one topic's id and the one partition.

    Raises:
        BadMessage: there is not exactly one of each.
    """
    if len(topics) != 1:
        raise BadMessage(Error.INVALID_REQUEST, f"{len(topics)} topics are named, not one: the metadata topic")
    partitions = topics[0].partitions
    if len(partitions) != 1:
        raise BadMessage(Error.INVALID_REQUEST, f"{len(partitions)} partitions are named, not one: partition 0")
    return topic_id_from(topics[0].topic_id), partitions[0]


def cluster_id_of(message: Any) -> str | None:
    return message.cluster_id if message.HasField("cluster_id") else None


def call_of(request: PeerRequest, message: Any, topic_id: TopicId, partition: Any) -> PeerCall:
    """The request, with what `message` and its partition name cluster and topic by."""
    return PeerCall(
        request=request, cluster_id=cluster_id_of(message), topic_id=topic_id, partition=partition.partition_index
    )


def answer_to(kind: type[M], response: PeerResponse, topic_id: TopicId, **rest: object) -> M:
    """The answer on the wire: `topic_id` as the request named it, `rest` what else its partition tells."""
    message: Any = kind
    if response.error in TOP_LEVEL_ERRORS:
        return message(error_code=response.error)  # type: ignore[no-any-return]
    partition = message.Partition(
        error_code=response.error, leader_id=response.leader_id, leader_epoch=response.leader_epoch, **rest
    )
    return message(  # type: ignore[no-any-return]
        topics=[message.Topic(topic_id=topic_id, partitions=[partition])],
        node_endpoints=nodes_to(response.leader_id, response.leader_endpoints),
    )


def answer_from(
    kind: Callable[..., M], message: Any, rest: Callable[[Any], dict[str, Any]] = lambda partition: {}
) -> M:
    """What `message` answers; `rest`: what else its partition tells.

    Raises:
        BadMessage: it is no answer for one partition.
    """
    if message.error_code:  # of the request as a whole, beside which no leader is told
        return kind(error=error_from(message.error_code), leader_epoch=NO_EPOCH)
    _, partition = only_partition(message.topics)
    return kind(
        error=error_from(partition.error_code),
        leader_id=NodeId(partition.leader_id),
        leader_epoch=Epoch(partition.leader_epoch),
        leader_endpoints=nodes_from(partition.leader_id, message.node_endpoints),
        **rest(partition),
    )


def replica_key(node_id: int, directory_id: bytes) -> ReplicaKey:
    return ReplicaKey(node_id=NodeId(node_id), directory_id=directory_id_from(directory_id))


def end_to(end: OffsetAndEpoch | None) -> common_pb2.OffsetAndEpoch | None:
    return None if end is None else common_pb2.OffsetAndEpoch(offset=end.offset, epoch=end.epoch)


def end_from(message: common_pb2.OffsetAndEpoch) -> OffsetAndEpoch:
    return OffsetAndEpoch(offset=Offset(message.offset), epoch=Epoch(message.epoch))


def end_in(partition: Any, name: str) -> OffsetAndEpoch | None:
    """That field of a partition; None where it has none."""
    return end_from(getattr(partition, name)) if partition.HasField(name) else None


@lru_cache(maxsize=64)
def nodes_to(leader_id: int, endpoints: tuple[Endpoint, ...]) -> tuple[quorum_pb2.NodeEndpoint, ...]:
    """Made once for each leader, since every answer carries them; a message that takes them copies them."""
    return tuple(quorum_pb2.NodeEndpoint(node_id=leader_id, endpoint=endpoint_to(endpoint)) for endpoint in endpoints)


def nodes_from(leader_id: int, nodes: Sequence[quorum_pb2.NodeEndpoint]) -> tuple[Endpoint, ...]:
    return tuple(endpoint_from(node.endpoint) for node in nodes if node.node_id == leader_id)
