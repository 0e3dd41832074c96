"""A writer of topics whose every request has a known outcome: the client may safely send each twice.

It creates a topic unless that exists, and deletes one by its id if it exists. A name is never reused.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Coroutine
from typing import Final

from metadata_log.ids import TopicId
from quorum.client.client import DEFAULT_TIMEOUT_S, Client
from quorum.client.errors import ClientError

TASKS: Final = 3
"""The number of requests under way at most."""
_PAUSE_S: Final = 0.1
_DELETED_SHARE: Final = 0.2
_MOST_PARTITIONS: Final = 2
_REPLICATED: Final = 3
"""Topics with a replica on each of two brokers, which are created first: while one broker is down, placement fails."""


class ResolvedWriter:
    """Several tasks of one client that write until stopped.

    Attributes:
        created: the id of each topic whose creation was acknowledged, by name.
        deleted: the names of those whose deletion was acknowledged, too.
        failures: the requests that did not succeed within the client's timeout, and how each ended.
        under_way: how many requests wait for their response.
        slowest_s: how long the slowest request took.
    """

    def __init__(self, bootstrap: list[str], seed: int) -> None:
        self.created: Final[dict[str, TopicId]] = {}
        self.deleted: Final[set[str]] = set()
        self.failures: Final[list[str]] = []
        self.under_way = 0
        self.slowest_s = 0.0
        self._bootstrap = bootstrap
        self._random = random.Random(seed)
        self._numbers = itertools.count()
        self._is_stopping = False

    @property
    def acknowledged(self) -> int:
        """How many requests succeeded so far."""
        return len(self.created) + len(self.deleted)

    @property
    def present(self) -> dict[str, TopicId]:
        """The topics that must be there, by name."""
        created = self.created.copy()  # in one step: another thread may be writing
        return {name: topic_id for name, topic_id in created.items() if name not in self.deleted}

    async def run(self) -> None:
        """Write until `stop`."""
        async with Client(self._bootstrap, timeout_s=DEFAULT_TIMEOUT_S) as client:
            for number in range(_REPLICATED):
                name = f"replicated-{number}"
                await self._timed(f"create {name}", self._create(client, name, replicas=2))
            async with asyncio.TaskGroup() as group:
                for _ in range(TASKS):
                    group.create_task(self._write(client))

    def stop(self) -> None:
        """Let `run` return after the requests that are under way."""
        self._is_stopping = True

    async def _write(self, client: Client) -> None:
        while not self._is_stopping:
            name = f"topic-{next(self._numbers)}"
            await self._timed(f"create {name}", self._create(client, name))
            if name in self.created and self._random.random() < _DELETED_SHARE:
                await self._timed(f"delete {name}", self._delete(client, name))
            await asyncio.sleep(_PAUSE_S)

    async def _timed(self, what: str, request: Coroutine[None, None, None]) -> None:
        started = time.monotonic()
        self.under_way += 1
        try:
            await request
        except ClientError as error:
            self.failures.append(f"{what}, after {time.monotonic() - started:.3f} s: {error!r}")
        self.under_way -= 1
        self.slowest_s = max(self.slowest_s, time.monotonic() - started)

    async def _create(self, client: Client, name: str, replicas: int = 1) -> None:
        partitions = self._random.randint(1, _MOST_PARTITIONS)
        result = await client.create_topic(
            name, num_partitions=partitions, replication_factor=replicas, if_not_exists=True
        )
        self.created[name] = result.topic_id

    async def _delete(self, client: Client, name: str) -> None:
        await client.delete_topic(self.created[name], if_exists=True)
        self.deleted.add(name)
