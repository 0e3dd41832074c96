"""`python -m tests.support.kafka.clients.steady BOOTSTRAP TOPIC`: a producer that writes until its input ends.

It is idempotent. One consumer reads meanwhile, another at the end from the beginning. The JSON output gives the number
of acknowledged messages and the rejected ones. For each consumer it gives the acknowledged messages that are missing,
the number of duplicates, and the partitions with messages out of order. It uses confluent-kafka.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

_AT_ONCE = 20
_PAUSE_S = 0.05
_PATIENCE_S = 120.0


def _write(bootstrap: str, topic: str, is_over: threading.Event) -> tuple[list[int], list[str]]:
    """Return the numbers that were acknowledged, and the errors of the others."""
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


def _ends(bootstrap: str, topic: str) -> dict[int, int]:
    """Return the number of messages in each partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "steady"})
    partitions = consumer.list_topics(topic, timeout=_PATIENCE_S).topics[topic].partitions
    ends = {each: consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=30)[1] for each in partitions}
    consumer.close()
    return ends


def _read(bootstrap: str, topic: str, ends: Callable[[], dict[int, int] | None]) -> dict[int, list[int]]:
    """Return the numbers in each partition, in order, up to `ends`, which are known once the writer has stopped."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "steady", "enable.auto.commit": False})
    partitions = list(consumer.list_topics(topic, timeout=_PATIENCE_S).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
    found: dict[int, list[int]] = {each: [] for each in partitions}
    deadline = None
    while True:
        for message in consumer.consume(1000, timeout=0.5):
            if message.error() is not None:
                raise KafkaException(message.error())
            found[message.partition()].append(int(message.value()))
        known = ends()
        if known is None:
            continue
        deadline = deadline or time.monotonic() + _PATIENCE_S
        if all(len(found[each]) >= known[each] for each in partitions) or time.monotonic() > deadline:
            break
    consumer.close()
    return found


def _judged(acknowledged: list[int], found: dict[int, list[int]]) -> dict[str, Any]:
    there = [number for numbers in found.values() for number in numbers]
    return {
        "lost": sorted(set(acknowledged) - set(there))[:5],
        "twice": len(there) - len(set(there)),
        "out_of_order": [each for each, numbers in found.items() if numbers != sorted(numbers)],
    }


def main() -> None:
    """Write until standard input ends, then print the report."""
    _, bootstrap, topic = sys.argv
    is_over = threading.Event()
    ends: list[dict[int, int]] = []
    threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(_read, bootstrap, topic, lambda: ends[0] if ends else None)
        try:
            acknowledged, refused = _write(bootstrap, topic, is_over)
        finally:
            ends.append(_ends(bootstrap, topic))
        meanwhile = reading.result()
    told = {
        "acknowledged": len(acknowledged),
        "refused": refused[:5],
        "read_meanwhile": _judged(acknowledged, meanwhile),
        "read_at_the_end": _judged(acknowledged, _read(bootstrap, topic, lambda: ends[0])),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
