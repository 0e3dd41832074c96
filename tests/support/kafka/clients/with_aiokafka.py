"""aiokafka."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import for_code

from tests.support.kafka.clients.scenario import PATIENCE_S

T = TypeVar("T")


class Player:
    """The scenario's player. It knows topics by name only, and returns errors in its response."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._transactions = 0

    def create(self, name: str, partitions: int, replicas: int) -> None:
        said = self._admin(lambda admin: admin.create_topics([NewTopic(name, partitions, replicas)]))
        self._check(said.topic_errors)

    def delete(self, name: str) -> None:
        said = self._admin(lambda admin: admin.delete_topics([name]))
        self._check(said.topic_error_codes)

    @staticmethod
    def _check(errors: Sequence[Sequence[Any]]) -> None:
        for error in errors:
            if error[1] != 0:
                raise for_code(error[1])

    def describe(self, name: str) -> dict[str, Any] | None:
        (found,) = self._admin(lambda admin: admin.describe_topics([name]))
        parts = found["partitions"]
        if found["error_code"] != 0 or any(part["leader"] < 0 for part in parts):
            return None
        return {"name": found["topic"], "partitions": len(parts)}

    def describe_by_id(self, topic_id: str) -> str | None:
        return None

    def delete_by_id(self, topic_id: str) -> None:
        raise NotImplementedError("this client deletes by name")

    def _admin(self, ask: Callable[[AIOKafkaAdminClient], Coroutine[Any, Any, T]]) -> T:
        async def run() -> T:
            admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await admin.start()
            try:
                return await ask(admin)
            finally:
                await admin.close()

        return asyncio.run(run())

    def produce(self, name: str, words: Sequence[str]) -> None:
        async def run() -> None:
            about = {"bootstrap_servers": self._bootstrap, "enable_idempotence": True}
            async with AIOKafkaProducer(**about) as producer:
                for word in words:
                    await producer.send_and_wait(name, word.encode())

        asyncio.run(run())

    def transact(self, name: str, words: Sequence[str], *, commit: bool) -> None:
        self._transactions += 1
        transactional_id = f"{name}-{self._transactions}"

        async def run() -> None:
            about = {"bootstrap_servers": self._bootstrap, "transactional_id": transactional_id}
            async with AIOKafkaProducer(**about) as producer:
                await producer.begin_transaction()
                for word in words:
                    await producer.send_and_wait(name, word.encode())
                await (producer.commit_transaction() if commit else producer.abort_transaction())

        asyncio.run(run())

    def consume(self, name: str, group: str, until: Callable[[list[str]], bool], *, commit: bool = True) -> list[str]:
        async def run() -> list[str]:
            consumer = AIOKafkaConsumer(
                name,
                bootstrap_servers=self._bootstrap,
                group_id=group,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                isolation_level="read_committed",
            )
            words: list[str] = []
            deadline = asyncio.get_running_loop().time() + PATIENCE_S
            async with consumer:
                while not until(words) and asyncio.get_running_loop().time() < deadline:
                    for records in (await consumer.getmany(timeout_ms=500)).values():
                        words.extend(record.value.decode() for record in records)
                if commit:
                    await consumer.commit()
            return words

        return asyncio.run(run())
