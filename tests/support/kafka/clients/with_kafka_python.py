"""kafka-python."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.errors import UnknownTopicOrPartitionError

from tests.support.kafka.clients.scenario import PATIENCE_S


class Player:
    """The scenario's player."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        self._transactions = 0

    def create(self, name: str, partitions: int, replicas: int) -> None:
        self._admin.create_topics({name: {"num_partitions": partitions, "replication_factor": replicas}})

    def delete(self, name: str) -> None:
        self._admin.delete_topics([name])

    def describe(self, name: str) -> dict[str, Any] | None:
        return self._described(name)

    def describe_by_id(self, topic_id: str) -> str | None:
        found = self._described(uuid.UUID(topic_id))
        return None if found is None else found["name"]

    def delete_by_id(self, topic_id: str) -> None:
        self._admin.delete_topics([uuid.UUID(topic_id)])

    def _described(self, topic: str | uuid.UUID) -> dict[str, Any] | None:
        try:
            (found,) = self._admin.describe_topics([topic])
        except UnknownTopicOrPartitionError:
            return None
        if found["error_code"] != 0 or any(part["leader_id"] < 0 for part in found["partitions"]):
            return None
        return {"name": found["name"], "partitions": len(found["partitions"]), "id": str(found["topic_id"])}

    def produce(self, name: str, words: Sequence[str]) -> None:
        producer = KafkaProducer(bootstrap_servers=self._bootstrap, enable_idempotence=True, acks="all")
        sent = [producer.send(name, word.encode()) for word in words]
        for each in sent:
            each.get(timeout=PATIENCE_S)
        producer.close()

    def transact(self, name: str, words: Sequence[str], *, commit: bool) -> None:
        self._transactions += 1
        producer = KafkaProducer(bootstrap_servers=self._bootstrap, transactional_id=f"{name}-{self._transactions}")
        producer.init_transactions()
        producer.begin_transaction()
        sent = [producer.send(name, word.encode()) for word in words]
        for each in sent:
            each.get(timeout=PATIENCE_S)
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
        producer.close()

    def consume(self, name: str, group: str, until: Callable[[list[str]], bool], *, commit: bool = True) -> list[str]:
        consumer = KafkaConsumer(
            name,
            bootstrap_servers=self._bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
        words: list[str] = []
        deadline = time.monotonic() + PATIENCE_S
        while not until(words) and time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=500).values():
                words += [record.value.decode() for record in records]
        if commit:
            consumer.commit()
        consumer.close()
        return words
