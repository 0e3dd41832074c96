"""The gRPC service `kraft.v1.Agent`: Describe, FetchPartitions (reads by topic id) and Verify.

Decides: how the agent's state is encoded, and which error a malformed request gets.
"""

from __future__ import annotations

from collections.abc import Iterable

import grpc

from broker_agent.agent import Agent
from broker_agent.replication import FetchedPartition
from broker_agent.storage import PartitionDirectory, StagedDirectory
from kraft.v1 import agent_pb2, agent_pb2_grpc, common_pb2
from metadata_log.ids import ID_BYTES, DirectoryId, InvalidIdError, NodeId, TopicId, parse_topic_id
from metadata_log.image import PartitionImage

_MOST_PARTITIONS = 10_000
"""Partitions, and topics, in one FetchPartitions request."""

_FetchContext = grpc.aio.ServicerContext[agent_pb2.FetchPartitionsRequest, agent_pb2.FetchPartitionsResponse]
_DescribeContext = grpc.aio.ServicerContext[agent_pb2.DescribeAgentRequest, agent_pb2.DescribeAgentResponse]

_VerifyContext = grpc.aio.ServicerContext[agent_pb2.VerifyAgentRequest, agent_pb2.VerifyAgentResponse]


class AgentService(agent_pb2_grpc.AgentServicer):
    """Serves `kraft.v1.Agent`."""

    def __init__(self, agent: Agent, cluster_id: str) -> None:
        self._agent = agent
        self._cluster_id = cluster_id

    async def Describe(
        self, request: agent_pb2.DescribeAgentRequest, context: _DescribeContext
    ) -> agent_pb2.DescribeAgentResponse:
        """Return the agent's state and its directories."""
        agent = self._agent
        end, executor = agent.image.offset_and_epoch, agent.driver.executor
        leader_id = -1 if executor.machine.leader_id is None else executor.machine.leader_id
        return agent_pb2.DescribeAgentResponse(
            broker_id=agent.broker_id,
            cluster_id=self._cluster_id,
            incarnation_id=agent.incarnation_id,
            broker_epoch=agent.lifecycle.broker_epoch,
            phase=agent.lifecycle.phase.value,
            is_fenced=agent.lifecycle.is_fenced,
            image=common_pb2.OffsetAndEpoch(offset=end.offset, epoch=end.epoch),
            metadata_topic_id=executor.topic_id_fence.fetch_topic_id(leader_id),
            leader_id=leader_id,
            leader_epoch=executor.machine.epoch,
            high_watermark=executor.high_watermark,
            log_dirs=[self._log_dir(directory_id, path) for directory_id, path in agent.partitions.log_dirs.items()],
        )

    async def FetchPartitions(
        self, request: agent_pb2.FetchPartitionsRequest, context: _FetchContext
    ) -> agent_pb2.FetchPartitionsResponse:
        """Answer a follower's read, partition by partition.

        Aborts with INVALID_ARGUMENT if the request has too many topics or partitions, or a topic id of another length.
        """
        if len(request.topics) > _MOST_PARTITIONS or _partitions_in(request) > _MOST_PARTITIONS:
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT, f"more than {_MOST_PARTITIONS} partitions in one read: split it"
            )
        answer = agent_pb2.FetchPartitionsResponse()
        for topic in request.topics:
            if len(topic.topic_id) != ID_BYTES:
                await context.abort(
                    grpc.StatusCode.INVALID_ARGUMENT, f"a topic id has {ID_BYTES} bytes, not {len(topic.topic_id)}"
                )
            fetched = (
                self._agent.leadership.on_fetch(
                    self._agent.image,
                    NodeId(request.broker_id),
                    TopicId(topic.topic_id),
                    partition.partition_index,
                    partition.current_leader_epoch,
                    partition.fetch_offset,
                )
                for partition in topic.partitions
            )
            answer.topics.append(
                agent_pb2.FetchPartitionsResponse.FetchedTopic(topic_id=topic.topic_id, partitions=_wire(fetched))
            )
        self._agent.on_read()
        return answer

    async def Verify(
        self, request: agent_pb2.VerifyAgentRequest, context: _VerifyContext
    ) -> agent_pb2.VerifyAgentResponse:
        """Compare the disks with the image now, and return the outcome.

        Aborts with FAILED_PRECONDITION while the image may change no directory.
        """
        found = await self._agent.compare()
        if found is None:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, self._agent.why_not_compared() or "ask again")
        return agent_pb2.VerifyAgentResponse(
            directories=found.directories,
            gone=found.gone,
            appeared=found.appeared,
            made=found.made,
            staged=found.staged,
            quarantined=found.set_aside,
            offline=[agent_pb2.VerifyAgentResponse.OfflineLogDir(path=path, why=why) for path, why in found.offline],
        )

    def _log_dir(self, directory_id: DirectoryId, path: str) -> agent_pb2.DescribeAgentResponse.LogDir:
        partitions = self._agent.partitions
        return agent_pb2.DescribeAgentResponse.LogDir(
            path=path,
            directory_id=directory_id,
            partitions=[self._directory(each) for each in partitions.in_use if each.log_dir == path],
            staged=[_staged(each) for each in partitions.staged if each.log_dir == path],
            quarantined=partitions.quarantined(path),
        )

    def _directory(self, each: PartitionDirectory) -> agent_pb2.DescribeAgentResponse.PartitionDirectory:
        state = self._state(each)
        return agent_pb2.DescribeAgentResponse.PartitionDirectory(
            topic=each.topic,
            partition_index=each.partition,
            topic_id=each.topic_id or b"",
            leader_id=-1 if state is None else state.leader,
            leader_epoch=-1 if state is None else state.leader_epoch,
        )

    def _state(self, each: PartitionDirectory) -> PartitionImage | None:
        if each.topic_id is None:
            return None
        return self._agent.image.topics.partition(each.topic_id, each.partition)


def _partitions_in(request: agent_pb2.FetchPartitionsRequest) -> int:
    return sum(len(topic.partitions) for topic in request.topics)


def _wire(fetched: Iterable[FetchedPartition]) -> list[agent_pb2.FetchPartitionsResponse.FetchedPartition]:
    return [
        agent_pb2.FetchPartitionsResponse.FetchedPartition(
            partition_index=each.partition_index,
            error_code=each.error,
            leader_id=each.leader_id,
            leader_epoch=each.leader_epoch,
            log_end_offset=each.log_end_offset,
        )
        for each in fetched
    ]


def _staged(each: StagedDirectory) -> agent_pb2.DescribeAgentResponse.StagedDirectory:
    """Parse `{topic id}_{partition}`, with `.2`, `.3` … at the end if the replica was staged more than once."""
    text, _, rest = each.name.rpartition("_")
    partition = rest.partition(".")[0]
    try:
        topic_id: bytes = parse_topic_id(text)
    except InvalidIdError:
        topic_id = b""
    return agent_pb2.DescribeAgentResponse.StagedDirectory(
        name=each.name,
        topic_id=topic_id,
        partition_index=int(partition) if partition.isdigit() else -1,
        remove_at_ms=each.remove_at_ms,
    )
