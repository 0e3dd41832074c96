"""Clients beyond their quota, at the Kafka listener (KIP-599): the throttle time in the response, and their wait."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from typing import Any

import pytest
from kio.schema.create_topics.v7.response import CreateTopicsResponse
from kio.serial import entity_reader

from metadata_log.ids import TopicId
from quorum.api.calls import ClientAnswer
from quorum.api.error_codes import Error
from quorum.api.partition_counts import CreatePartitionsResponse, GrownTopic
from quorum.api.topics import CreatableTopicResult, DeletableTopicResult, DeleteTopicsResponse
from quorum.api.topics import CreateTopicsResponse as ApiCreateTopicsResponse
from tests.support.kafka_exchange import exchange
from tests.support.kafka_requests import ID, api_versions, create_partitions, create_topics, delete_topics, envelope
from tests.support.kafka_wire import connected, kafka_door, request_bytes, written
from tests.support.loop import run
from tests.support.scripted_node import ScriptedNode

THROTTLED = Error.THROTTLING_QUOTA_EXCEEDED
A_WHILE_MS = 300
FOR_EVER_MS = 1 << 30
CREATED = ApiCreateTopicsResponse(
    topics=(CreatableTopicResult(name="t", error=THROTTLED, topic_id=TopicId(ID.bytes)),), throttle_time_ms=A_WHILE_MS
)
DELETED = DeleteTopicsResponse(
    topics=(DeletableTopicResult(error=THROTTLED, name="t", topic_id=TopicId(ID.bytes)),), throttle_time_ms=A_WHILE_MS
)
GROWN = CreatePartitionsResponse(topics=(GrownTopic(name="t", error=THROTTLED),), throttle_time_ms=A_WHILE_MS)


@pytest.mark.parametrize(
    ("request_of", "version", "response", "is_known"),
    [
        *((create_topics, version, CREATED, version >= 6) for version in range(2, 8)),
        *((delete_topics, version, DELETED, version >= 5) for version in range(1, 7)),
        *((create_partitions, version, GROWN, version >= 3) for version in range(4)),
    ],
)
def test_how_long_to_wait_is_told_and_who_may_be_refused(
    request_of: Callable[[int], Any], version: int, response: object, is_known: bool
) -> None:
    call, said = exchange(request_of(version), ClientAnswer(response=response))
    assert said.throttle_time == datetime.timedelta(milliseconds=A_WHILE_MS)
    assert (call.context.client_id, call.context.knows_throttling) == ("me", is_known)


def test_the_client_within_an_envelope_counts() -> None:
    data = request_bytes(19, 5, written(create_topics(5)), 42, client_id="theirs")[4:]
    call, _ = exchange(envelope(request_data=data), ClientAnswer(response=CREATED), host="10.1.2.3")
    assert (call.context.principal, call.context.client_id, call.context.knows_throttling) == (
        "User:ANONYMOUS",
        "theirs",
        False,
    )


def _seconds_to_the_next_answer(request: Any, throttle_ms: int) -> tuple[Any, float]:
    """Return the seconds from a throttled response to the next response on the same connection."""
    node = ScriptedNode()
    answer = ClientAnswer(response=ApiCreateTopicsResponse(topics=CREATED.topics, throttle_time_ms=throttle_ms))
    node.at_once = lambda call: answer

    async def main() -> tuple[Any, float]:
        loop = asyncio.get_running_loop()
        async with kafka_door(node) as door, connected(door.port) as client:
            said = await client.ask(request)
            since_s = loop.time()
            await client.ask(api_versions(4))
            return said, loop.time() - since_s

    return run(main())


def test_a_client_is_not_heard_for_so_long() -> None:
    _, seconds = _seconds_to_the_next_answer(create_topics(2), A_WHILE_MS)
    # Measured at the client, from the arrival of the response.
    assert seconds > A_WHILE_MS / 1000 - 0.1


def test_a_broker_that_passes_on_is_heard() -> None:
    said, seconds = _seconds_to_the_next_answer(envelope(), FOR_EVER_MS)
    within, _ = entity_reader(CreateTopicsResponse)(said.response_data, 5)
    assert within.throttle_time == datetime.timedelta(milliseconds=FOR_EVER_MS)
    assert seconds < 15


def test_who_goes_while_it_is_not_heard_is_gone() -> None:
    node = ScriptedNode()
    node.at_once = lambda call: ClientAnswer(response=CREATED)

    async def main() -> None:
        async with kafka_door(node) as door:
            async with connected(door.port) as client:
                await client.ask(create_topics(7))
                await client.send(create_topics(7))
            until_s = asyncio.get_running_loop().time() + 2 * A_WHILE_MS / 1000
            async with connected(door.port) as other:
                while asyncio.get_running_loop().time() < until_s:
                    await other.ask(api_versions(4))
        assert len(node.calls) == 1

    run(main())
