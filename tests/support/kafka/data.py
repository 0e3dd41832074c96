"""Messages written and read by Kafka's console tools, and a partition's state from `kafka-topics`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.cluster import KafkaNode
from tests.support.kafka.tools import KafkaTools, ToolFailedError

_PATIENCE_MS: Final = 30_000


def produce(tools: KafkaTools, at: KafkaNode, topic: str, values: Iterable[str], *, acks: str = "all") -> None:
    """Write the values by `kafka-console-producer`, in order.

    Raises:
        ToolFailedError: a message was not acknowledged.
    """
    tools.run(
        "console-producer", "--bootstrap-server", at.address, "--topic", topic, "--sync", "--timeout", "0",
        "--request-required-acks", acks, stdin="".join(f"{value}\n" for value in values),
    )  # fmt: skip


def consume(tools: KafkaTools, at: KafkaNode, topic: str, count: int) -> list[str]:
    """Return the first `count` messages of a topic in their order; none is longer than a word.

    Raises:
        ToolFailedError: fewer came within 30 s.
    """
    return tools.run(
        "console-consumer", "--bootstrap-server", at.address, "--topic", topic, "--from-beginning",
        "--max-messages", str(count), "--timeout-ms", str(_PATIENCE_MS),
    ).split()  # fmt: skip


def partition(tools: KafkaTools, at: KafkaNode, topic: str, index: int = 0) -> dict[str, str]:
    """Return `Leader`, `Replicas`, `Isr`, ... of a partition as `kafka-topics --describe` prints them; empty if
    unknown."""
    status, said, why = tools.call("topics", "--bootstrap-server", at.address, "--describe", "--topic", topic)
    if status != 0 and "does not exist as expected" not in why:
        raise ToolFailedError(f"kafka-topics --describe --topic {topic} ended with {status}: {why[-2000:]}")
    line = next((line for line in said.splitlines() if f"Partition: {index}\t" in line), "")
    return dict(re.findall(r"(\w+): ([^\t\n]*)", line))


def await_partition(
    tools: KafkaTools, at: KafkaNode, topic: str, index: int = 0, *, timeout_s: float = 60.0, **wanted: str
) -> None:
    """Wait until the partition is described like this: `Leader="11"`; an ISR is compared as a set.

    Raises:
        TimeoutError: it was not; with the last description.
    """
    last: dict[str, str] = {}

    def is_so() -> bool:
        nonlocal last
        last = partition(tools, at, topic, index)
        return all(sorted(last.get(key, "?").split(",")) == sorted(wanted[key].split(",")) for key in wanted)

    try:
        wait_until(f"{topic}-{index} to be {wanted}", is_so, timeout_s=timeout_s)
    except TimeoutError as late:
        raise TimeoutError(f"{late}; it is {last}") from late
