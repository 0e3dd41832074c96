"""The common form of the Raft RPCs: one topic with one partition, and the leader hint in a response.

Decides: that a request names one topic and one partition, and which level of a response has the error. A wrong cluster
id is an error at the top, without topics. Any other error is in the partition, with leader and epoch; the leader's
endpoints are at the top. Must not know: which cluster id or topic id is right (`topic_id_fencing` does).
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
"""Errors of a request as a whole; such a response carries no leader."""

P_co = TypeVar("P_co", covariant=True)
M = TypeVar("M")


class Topic(Protocol[P_co]):
    @property
    def topic_id(self) -> bytes: ...
    @property
    def partitions(self) -> Sequence[P_co]: ...


def only_partition(topics: Sequence[Topic[P_co]]) -> tuple[TopicId, P_co]:
    """Return the one topic's id and its one partition.

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
    """Return the request with the cluster id, topic id and partition that `message` names."""
    return PeerCall(
        request=request, cluster_id=cluster_id_of(message), topic_id=topic_id, partition=partition.partition_index
    )


def answer_to(kind: type[M], response: PeerResponse, topic_id: TopicId, **rest: object) -> M:
    """Return the response's message: `topic_id` as in the request, `rest` the other fields of its partition."""
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
    """Return the response in `message`; `rest` reads the other fields of its partition.

    Raises:
        BadMessage: it does not have exactly one partition.
    """
    if message.error_code:  # of the request as a whole; then there is no partition with a leader
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
    """Return that field of a partition, or None if it is not set."""
    return end_from(getattr(partition, name)) if partition.HasField(name) else None


@lru_cache(maxsize=64)
def nodes_to(leader_id: int, endpoints: tuple[Endpoint, ...]) -> tuple[quorum_pb2.NodeEndpoint, ...]:
    """Return the endpoint messages of a leader. Cached, because every response carries them; protobuf copies them."""
    return tuple(quorum_pb2.NodeEndpoint(node_id=leader_id, endpoint=endpoint_to(endpoint)) for endpoint in endpoints)


def nodes_from(leader_id: int, nodes: Sequence[quorum_pb2.NodeEndpoint]) -> tuple[Endpoint, ...]:
    return tuple(endpoint_from(node.endpoint) for node in nodes if node.node_id == leader_id)
