"""The agent's listener: reads that ask for too much are refused before they are looked at."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn, cast

import grpc
import pytest

from broker_agent.agent import Agent
from broker_agent.agent_service import AgentService
from kraft.v1 import agent_pb2


class Aborted(Exception):
    """The call ended."""


class _Context:
    async def abort(self, code: grpc.StatusCode, details: str) -> NoReturn:
        raise Aborted(f"{code.name}: {details}")


_Topic = agent_pb2.FetchPartitionsRequest.FetchTopic
_Partition = agent_pb2.FetchPartitionsRequest.FetchPartition


@pytest.mark.parametrize(
    "topics",
    [[_Topic()] * 10_001, [_Topic(topic_id=bytes(16))] * 10_001, [_Topic(partitions=[_Partition()] * 10_001)]],
    ids=["empty topics", "topics without partitions", "partitions"],
)
def test_a_read_of_too_many_topics_or_partitions_is_refused(topics: list[Any]) -> None:
    door = AgentService(cast("Agent", None), "cluster")  # the agent is not asked
    request = agent_pb2.FetchPartitionsRequest(topics=topics)
    with pytest.raises(Aborted, match="INVALID_ARGUMENT: more than 10000 partitions in one read"):
        asyncio.run(door.FetchPartitions(request, cast("Any", _Context())))
