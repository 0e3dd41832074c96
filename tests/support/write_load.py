"""A write load on real controllers, with a ledger of all acknowledgements: the files must hold these afterwards.

Several writers create topics, delete them, and create them again under the same name. Each has its own names and sends
one request after another. A request of unknown outcome removes its name from the ledger's promises. A request that the
client reports as not done must be in no log.
"""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Final, Self

from metadata_log.ids import TopicId
from quorum.api.topics import CreatableReplicaAssignment
from quorum.client.client import Client
from quorum.client.errors import OutcomeUnknownError, UnavailableError
from tests.support.paper_broker import PaperBroker

PAPER_BROKER: Final = 101
"""The broker of all topics."""
_CALL_TIMEOUT_S: Final = 20.0
_MOST_PARTITIONS: Final = 3


class Ledger:
    """The acknowledgements of the controllers.

    Attributes:
        created: every acknowledged topic id, with its name.
        deleted: every id whose deletion was acknowledged.
        present: names whose last acknowledgement was a creation, with the id.
        absent: names whose last acknowledgement was a deletion.
        unknown: names without any promise.
        never: names whose creation the client gave up before any controller took it.
    """

    def __init__(self) -> None:
        self.created: dict[TopicId, str] = {}
        self.deleted: set[TopicId] = set()
        self.present: dict[str, TopicId] = {}
        self.absent: set[str] = set()
        self.unknown: set[str] = set()
        self.never: set[str] = set()

    def __len__(self) -> int:
        return len(self.created) + len(self.deleted)


class WriteLoad:
    """Runs in a separate thread while it is entered. A writer pauses `pause_s` between requests."""

    def __init__(
        self, bootstrap: list[str], cluster_id: str, *, seed: int, writers: int = 4, pause_s: float = 0.005
    ) -> None:
        self.ledger: Final = Ledger()
        self._bootstrap = bootstrap
        self._cluster_id = cluster_id
        self._seed = seed
        self._writers = writers
        self._pause_s = pause_s
        self._started: Future[None] = Future()
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="write-load")
        self._outcome: Future[None] = Future()

    def __enter__(self) -> Self:
        self._outcome = self._thread.submit(self._run)
        wait((self._started, self._outcome), timeout=60, return_when=FIRST_COMPLETED)
        self.acknowledged()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._outcome.done():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._outcome.result(timeout=90)
        self._thread.shutdown()

    def acknowledged(self) -> int:
        """Return the number of requests that succeeded so far.

        Raises:
            BaseException: the error that ended a writer early.
        """
        if self._outcome.done():
            self._outcome.result()
        return len(self.ledger)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._load())
        finally:
            self._loop.close()

    async def _load(self) -> None:
        async with (
            Client(self._bootstrap, timeout_s=_CALL_TIMEOUT_S) as one,
            Client(self._bootstrap, timeout_s=_CALL_TIMEOUT_S) as other,
            PaperBroker(one, self._cluster_id, PAPER_BROKER),
        ):
            self._started.set_result(None)
            async with asyncio.TaskGroup() as group:
                for number in range(self._writers):
                    writer = _Writer(number, (one, other)[number % 2], self.ledger, self._seed)
                    group.create_task(self._write(writer), name=f"writer-{number}")

    async def _write(self, writer: _Writer) -> None:
        while not self._stopping.is_set():
            await writer.step()
            await asyncio.sleep(self._pause_s)


class _Writer:
    """One sequence of requests on names that no other writer uses."""

    def __init__(self, number: int, client: Client, ledger: Ledger, seed: int) -> None:
        self._number = number
        self._client = client
        self._ledger = ledger
        self._random = random.Random(f"{seed}-{number}")
        self._count = 0
        self._here: list[str] = []
        self._gone: list[str] = []

    async def step(self) -> None:
        """Send one request."""
        chance = self._random.random()
        if chance < 0.15 and self._here:
            await self._delete(self._take(self._here))
        elif chance < 0.25 and self._gone:
            await self._create(self._take(self._gone))
        else:
            self._count += 1
            await self._create(f"writer-{self._number}.topic-{self._count}")

    def _take(self, names: list[str]) -> str:
        return names.pop(self._random.randrange(len(names)))

    async def _create(self, name: str) -> None:
        ledger = self._ledger
        is_new = name not in ledger.absent
        ledger.absent.discard(name)
        partitions = tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=(PAPER_BROKER,))
            for index in range(self._random.randint(1, _MOST_PARTITIONS))
        )
        try:
            created = await self._client.create_topic(name, assignments=partitions)
        except OutcomeUnknownError:
            ledger.unknown.add(name)
        except UnavailableError:
            if is_new:
                ledger.never.add(name)
            else:
                ledger.absent.add(name)
        else:
            ledger.created[created.topic_id] = name
            ledger.present[name] = created.topic_id
            self._here.append(name)

    async def _delete(self, name: str) -> None:
        ledger = self._ledger
        topic_id = ledger.present.pop(name)
        try:
            await self._client.delete_topic(topic_id)
        except OutcomeUnknownError:
            ledger.unknown.add(name)
        except UnavailableError:
            ledger.present[name] = topic_id
            self._here.append(name)
        else:
            ledger.deleted.add(topic_id)
            ledger.absent.add(name)
            self._gone.append(name)
