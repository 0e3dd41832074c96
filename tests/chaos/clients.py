"""`python -m tests.chaos.clients ...`: several clients on few topic names, and the history of what they were told.

Decides: what is asked. Each client does one thing after another over connections of its own; their names are the same,
so that they meet. Names change every few seconds, which keeps what has to be searched for one name short. Ends at
SIGTERM, when everything that was asked is over.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import IO, Final

import msgspec

from metadata_log.ids import id_text
from quorum.client import Client, OutcomeUnknownError, TopicExistsError, UnavailableError, UnknownTopicError
from quorum.client.requests import CreatableReplicaAssignment
from quorum.errors import Error
from tests.chaos.history import (
    ABSENT,
    CREATE,
    DELETE,
    EXISTS,
    NOT_DONE,
    OK,
    READ,
    READ_AT_LEAST,
    UNKNOWN,
    Kind,
    Operation,
    Outcome,
)
from tests.support.paper_broker import PaperBroker

BROKER: Final = 101
_CLIENTS: Final = 6
_NAMES: Final = 3
_NAMES_LIVE_S: Final = 4.0
_TIMEOUT_S: Final = 3.0
_THINK_S: Final = 0.03
_SHARES: Final = {CREATE: 0.35, DELETE: 0.25, READ: 0.3, READ_AT_LEAST: 0.1}


class Recorder:
    """Writes the history."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def add(self, operation: Operation) -> None:
        """Write one that is over."""
        self._file.write(msgspec.json.encode(operation) + b"\n")
        self._file.flush()


class LoadClient:
    """One client: a sequence of operations."""

    def __init__(self, number: int, client: Client, recorder: Recorder, seed: int) -> None:
        self._number = number
        self._client = client
        self._recorder = recorder
        self._random = random.Random(f"client-{number}-{seed}")

    async def step(self, names: list[str]) -> None:
        """One operation on one of the names, and a moment of thought."""
        (kind,) = self._random.choices(tuple(_SHARES), tuple(_SHARES.values()))
        name = self._random.choice(names)
        called = time.monotonic_ns()
        outcome, topic_id = await self._outcome(self._do(kind, name))
        self._recorder.add(
            Operation(
                client=self._number,
                kind=kind,
                name=name,
                called=called,
                returned=time.monotonic_ns(),
                outcome=outcome,
                topic_id=topic_id,
                offset=-1 if outcome in (UNKNOWN, NOT_DONE) else self._client.seen_offset,
            )
        )
        await asyncio.sleep(self._random.expovariate(1 / _THINK_S))

    async def _do(self, kind: Kind, name: str) -> tuple[Outcome, str]:
        client = self._client
        if kind == CREATE:
            where = CreatableReplicaAssignment(partition_index=0, broker_ids=(BROKER,))
            return OK, id_text((await client.create_topic(name, assignments=[where])).topic_id)
        if kind == DELETE:
            return OK, id_text((await client.delete_topic(name)).topic_id)
        at_least = client.seen_offset if kind == READ_AT_LEAST else None
        (topic,) = await client.describe_topics([name], at_least_offset=at_least)
        if topic.error is Error.NONE:
            return OK, id_text(topic.topic_id)
        if topic.error is Error.UNKNOWN_TOPIC_OR_PARTITION:
            return ABSENT, ""
        raise RuntimeError(f"{name}: {topic.error.name}")

    @staticmethod
    async def _outcome(doing: Awaitable[tuple[Outcome, str]]) -> tuple[Outcome, str]:
        try:
            return await doing
        except TopicExistsError:
            return EXISTS, ""
        except UnknownTopicError:
            return ABSENT, ""
        except OutcomeUnknownError:
            return UNKNOWN, ""
        except UnavailableError:
            return NOT_DONE, ""


async def run(bootstrap: list[str], cluster_id: str, seed: int, path: Path) -> None:
    """Until SIGTERM."""
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    began = time.monotonic()

    async def one(number: int, recorder: Recorder) -> None:
        async with Client(bootstrap, timeout_s=_TIMEOUT_S) as client:
            load = LoadClient(number, client, recorder, seed)
            while not stopping.is_set():
                generation = int((time.monotonic() - began) / _NAMES_LIVE_S)
                await load.step([f"topic-{generation}-{letter}" for letter in "abc"[:_NAMES]])

    with path.open("wb") as file:
        recorder = Recorder(file)
        async with (
            Client(bootstrap) as own,
            PaperBroker(own, cluster_id, BROKER),
            asyncio.TaskGroup() as group,
        ):
            for number in range(_CLIENTS):
                group.create_task(one(number, recorder), name=f"client-{number}")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--cluster-id", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--history", type=Path, required=True)
    options = parser.parse_args()
    asyncio.run(run(options.bootstrap.split(","), options.cluster_id, options.seed, options.history))


if __name__ == "__main__":
    main()
