"""FetchSnapshot on the wire (KIP-630, KIP-853)."""

from __future__ import annotations

from kraft.v1 import quorum_pb2
from metadata_log.ids import NodeId, TopicId
from metadata_log.offsets import NO_EPOCH, Epoch
from quorum.node.ports import PeerCall
from quorum.raft.messages import FetchSnapshotRequest, FetchSnapshotResponse
from quorum.transport.convert.common import error_from
from quorum.transport.convert.partitions import (
    TOP_LEVEL_ERRORS,
    cluster_id_of,
    end_from,
    end_to,
    nodes_from,
    nodes_to,
    only_partition,
    replica_key,
)


def fetch_snapshot_request_to(
    request: FetchSnapshotRequest, *, cluster_id: str | None, topic_id: TopicId
) -> quorum_pb2.FetchSnapshotRequest:
    """The request on the wire."""
    partition = quorum_pb2.FetchSnapshotRequest.Partition(
        current_leader_epoch=request.current_leader_epoch,
        snapshot_id=end_to(request.snapshot_id),
        position=request.position,
        replica_directory_id=request.replica.directory_id,
    )
    topic = quorum_pb2.FetchSnapshotRequest.Topic(topic_id=topic_id, partitions=[partition])
    return quorum_pb2.FetchSnapshotRequest(
        cluster_id=cluster_id, replica_id=request.replica.node_id, max_bytes=request.max_bytes, topics=[topic]
    )


def fetch_snapshot_request_from(message: quorum_pb2.FetchSnapshotRequest) -> PeerCall:
    """What `message` asks.

    Raises:
        BadMessage: it names more or less than one partition, or an id has not 16 bytes.
    """
    topic_id, partition = only_partition(message.topics)
    request = FetchSnapshotRequest(
        replica=replica_key(message.replica_id, partition.replica_directory_id),
        current_leader_epoch=Epoch(partition.current_leader_epoch),
        snapshot_id=end_from(partition.snapshot_id),
        position=partition.position,
        max_bytes=message.max_bytes,
    )
    return PeerCall(
        request=request, cluster_id=cluster_id_of(message), topic_id=topic_id, partition=partition.partition_index
    )


def fetch_snapshot_response_to(response: FetchSnapshotResponse, topic_id: TopicId) -> quorum_pb2.FetchSnapshotResponse:
    """The answer on the wire; `topic_id` as the request named it."""
    if response.error in TOP_LEVEL_ERRORS:
        return quorum_pb2.FetchSnapshotResponse(error_code=response.error)
    partition = quorum_pb2.FetchSnapshotResponse.Partition(
        error_code=response.error,
        leader_id=response.leader_id,
        leader_epoch=response.leader_epoch,
        snapshot_id=end_to(response.snapshot_id),
        size=response.size,
        position=response.position,
        data=response.data,
    )
    return quorum_pb2.FetchSnapshotResponse(
        topics=[quorum_pb2.FetchSnapshotResponse.Topic(topic_id=topic_id, partitions=[partition])],
        node_endpoints=nodes_to(response.leader_id, response.leader_endpoints),
    )


def fetch_snapshot_response_from(message: quorum_pb2.FetchSnapshotResponse) -> FetchSnapshotResponse:
    """What `message` answers.

    Raises:
        BadMessage: it is no answer for one partition.
    """
    if message.error_code:
        return FetchSnapshotResponse(error=error_from(message.error_code), leader_epoch=NO_EPOCH)
    _, partition = only_partition(message.topics)
    return FetchSnapshotResponse(
        error=error_from(partition.error_code),
        leader_id=NodeId(partition.leader_id),
        leader_epoch=Epoch(partition.leader_epoch),
        leader_endpoints=nodes_from(partition.leader_id, message.node_endpoints),
        snapshot_id=end_from(partition.snapshot_id) if partition.HasField("snapshot_id") else None,
        size=partition.size,
        position=partition.position,
        data=partition.data,
    )
