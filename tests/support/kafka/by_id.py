"""Requests that name topics by id, as any client may send them to a stock broker, and the responses."""

from __future__ import annotations

import time
import uuid
from datetime import timedelta
from typing import Any, Final

import msgspec

from metadata_log.format.batch import build_batch
from metadata_log.ids import TopicId
from metadata_log.offsets import Epoch, Offset
from tests.support.kafka.cluster import KafkaNode
from tests.support.kafka_requests import fetch
from tests.support.kafka_wire import connected, requests_of
from tests.support.loop import run

_FETCH, _PRODUCE, _METADATA, _DELETE_TOPICS = (1, 16), (0, 13), (3, 12), (20, 6)
_NO_EPOCH: Final = -1
_SESSIONLESS: Final = -1
_PATIENCE: Final = timedelta(seconds=10)


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A read of partition 0: Kafka's error, and the records as they are on the broker's disk."""

    error: int
    records: bytes


def _ask(broker: KafkaNode, request: Any) -> Any:
    async def ask() -> Any:
        async with connected(broker.port) as client:
            return await client.ask(request)

    return run(ask())


def read_by_id(broker: KafkaNode, topic_id: TopicId) -> Read:
    """Fetch from the beginning as a consumer does; the broker responds at once."""
    key, version = _FETCH
    said = _ask(
        broker,
        fetch(
            version,
            topic_id=uuid.UUID(bytes=topic_id),
            fetch_offset=0,
            current_leader_epoch=_NO_EPOCH,
            last_fetched_epoch=_NO_EPOCH,
            partition_max_bytes=1 << 20,
            cluster_id=None,
            replica_state=requests_of(key, version).ReplicaState(),
            session_epoch=_SESSIONLESS,
            max_wait=timedelta(0),
        ),
    )
    if said.error_code.value != 0:
        return Read(error=said.error_code.value, records=b"")
    (topic,) = said.responses
    (partition,) = topic.partitions
    return Read(error=partition.error_code.value, records=bytes(partition.records or b""))


def produce_by_id(broker: KafkaNode, topic_id: TopicId, value: bytes) -> int:
    """Return the error for one record in partition 0. Its timestamp is now: retention would remove an old record."""
    module = requests_of(*_PRODUCE)
    now_ms = time.time_ns() // 1_000_000
    batch = build_batch(base_offset=Offset(0), epoch=Epoch(0), timestamp_ms=now_ms, values=[value])
    data = module.TopicProduceData(
        topic_id=uuid.UUID(bytes=topic_id), partition_data=(module.PartitionProduceData(index=0, records=batch),)
    )
    said = _ask(broker, module.ProduceRequest(acks=-1, timeout=_PATIENCE, topic_data=(data,)))
    (topic,) = said.responses
    (partition,) = topic.partition_responses
    return int(partition.error_code.value)


def describe_by_id(
    broker: KafkaNode, topic_id: TopicId, *, name: str | None = None, may_create: bool = False
) -> tuple[int, str | None]:
    """Return the error and the name in the Metadata response for an id, or for the name beside it."""
    module = requests_of(*_METADATA)
    topic = module.MetadataRequestTopic(topic_id=uuid.UUID(bytes=topic_id), name=name)
    request = module.MetadataRequest(
        topics=(topic,), allow_auto_topic_creation=may_create, include_topic_authorized_operations=False
    )
    said = _ask(broker, request)
    (found,) = said.topics
    return int(found.error_code.value), found.name


def delete_through(broker: KafkaNode, *topics: tuple[str | None, TopicId | None]) -> dict[str | None, int]:
    """Return the errors, by the response's names, of topics that are named, given by id, or both."""
    module = requests_of(*_DELETE_TOPICS)
    states = tuple(
        module.DeleteTopicState(name=name, topic_id=None if topic_id is None else uuid.UUID(bytes=topic_id))
        for name, topic_id in topics
    )
    said = _ask(broker, module.DeleteTopicsRequest(topics=states, timeout=_PATIENCE))
    return {each.name: int(each.error_code.value) for each in said.responses}
