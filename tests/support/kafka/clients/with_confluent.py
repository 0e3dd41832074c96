"""confluent-kafka: librdkafka."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.kafka.clients.scenario import PATIENCE_S

_FIRST_64_BITS = 64


class Player:
    """The scenario's player. It describes and deletes by name only."""

    def __init__(self, bootstrap: str) -> None:
        self._about = {"bootstrap.servers": bootstrap}
        self._admin = AdminClient(self._about)
        self._transactions = 0

    def create(self, name: str, partitions: int, replicas: int) -> None:
        asked = self._admin.create_topics([NewTopic(name, partitions, replicas)], operation_timeout=PATIENCE_S)
        asked[name].result()

    def delete(self, name: str) -> None:
        self._admin.delete_topics([name], operation_timeout=PATIENCE_S)[name].result()

    def describe(self, name: str) -> dict[str, Any] | None:
        try:
            found = self._admin.describe_topics(TopicCollection([name]))[name].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise
        if any(part.leader is None for part in found.partitions):
            return None
        held = found.topic_id
        mask = (1 << _FIRST_64_BITS) - 1
        first, second = held.get_most_significant_bits() & mask, held.get_least_significant_bits() & mask
        topic_id = uuid.UUID(int=first << _FIRST_64_BITS | second)
        return {"name": found.name, "partitions": len(found.partitions), "id": str(topic_id)}

    def describe_by_id(self, topic_id: str) -> str | None:
        return None

    def delete_by_id(self, topic_id: str) -> None:
        raise NotImplementedError("this client deletes by name")

    def produce(self, name: str, words: Sequence[str]) -> None:
        self._send(Producer({**self._about, "enable.idempotence": True}), name, words)

    def transact(self, name: str, words: Sequence[str], *, commit: bool) -> None:
        self._transactions += 1
        producer = Producer({**self._about, "transactional.id": f"{name}-{self._transactions}"})
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        self._send(producer, name, words)
        if commit:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.abort_transaction(PATIENCE_S)

    @staticmethod
    def _send(producer: Producer, name: str, words: Sequence[str]) -> None:
        refused: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                refused.append(error)

        for word in words:
            producer.produce(name, word.encode(), on_delivery=delivered)
        if producer.flush(PATIENCE_S) or refused:
            raise KafkaException(refused[0] if refused else KafkaError(KafkaError._TIMED_OUT))

    def consume(self, name: str, group: str, until: Callable[[list[str]], bool], *, commit: bool = True) -> list[str]:
        consumer = Consumer(
            {
                **self._about,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        consumer.subscribe([name])
        words: list[str] = []
        deadline = time.monotonic() + PATIENCE_S
        while not until(words) and time.monotonic() < deadline:
            for message in consumer.consume(100, timeout=0.5):
                if message.error() is not None:
                    raise KafkaException(message.error())
                words.append(message.value().decode())
        if commit:
            consumer.commit(asynchronous=False)
        consumer.close()
        return words
