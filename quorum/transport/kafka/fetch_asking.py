"""This node's Fetch and FetchSnapshot of another controller, and the responses, in Kafka's protocol.

Kafka names the metadata topic by the sentinel id in Fetch, whatever its own id, and by name in FetchSnapshot.

Sources: KIP-595, KIP-630, KIP-853 (directory ids, node endpoints), KIP-1166 (the replica's high watermark).
"""

from __future__ import annotations

from typing import Any

from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, NodeId
from metadata_log.offsets import NO_EPOCH, Epoch, Offset, OffsetAndEpoch
from quorum.api.error_codes import Error
from quorum.api.leader_hint import NO_LEADER
from quorum.api.raft_messages import FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from quorum.transport.grpc.convert.common import error_from
from quorum.transport.kafka.partitions import answered_partition, place_among
from quorum.transport.kafka.wire import Fields, Questions, uuid_to


def fetch_response_from(body: Any) -> FetchResponse:
    """Return the response to a Fetch.

    Raises:
        BadFrame: it does not have exactly the one partition of the metadata topic.
    """
    if body.error_code:
        return FetchResponse(error=error_from(body.error_code), leader_epoch=NO_EPOCH)
    partition = answered_partition(body.responses, "topic_id", uuid_to(METADATA_TOPIC_ID))
    leader, diverging, snapshot = partition.current_leader, partition.diverging_epoch, partition.snapshot_id
    return FetchResponse(
        error=error_from(partition.error_code),
        leader_id=NodeId(leader.leader_id),
        leader_epoch=Epoch(leader.leader_epoch),
        leader_endpoints=place_among(body.node_endpoints, leader.leader_id),
        high_watermark=Offset(partition.high_watermark),
        log_start_offset=Offset(max(partition.log_start_offset, 0)),
        diverging=_end(diverging.end_offset, diverging.epoch),
        snapshot_id=_end(snapshot.end_offset, snapshot.epoch),
        records=partition.records or b"",
    )


def _end(offset: int, epoch: int) -> OffsetAndEpoch | None:
    return OffsetAndEpoch(offset=Offset(offset), epoch=Epoch(epoch)) if offset >= 0 and epoch >= 0 else None


def snapshot_fields(questions: Questions, request: FetchSnapshotRequest) -> Fields:
    """Return the fields of the request."""
    partition = questions.make(
        "PartitionSnapshot",
        partition=0,
        current_leader_epoch=request.current_leader_epoch,
        snapshot_id=questions.make(
            "SnapshotId", end_offset=request.snapshot_id.offset, epoch=request.snapshot_id.epoch
        ),
        position=request.position,
        replica_directory_id=uuid_to(request.replica.directory_id),
    )
    topic = questions.make("TopicSnapshot", name=METADATA_TOPIC_NAME, partitions=(partition,))
    return {"replica_id": request.replica.node_id, "max_bytes": request.max_bytes, "topics": (topic,)}


def snapshot_response_from(body: Any) -> FetchSnapshotResponse:
    """Return the response to a FetchSnapshot.

    Raises:
        BadFrame: it does not have exactly the one partition of the metadata topic.
    """
    if body.error_code:
        return FetchSnapshotResponse(error=error_from(body.error_code), leader_epoch=NO_EPOCH)
    partition = answered_partition(body.topics, "name", METADATA_TOPIC_NAME)
    leader_id, leader_epoch = NO_LEADER, NO_EPOCH
    if partition.current_leader is not None:
        leader_id, leader_epoch = partition.current_leader.leader_id, partition.current_leader.leader_epoch
    error = error_from(partition.error_code)
    asked = partition.snapshot_id
    return FetchSnapshotResponse(
        error=error,
        leader_id=NodeId(leader_id),
        leader_epoch=Epoch(leader_epoch),
        leader_endpoints=place_among(getattr(body, "node_endpoints", ()), leader_id),
        snapshot_id=_end(asked.end_offset, asked.epoch) if error is Error.NONE else None,
        size=partition.size,
        position=partition.position,
        data=partition.unaligned_records,
    )
