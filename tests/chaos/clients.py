"""`python -m tests.chaos.clients ...`: several clients on few topic names, and the history of their operations.

Each client does one operation after another over its own connections. All use the same names, so that they meet. Names
change every few seconds, which keeps the search for one name short. After SIGTERM it ends once all open requests have
ended. Several processes may run at once; they share the time base.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import time
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import IO, Final

import msgspec

from metadata_log.ids import id_text
from quorum.api.error_codes import Error
from quorum.api.topics import CreatableReplicaAssignment
from quorum.client import (
    Client,
    OutcomeUnknownError,
    RefusedError,
    TopicExistsError,
    UnavailableError,
    UnknownTopicError,
)
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
_NAMES: Final = 3
NAMES_LIVE_S: Final = 4.0
_TIMEOUT_S: Final = 3.0
_THINK_S: Final = 0.03
Shares = dict[Kind, float]
_WRITER: Final[Shares] = {CREATE: 0.35, DELETE: 0.25, READ: 0.3, READ_AT_LEAST: 0.1}
_READER: Final[Shares] = {READ: 0.9, READ_AT_LEAST: 0.1}
"""A client that never waits for a write: it reads while other clients' writes hang."""
_CLIENTS: Final = (_WRITER, _WRITER, _WRITER, _READER)


class Recorder:
    """Writes the history."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def add(self, operation: Operation) -> None:
        """Write a finished operation."""
        self._file.write(msgspec.json.encode(operation) + b"\n")
        self._file.flush()


class LoadClient:
    """One client: a sequence of operations."""

    def __init__(self, number: int, client: Client, recorder: Recorder, seed: int, shares: Shares) -> None:
        self._number = number
        self._shares = shares
        self._client = client
        self._recorder = recorder
        self._random = random.Random(f"client-{number}-{seed}")

    async def step(self, names: list[str]) -> None:
        """Do one operation on one of the names, and pause."""
        (kind,) = self._random.choices(tuple(self._shares), tuple(self._shares.values()))
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
        except RefusedError as refusal:
            # The broker is fenced for a moment: no leader got its heartbeat, or the one that did was deposed.
            if refusal.error is not Error.INVALID_REPLICA_ASSIGNMENT:
                raise
            return NOT_DONE, ""


async def run(options: argparse.Namespace) -> None:
    """Run until SIGTERM, or until the parent process has ended."""
    parent = os.getppid()
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    bootstrap = options.bootstrap.split(",")

    async def one(number: int, recorder: Recorder, shares: Shares) -> None:
        async with Client(bootstrap, timeout_s=_TIMEOUT_S) as client:
            load = LoadClient(number, client, recorder, options.seed, shares)
            while not stopping.is_set() and os.getppid() == parent:
                generation = int((time.monotonic() - options.began) / options.names_live)
                await load.step([f"topic-{generation}-{letter}" for letter in "abc"[:_NAMES]])

    with options.history.open("wb") as file:
        recorder = Recorder(file)
        async with AsyncExitStack() as held:
            if options.brings_broker:
                own = await held.enter_async_context(Client(bootstrap))
                await held.enter_async_context(PaperBroker(own, options.cluster_id, BROKER))
            group = await held.enter_async_context(asyncio.TaskGroup())
            for number, shares in enumerate(_CLIENTS, options.first):
                group.create_task(one(number, recorder, shares), name=f"client-{number}")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--cluster-id", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--first", type=int, required=True, help="the number of the first client here")
    parser.add_argument("--began", type=float, required=True, help="the monotonic time from which names are counted")
    parser.add_argument("--names-live", type=float, default=NAMES_LIVE_S, metavar="S", help="then there are others")
    parser.add_argument("--brings-broker", action="store_true", help="keep a broker on paper registered")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
