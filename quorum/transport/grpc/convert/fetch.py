"""Fetch on the wire (KIP-595, KIP-853, KIP-1166)."""

from __future__ import annotations

from typing import Any, Final

from kraft.v1 import quorum_pb2
from metadata_log.ids import TopicId
from metadata_log.offsets import Epoch, Offset
from quorum.api.calls import PeerCall
from quorum.api.raft_messages import UNKNOWN_OFFSET, CommittedBatch, FetchRequest, FetchResponse
from quorum.transport.grpc.convert.common import topic_id_from
from quorum.transport.grpc.convert.partitions import (
    answer_from,
    answer_to,
    call_of,
    end_in,
    end_to,
    only_partition,
    replica_key,
)

MOST_OWN_IDS: Final = 16
"""The most ids of the metadata topic that are read from a response: a log seldom has a second one."""


def fetch_request_to(
    request: FetchRequest, *, cluster_id: str | None, topic_id: TopicId, correlation_id: int
) -> quorum_pb2.FetchRequest:
    """Return the request's message."""
    partition = quorum_pb2.FetchRequest.Partition(
        current_leader_epoch=request.current_leader_epoch,
        fetch_offset=request.fetch_offset,
        last_fetched_epoch=request.last_fetched_epoch,
        replica_directory_id=request.replica.directory_id,
        high_watermark=None if request.high_watermark == UNKNOWN_OFFSET else request.high_watermark,
        committed_batch=_committed_batch_to(request.committed_batch),
    )
    topic = quorum_pb2.FetchRequest.Topic(topic_id=topic_id, partitions=[partition])
    return quorum_pb2.FetchRequest(
        correlation_id=correlation_id,
        cluster_id=cluster_id,
        replica_id=request.replica.node_id,
        max_wait_ms=request.max_wait_ms,
        max_bytes=request.max_bytes,
        topics=[topic],
    )


def fetch_request_from(message: quorum_pb2.FetchRequest) -> PeerCall:
    """Return the call in `message`.

    Raises:
        BadMessage: it has no partition or several, or an id is not 16 bytes long.
    """
    topic_id, partition = only_partition(message.topics)
    request = FetchRequest(
        replica=replica_key(message.replica_id, partition.replica_directory_id),
        current_leader_epoch=Epoch(partition.current_leader_epoch),
        fetch_offset=Offset(partition.fetch_offset),
        last_fetched_epoch=Epoch(partition.last_fetched_epoch),
        max_bytes=message.max_bytes,
        max_wait_ms=message.max_wait_ms,
        high_watermark=Offset(partition.high_watermark) if partition.HasField("high_watermark") else UNKNOWN_OFFSET,
        committed_batch=_committed_batch_in(partition),
    )
    return call_of(request, message, topic_id, partition)


def fetch_response_to(response: FetchResponse, topic_id: TopicId, correlation_id: int) -> quorum_pb2.FetchResponse:
    """Return the response's message; `topic_id` and `correlation_id` as in the request."""
    answer = answer_to(
        quorum_pb2.FetchResponse,
        response,
        topic_id,
        high_watermark=response.high_watermark,
        log_start_offset=response.log_start_offset,
        diverging_epoch=end_to(response.diverging),
        snapshot_id=end_to(response.snapshot_id),
        records=response.records,
        own_topic_ids=response.own_ids,
        has_committed_batch=response.has_committed_batch,
    )
    answer.correlation_id = correlation_id
    return answer


def fetch_response_from(message: quorum_pb2.FetchResponse) -> FetchResponse:
    """Return the response in `message`.

    Raises:
        BadMessage: it does not have exactly one partition.
    """
    return answer_from(FetchResponse, message, _fetched)


def _fetched(partition: quorum_pb2.FetchResponse.Partition) -> dict[str, Any]:
    return {
        "high_watermark": Offset(partition.high_watermark),
        "log_start_offset": Offset(partition.log_start_offset),
        "diverging": end_in(partition, "diverging_epoch"),
        "snapshot_id": end_in(partition, "snapshot_id"),
        "records": partition.records,
        "own_ids": tuple(topic_id_from(each) for each in partition.own_topic_ids[:MOST_OWN_IDS]),
        "has_committed_batch": partition.has_committed_batch if partition.HasField("has_committed_batch") else None,
    }


def _committed_batch_to(batch: CommittedBatch | None) -> quorum_pb2.FetchRequest.CommittedBatch | None:
    if batch is None:
        return None
    return quorum_pb2.FetchRequest.CommittedBatch(base_offset=batch.base_offset, crc=batch.crc)


def _committed_batch_in(partition: quorum_pb2.FetchRequest.Partition) -> CommittedBatch | None:
    if not partition.HasField("committed_batch"):
        return None
    named = partition.committed_batch
    return CommittedBatch(base_offset=Offset(named.base_offset), crc=named.crc)
