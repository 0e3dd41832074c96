"""FetchSnapshot on the wire (KIP-630, KIP-853)."""

from __future__ import annotations

from typing import Any

from kraft.v1 import quorum_pb2
from metadata_log.ids import TopicId
from metadata_log.offsets import Epoch
from quorum.api.calls import PeerCall
from quorum.api.raft_messages import FetchSnapshotRequest, FetchSnapshotResponse
from quorum.transport.grpc.convert.partitions import (
    answer_from,
    answer_to,
    call_of,
    end_from,
    end_in,
    end_to,
    only_partition,
    replica_key,
)


def fetch_snapshot_request_to(
    request: FetchSnapshotRequest, *, cluster_id: str | None, topic_id: TopicId
) -> quorum_pb2.FetchSnapshotRequest:
    """Return the request's message."""
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
    """Return the call in `message`.

    Raises:
        BadMessage: it has no partition or several, or an id is not 16 bytes long.
    """
    topic_id, partition = only_partition(message.topics)
    request = FetchSnapshotRequest(
        replica=replica_key(message.replica_id, partition.replica_directory_id),
        current_leader_epoch=Epoch(partition.current_leader_epoch),
        snapshot_id=end_from(partition.snapshot_id),
        position=partition.position,
        max_bytes=message.max_bytes,
    )
    return call_of(request, message, topic_id, partition)


def fetch_snapshot_response_to(response: FetchSnapshotResponse, topic_id: TopicId) -> quorum_pb2.FetchSnapshotResponse:
    """Return the response's message; `topic_id` as in the request."""
    return answer_to(
        quorum_pb2.FetchSnapshotResponse,
        response,
        topic_id,
        snapshot_id=end_to(response.snapshot_id),
        size=response.size,
        position=response.position,
        data=response.data,
    )


def fetch_snapshot_response_from(message: quorum_pb2.FetchSnapshotResponse) -> FetchSnapshotResponse:
    """Return the response in `message`.

    Raises:
        BadMessage: it does not have exactly one partition.
    """
    return answer_from(FetchSnapshotResponse, message, _fetched)


def _fetched(partition: quorum_pb2.FetchSnapshotResponse.Partition) -> dict[str, Any]:
    return {
        "snapshot_id": end_in(partition, "snapshot_id"),
        "size": partition.size,
        "position": partition.position,
        "data": partition.data,
    }
