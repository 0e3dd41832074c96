"""The nodes that the tests of the client talk to: an active controller, a standby, and a controller that rejects
requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from metadata_log.ids import TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.api.brokers import BrokerHeartbeatResponse
from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.error_codes import Error
from quorum.api.topics import (
    CreatableTopicResult,
    CreateTopics,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopics,
    DeleteTopicsResponse,
    DescribedTopic,
    DescribeTopics,
    DescribeTopicsResponse,
)
from tests.support.scripted_node import NODE_ID, ScriptedNode, served

ID = TopicId(b"\5" * 16)


def active(call: ClientCall) -> ClientAnswer:
    """Respond with success to every request, and keep nothing."""
    request = call.request
    response: object
    if isinstance(request, CreateTopics):
        response = CreateTopicsResponse(
            topics=tuple(
                CreatableTopicResult(name=t.name, error=Error.NONE, topic_id=ID, num_partitions=1, replication_factor=1)
                for t in request.topics
            )
        )
    elif isinstance(request, DeleteTopics):
        response = DeleteTopicsResponse(
            topics=tuple(DeletableTopicResult(error=Error.NONE, name=t.name, topic_id=ID) for t in request.topics)
        )
    elif isinstance(request, DescribeTopics):
        response = DescribeTopicsResponse(
            topics=tuple(DescribedTopic(error=Error.NONE, name=name, topic_id=ID) for name in request.names)
        )
    else:
        response = BrokerHeartbeatResponse(is_fenced=False)
    return ClientAnswer(response=response, image_offset=Offset(40), image_epoch=Epoch(2), leader_id=NODE_ID)


def standby(leader: str | None = None, leader_id: int = 2) -> Callable[[ClientCall], ClientAnswer]:
    def answer(call: ClientCall) -> ClientAnswer:
        if leader is None:
            return ClientAnswer(error=Error.NOT_CONTROLLER, message="no leader is known")
        host, _, port = leader.rpartition(":")
        endpoint = Endpoint(name="GRPC", host=host, port=int(port))
        return ClientAnswer(error=Error.NOT_CONTROLLER, leader_id=leader_id, leader_endpoints=(endpoint,))

    return answer


def failing(error: Error, message: str = "because") -> Callable[[ClientCall], ClientAnswer]:
    return lambda call: ClientAnswer(error=error, message=message)


@asynccontextmanager
async def scripted_nodes(count: int) -> AsyncIterator[tuple[list[ScriptedNode], list[str]]]:
    nodes = [ScriptedNode() for _ in range(count)]
    async with AsyncExitStack() as stack:
        yield nodes, [await stack.enter_async_context(served(node)) for node in nodes]
