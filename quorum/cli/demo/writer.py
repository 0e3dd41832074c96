"""A client that creates topics all the time, and records the outcome of each.

Decides: only a response counts as an acknowledgement; everything else is unanswered. It runs in the client's loop;
another thread may read the lists, which only grow.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Final

import msgspec

from metadata_log.ids import TopicId
from quorum.client.client import Client
from quorum.client.errors import OutcomeUnknownError, UnavailableError

_TOPIC_TIMEOUT_S: Final = 10.0
_TASKS: Final = 2


class Acknowledgement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The creation of a topic was acknowledged. `at_s` is of the monotonic clock."""

    at_s: float
    name: str
    topic_id: TopicId


class Writer:
    """Creates `written-0000`, `written-0001` and so on, two at a time, until stopped."""

    def __init__(self, client: Client) -> None:
        self.acknowledged: Final[list[Acknowledgement]] = []
        self.unanswered: Final[list[str]] = []
        self._client = client
        self._numbers = itertools.count()
        self._is_stopping = False

    async def run(self) -> None:
        """Create topics until `stop`.

        Raises:
            ClientError: a creation was rejected, which must not happen.
        """
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_TASKS):
                tasks.create_task(self._write())

    async def _write(self) -> None:
        while not self._is_stopping:
            await self.create(f"written-{next(self._numbers):04d}")

    async def create(self, name: str) -> None:
        """Create one topic, and record its outcome."""
        try:
            created = await self._client.create_topic(
                name, num_partitions=1, replication_factor=1, timeout_s=_TOPIC_TIMEOUT_S
            )
        except (OutcomeUnknownError, UnavailableError):
            # without a response the topic may exist or not: the act `proof` looks into the files
            self.unanswered.append(name)
            return
        self.acknowledged.append(Acknowledgement(at_s=time.monotonic(), name=created.name, topic_id=created.topic_id))

    def stop(self) -> None:
        """Let `run` return after the creations that are under way."""
        self._is_stopping = True

    def count_until(self, at_s: float) -> int:
        """Return how many topics had been acknowledged by that moment."""
        return sum(each.at_s <= at_s for each in self.acknowledged)

    def longest_silence_s(self, around_s: float) -> float:
        """Return the longest time between two acknowledgements of which the second came after that moment.

        The first may have come slightly later, too: a response that the killed leader had sent still arrives.
        """
        times = sorted(each.at_s for each in self.acknowledged)
        return max(later - earlier for earlier, later in itertools.pairwise(times) if later > around_s)

    def count_after(self, at_s: float) -> int:
        """Return how many topics were acknowledged after that moment."""
        return sum(each.at_s > at_s for each in self.acknowledged)
