"""Conversion of Fetch and FetchSnapshot between Kafka's protocol and the core's messages.

Kafka names the topic by the sentinel id in Fetch, and by name in FetchSnapshot and in Fetch 12.

Sources: KIP-595, KIP-630, KIP-853 (directory ids, node endpoints), KIP-1166 (the replica's high watermark).
"""

from __future__ import annotations

from typing import Any, Final

from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Endpoint
from quorum.api.calls import PeerCall
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.leader_hint import NO_LEADER
from quorum.api.raft_messages import (
    UNKNOWN_OFFSET,
    FetchRequest,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from quorum.transport.kafka.partitions import only_partition
from quorum.transport.kafka.wire import Answers, bytes_of, key_from, milliseconds

MAX_FETCH_BYTES: Final = 8 << 20
"""The limit that Kafka's controllers request from each other; brokers request less."""
TELLS_NONE: Final = (1 << 63) - 1
"""The high watermark of a replica whose version lacks that field."""


def fetch_call_from(body: Any, context: RequestContext) -> PeerCall | None:
    """Return the call in a Fetch, or None unless it names exactly one partition of one topic."""
    if len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
        return None
    topic, partition = body.topics[0], body.topics[0].partitions[0]
    is_named = hasattr(topic, "topic")
    if is_named and topic.topic != METADATA_TOPIC_NAME:
        return None
    replica_id = body.replica_state.replica_id if hasattr(body, "replica_state") else body.replica_id
    request = fetch_request_of(
        key_from(replica_id, getattr(partition, "replica_directory_id", None)),
        Epoch(partition.current_leader_epoch),
        Offset(partition.fetch_offset),
        Epoch(partition.last_fetched_epoch),
        max_bytes=body.max_bytes,
        max_wait_ms=milliseconds(body.max_wait),
        told=getattr(partition, "high_watermark", TELLS_NONE),
    )
    return PeerCall(
        request=request,
        cluster_id=body.cluster_id,
        topic_id=METADATA_TOPIC_ID if is_named else TopicId(bytes_of(topic.topic_id)),
        partition=partition.partition,
        context=context,
    )


def fetch_request_of(
    replica: ReplicaKey,
    leader_epoch: Epoch,
    fetch_offset: Offset,
    last_fetched_epoch: Epoch,
    *,
    max_bytes: int,
    max_wait_ms: int,
    told: int,
) -> FetchRequest:
    """Return the core's request. `told` is the high watermark that the replica sent.

    A replica that sends -1 (unknown) counts as being at 0, so a leader with a higher one responds at once.
    """
    return FetchRequest(
        replica=replica,
        current_leader_epoch=leader_epoch,
        fetch_offset=fetch_offset,
        last_fetched_epoch=last_fetched_epoch,
        max_bytes=min(max(max_bytes, 0), MAX_FETCH_BYTES),
        max_wait_ms=max_wait_ms,
        high_watermark=UNKNOWN_OFFSET if told == TELLS_NONE else Offset(max(told, 0)),
    )


def fetch_refused(answers: Answers, error: Error) -> Any:
    """Return the response that rejects the whole Fetch."""
    return answers.response(error_code=error, responses=())


def snapshot_call_from(body: Any, context: RequestContext) -> PeerCall | None:
    """Return the call in a FetchSnapshot, or None unless it names exactly one partition of the metadata topic."""
    partition = only_partition(body.topics, "name", METADATA_TOPIC_NAME)
    if partition is None:
        return None
    asked = partition.snapshot_id
    request = FetchSnapshotRequest(
        replica=key_from(body.replica_id, getattr(partition, "replica_directory_id", None)),
        current_leader_epoch=Epoch(partition.current_leader_epoch),
        snapshot_id=OffsetAndEpoch(offset=Offset(asked.end_offset), epoch=Epoch(asked.epoch)),
        position=partition.position,
        max_bytes=min(max(body.max_bytes, 0), MAX_FETCH_BYTES),
    )
    return PeerCall(
        request=request,
        cluster_id=body.cluster_id,
        topic_id=METADATA_TOPIC_ID,
        partition=partition.partition,
        context=context,
    )


def snapshot_refused(answers: Answers, error: Error) -> Any:
    """Return the response that rejects the whole FetchSnapshot."""
    return answers.response(error_code=error, topics=())


def snapshot_entity(answers: Answers, response: FetchSnapshotResponse, asked: Any, leader: Endpoint | None) -> Any:
    """Return the response. It repeats the snapshot id of `asked`, the request's entity.

    Version 0 has no field for a leader's endpoint. Its senders know each voter's endpoint from their configuration.
    """
    wanted = asked.topics[0].partitions[0]
    is_named = leader is not None or not answers.has("NodeEndpoint")
    leader_id = response.leader_id if is_named else NO_LEADER
    partition = answers.make(
        "PartitionSnapshot",
        index=wanted.partition,
        error_code=response.error,
        snapshot_id=answers.make(
            "SnapshotId", end_offset=wanted.snapshot_id.end_offset, epoch=wanted.snapshot_id.epoch
        ),
        current_leader=answers.make("LeaderIdAndEpoch", leader_id=leader_id, leader_epoch=response.leader_epoch),
        size=response.size,
        position=response.position,
        unaligned_records=response.data,
    )
    topic = answers.make("TopicSnapshot", name=asked.topics[0].name, partitions=(partition,))
    return answers.response(
        error_code=Error.NONE, topics=(topic,), node_endpoints=answers.node_endpoints(leader_id, leader)
    )
