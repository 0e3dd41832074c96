"""`python -m tests.support.kafka.clients.steady BOOTSTRAP TOPIC`: a producer that writes until its input ends.

It is idempotent. Then it reads the topic from its beginning, and prints JSON: how many messages were acknowledged,
which were refused, which of the acknowledged are not there, how many stand there twice, and in which partitions they
are not in order. With confluent-kafka, in the environment of the clients.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

_AT_ONCE = 20
_PAUSE_S = 0.05
_PATIENCE_S = 120.0


def _write(bootstrap: str, topic: str, is_over: threading.Event) -> tuple[list[int], list[str]]:
    """Numbers that were acknowledged, and what refused the others."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "message.timeout.ms": int(_PATIENCE_S * 1000)}
    )
    acknowledged: list[int] = []
    refused: list[str] = []

    def delivered(error: KafkaError | None, message: Any) -> None:
        if error is None:
            acknowledged.append(int(message.value()))
        else:
            refused.append(str(error))

    number = 0
    while not is_over.is_set():
        for _ in range(_AT_ONCE):
            producer.produce(topic, str(number).encode(), on_delivery=delivered)
            number += 1
        producer.poll(_PAUSE_S)
        is_over.wait(_PAUSE_S)
    left = producer.flush(_PATIENCE_S)
    return acknowledged, [*refused, *(["never answered"] * left)]


def _read(bootstrap: str, topic: str) -> dict[int, list[int]]:
    """The numbers in each partition, in order."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "steady", "enable.auto.commit": False})
    partitions = list(consumer.list_topics(topic, timeout=_PATIENCE_S).topics[topic].partitions)
    ends = {each: consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=30)[1] for each in partitions}
    consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
    found: dict[int, list[int]] = {each: [] for each in partitions}
    deadline = time.monotonic() + _PATIENCE_S
    while any(len(found[each]) < ends[each] for each in partitions) and time.monotonic() < deadline:
        for message in consumer.consume(1000, timeout=0.5):
            if message.error() is not None:
                raise KafkaException(message.error())
            found[message.partition()].append(int(message.value()))
    consumer.close()
    return found


def main() -> None:
    """Write until standard input ends, then say what came of it."""
    _, bootstrap, topic = sys.argv
    is_over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
    acknowledged, refused = _write(bootstrap, topic, is_over)
    found = _read(bootstrap, topic)
    there = [number for numbers in found.values() for number in numbers]
    told = {
        "acknowledged": len(acknowledged),
        "refused": refused[:5],
        "lost": sorted(set(acknowledged) - set(there))[:5],
        "twice": len(there) - len(set(there)),
        "out_of_order": [each for each, numbers in found.items() if numbers != sorted(numbers)],
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
