"""Stock brokers on three controllers of this project, or on one of Kafka's, for scenarios that must end alike.

With `LONG=1` these tests run on both, which shows that their expectations are Kafka's behaviour.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools

OURS, KAFKAS = "ours", "kafkas"
QUORUMS: Final = (OURS, KAFKAS) if os.environ.get("LONG") else (OURS,)
AT_ONCE: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "auto.leader.rebalance.enable": "false",
}
"""Settings of brokers: groups form at once, and leaders change only through the test."""


class Either(msgspec.Struct, frozen=True, kw_only=True):
    """The brokers, the function that starts them, and the log of the active controller."""

    kafka: KafkaCluster
    tools: KafkaTools
    start_brokers: Callable[..., None]
    metadata_dir: Path


@contextlib.contextmanager
def brokers_on(
    quorum: str,
    root: Path,
    tools: KafkaTools,
    *,
    brokers: Sequence[int] = (11, 12),
    properties: Mapping[str, str] | None = None,
    broker_properties: Mapping[str, str] | None = None,
    jbod: bool = False,
) -> Iterator[Either]:
    """Run the controllers and brokers; `quorum` is one of `QUORUMS`, the rest as in `KafkaOnOurs`."""
    if quorum == OURS:
        with KafkaOnOurs(
            root, tools, brokers=brokers, properties=properties, broker_properties=broker_properties, jbod=jbod
        ) as ours:
            ours.start_controllers()
            ours.start_brokers(*brokers)
            at = ours.leader().metadata_dir
            yield Either(kafka=ours.kafka, tools=tools, start_brokers=ours.start_brokers, metadata_dir=at)
        return
    every = {**(properties or {}), **(broker_properties or {})}
    with KafkaCluster(root, tools, controllers=(1,), brokers=brokers, properties=every, jbod=jbod) as kafkas:
        kafkas.start()
        at = kafkas.nodes[1].metadata_dir
        yield Either(kafka=kafkas, tools=tools, start_brokers=kafkas.start, metadata_dir=at)
