"""The requests to a broker agent: its state (Agent.Describe), and a comparison of its disks (Agent.Verify)."""

from __future__ import annotations

from typing import Final

import grpc
import msgspec

from kraft.v1 import agent_pb2, agent_pb2_grpc
from metadata_log.ids import NodeId, TopicId, Uuid, id_text
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from quorum.client.addresses import check_address
from quorum.client.errors import ClientError
from quorum.client.one_node import channel_to

RUNNING: Final = "running"
"""The phase of an agent that is registered and not fenced."""


class NotAnAgentError(ClientError):
    """The process at that address is not a broker agent."""


class NotReadyError(ClientError):
    """The agent, or its release, cannot serve the request yet."""


class AgentComparison(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of a comparison of an agent's disks with the image. Entries are paths."""

    directories: int
    """Partition directories in use afterwards."""
    gone: tuple[str, ...]
    appeared: tuple[str, ...]
    made: tuple[str, ...]
    staged: tuple[str, ...]
    quarantined: tuple[str, ...]
    offline: tuple[tuple[str, str], ...]
    """Log directories that are offline, each with the reason."""


class HeldPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A partition directory in use: `leader_id` -1 without a leader, `topic_id` None if the directory has no id."""

    topic: str
    partition: int
    topic_id: TopicId | None
    leader_id: int
    leader_epoch: int

    @property
    def name(self) -> str:
        """`{topic}-{partition}`, its directory's name."""
        return f"{self.topic}-{self.partition}"


class StagedPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stale directory under `deleting/`; removed at `remove_at_ms`, ms since 1970."""

    name: str
    topic_id: TopicId | None
    partition: int
    remove_at_ms: int


class AgentLogDir(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A log directory of the agent, and the partition directories in it."""

    path: str
    directory_id: str
    partitions: tuple[HeldPartition, ...]
    staged: tuple[StagedPartition, ...]
    quarantined: tuple[str, ...]


class AgentStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The state of an agent. A number is -1 if the agent does not know it."""

    broker_id: NodeId
    cluster_id: str
    incarnation_id: Uuid
    broker_epoch: int
    phase: str
    """starting, catching up, recovering, running, leaving or left."""
    is_fenced: bool
    image: OffsetAndEpoch
    metadata_topic_id: TopicId
    """The topic id in the agent's Fetch requests: the sentinel id, or the metadata topic's own."""
    leader_id: int
    leader_epoch: Epoch
    high_watermark: Offset
    log_dirs: tuple[AgentLogDir, ...]

    @property
    def partitions(self) -> tuple[HeldPartition, ...]:
        """The partition directories in use, over all log directories."""
        return tuple(partition for log_dir in self.log_dirs for partition in log_dir.partitions)

    @property
    def staged(self) -> tuple[StagedPartition, ...]:
        """The stale directories, over all log directories."""
        return tuple(staged for log_dir in self.log_dirs for staged in log_dir.staged)


async def describe_agent(address: str, timeout_s: float) -> AgentStatus:
    """Return the state of the agent at `address`, `host:port` of its GRPC listener.

    Raises:
        AddressError: `address` is not `host:port`.
        UnavailableError: the agent does not respond.
        NotAnAgentError: the process at the address is not an agent.
        WrongListenerError: the address is a controller's CONTROLLER listener.
    """
    async with channel_to(check_address(address), _not_an_agent) as channel:
        stub: agent_pb2_grpc.AgentAsyncStub = agent_pb2_grpc.AgentStub(channel)
        return _status_from(await stub.Describe(agent_pb2.DescribeAgentRequest(), timeout=timeout_s))


async def verify_agent(address: str, timeout_s: float) -> AgentComparison:
    """Have the agent at `address` compare its log directories with the image, and return the differences.

    Raises:
        NotReadyError: the agent has not yet applied the log up to its registration, or its release has no `verify`.
        ClientError: the errors of `describe_agent`.
    """
    async with channel_to(check_address(address), _not_an_agent) as channel:
        stub: agent_pb2_grpc.AgentAsyncStub = agent_pb2_grpc.AgentStub(channel)
        try:
            found = await stub.Verify(agent_pb2.VerifyAgentRequest(), timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
                raise NotReadyError(f"{address}: {error.details()}") from error
            if error.code() is grpc.StatusCode.UNIMPLEMENTED and await _is_agent(stub, timeout_s):
                raise NotReadyError(f"{address}: this agent's release has no `verify`: upgrade it") from error
            raise
    return AgentComparison(
        directories=found.directories,
        gone=tuple(found.gone),
        appeared=tuple(found.appeared),
        made=tuple(found.made),
        staged=tuple(found.staged),
        quarantined=tuple(found.quarantined),
        offline=tuple((each.path, each.why) for each in found.offline),
    )


async def _is_agent(stub: agent_pb2_grpc.AgentAsyncStub, timeout_s: float) -> bool:
    try:
        await stub.Describe(agent_pb2.DescribeAgentRequest(), timeout=timeout_s)
    except grpc.aio.AioRpcError:
        return False
    return True


async def _not_an_agent(address: str) -> NotAnAgentError:
    return NotAnAgentError(f"{address} is not a broker agent: give the GRPC address of one")


def _status_from(message: agent_pb2.DescribeAgentResponse) -> AgentStatus:
    return AgentStatus(
        broker_id=NodeId(message.broker_id),
        cluster_id=message.cluster_id,
        incarnation_id=Uuid(message.incarnation_id),
        broker_epoch=message.broker_epoch,
        phase=message.phase,
        is_fenced=message.is_fenced,
        image=OffsetAndEpoch(offset=Offset(message.image.offset), epoch=Epoch(message.image.epoch)),
        metadata_topic_id=TopicId(message.metadata_topic_id),
        leader_id=message.leader_id,
        leader_epoch=Epoch(message.leader_epoch),
        high_watermark=Offset(message.high_watermark),
        log_dirs=tuple(_log_dir_from(log_dir) for log_dir in message.log_dirs),
    )


def _log_dir_from(message: agent_pb2.DescribeAgentResponse.LogDir) -> AgentLogDir:
    return AgentLogDir(
        path=message.path,
        directory_id=id_text(message.directory_id),
        partitions=tuple(
            HeldPartition(
                topic=each.topic,
                partition=each.partition_index,
                topic_id=TopicId(each.topic_id) or None,
                leader_id=each.leader_id,
                leader_epoch=each.leader_epoch,
            )
            for each in message.partitions
        ),
        staged=tuple(
            StagedPartition(
                name=each.name,
                topic_id=TopicId(each.topic_id) or None,
                partition=each.partition_index,
                remove_at_ms=each.remove_at_ms,
            )
            for each in message.staged
        ),
        quarantined=tuple(message.quarantined),
    )
