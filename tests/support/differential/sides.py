"""One of the two clusters: one connection to its active controller.

Decides: what is kept of its responses. Must not know: how the other one responded.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any, Final, Self

from kio.schema.errors import ErrorCode

from tests.support.differential.asks import Ask, Ids, comparable, entity_of, seconds
from tests.support.differential.requests import CREATE_TOPICS
from tests.support.kafka_wire import KafkaClient, connected_to

_LIST_PARTITION_REASSIGNMENTS: Final = 46
_MOVED_S: Final = 60.0
CLOSED: Final = "closed the connection, or did not answer"


class Side:
    """The connection to one cluster, as a context manager."""

    def __init__(self, title: str, host: str, port: int, *, must_answer: bool) -> None:
        self.title = title
        self._must_answer = must_answer
        self._at = (host, port)
        self._ids = Ids()
        self._held = AsyncExitStack()
        self._client: KafkaClient

    async def __aenter__(self) -> Self:
        self._client = await self._held.enter_async_context(connected_to(*self._at))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._held.aclose()

    async def ask(self, ask: Ask) -> Any:
        """Return the comparable response; CLOSED if the connection ends instead, and then another is opened.

        Raises:
            RuntimeError: a side that `must_answer` sent nothing. If Kafka's handler throws while it words an error,
                its client waits forever.
        """
        try:
            answer = await self._client.ask(entity_of(ask, self._ids))
        except (TimeoutError, asyncio.IncompleteReadError) as failure:
            if isinstance(failure, TimeoutError) and self._must_answer:
                raise RuntimeError(f"{self.title} did not answer {ask}") from failure
            self._client = await self._held.enter_async_context(connected_to(*self._at))
            return CLOSED
        if ask.key == CREATE_TOPICS and not ask.fields["validate_only"]:
            for topic in answer.topics:
                if topic.error_code is ErrorCode.none and getattr(topic, "topic_id", None) is not None:
                    self._ids.note(topic.name, topic.topic_id)
        return comparable(answer, self._ids)

    def forget(self) -> None:
        """Forget all ids so far."""
        self._ids = Ids()

    async def await_moved(self) -> None:
        """Wait until no partition is being reassigned: brokers take their time."""
        everything = Ask(_LIST_PARTITION_REASSIGNMENTS, 0, {"timeout": seconds(30), "topics": None})
        async with asyncio.timeout(_MOVED_S):
            while (await self.ask(everything))["topics"]:
                pass
