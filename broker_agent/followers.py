"""The agent as a follower: it reads from the leaders of its partitions, by topic id.

Decides: when it reads, and from which leader. Must not know: how a leader uses the read.

The agent reads from every leader twice a second, even without changes: a new leader learns from it who is in sync.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

import grpc
import structlog

from broker_agent.lifecycle import Lifecycle, Phase
from broker_agent.reconciler import followed
from broker_agent.replication import LOG_END_OFFSET
from kraft.v1 import agent_pb2, agent_pb2_grpc
from metadata_log.ids import NodeId
from metadata_log.image import MetadataImage, PartitionImage, TopicImage
from metadata_log.voters import GRPC_LISTENER, Endpoint
from quorum.transport.channel import address_of, open_channel


class FollowingBroker(Protocol):
    """The part of the agent that reading from leaders needs."""

    @property
    def image(self) -> MetadataImage: ...

    @property
    def broker_id(self) -> NodeId: ...

    @property
    def lifecycle(self) -> Lifecycle: ...


_READ_EVERY_S: Final = 0.5
_TIMEOUT_S: Final = 1.0
_PARTITIONS_A_READ: Final = 5_000

log = structlog.get_logger("broker_agent")


async def follow_leaders(agent: FollowingBroker) -> None:
    """Read from every leader, round after round, while the broker runs."""
    channels: dict[str, grpc.aio.Channel] = {}
    try:
        while True:
            if agent.lifecycle.phase is Phase.RUNNING:
                leaders = followed(agent.image, agent.broker_id)
                await asyncio.gather(*(_read(agent, channels, leader, held) for leader, held in leaders.items()))
            await asyncio.sleep(_READ_EVERY_S)
    finally:
        for channel in channels.values():
            await channel.close(None)


async def _read(
    agent: FollowingBroker,
    channels: dict[str, grpc.aio.Channel],
    leader: NodeId,
    held: list[tuple[TopicImage, PartitionImage]],
) -> None:
    address = _address(agent.image, leader)
    if address is None:
        return
    stub: agent_pb2_grpc.AgentAsyncStub = agent_pb2_grpc.AgentStub(channels.setdefault(address, open_channel(address)))
    for begin in range(0, len(held), _PARTITIONS_A_READ):
        try:
            await stub.FetchPartitions(
                _request(agent, held[begin : begin + _PARTITIONS_A_READ]), timeout=_TIMEOUT_S, wait_for_ready=False
            )
        except grpc.aio.AioRpcError as error:
            log.debug("a leader cannot be read from", leader_id=leader, address=address, why=error.details())
            return


def _address(image: MetadataImage, leader: NodeId) -> str | None:
    broker = image.cluster.brokers.get(leader)
    listener = None if broker is None or broker.fenced else broker.listener(GRPC_LISTENER)
    return (
        None if listener is None else address_of(Endpoint(name=GRPC_LISTENER, host=listener.host, port=listener.port))
    )


def _request(agent: FollowingBroker, held: list[tuple[TopicImage, PartitionImage]]) -> agent_pb2.FetchPartitionsRequest:
    request = agent_pb2.FetchPartitionsRequest(broker_id=agent.broker_id, broker_epoch=agent.lifecycle.broker_epoch)
    by_topic: dict[bytes, agent_pb2.FetchPartitionsRequest.FetchTopic] = {}
    for topic, partition in held:
        if topic.topic_id not in by_topic:
            by_topic[topic.topic_id] = request.topics.add(topic_id=topic.topic_id)
        by_topic[topic.topic_id].partitions.add(
            partition_index=partition.partition_id,
            current_leader_epoch=partition.leader_epoch,
            fetch_offset=LOG_END_OFFSET,
        )
    return request
