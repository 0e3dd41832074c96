"""The time from the start of a stock Kafka broker's process until it serves: on an empty directory, and again.

It is stopped cleanly in between. Its own part (a JVM with its classes mapped, its log directories) is the same on every
side. So is the metadata that it loads: next to nothing, so that no writes warm a side. Kafka's controllers reject the
broker until the session of its last process has ended, however that stopped.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.load import Figures, Plan, addresses
from benchmarks.loadgen.build import ROOT
from benchmarks.side import Side
from metadata_log.directory.meta_properties import read_meta_properties
from metadata_log.files.os_files import OsFiles
from tests.support.kafka.archive import java
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.tools import KafkaTools

NAME: Final = "broker-boot"
TITLE: Final = "Start of a stock Kafka 4.3 broker"
_WORK: Final = ROOT / "build" / "bench" / "brokers"
_BROKERS: Final = 3
_FIRST_ID: Final = 201
_SESSION: Final = {"broker.session.timeout.ms": "9000"}
"""Kafka's default: other rows let the broker on paper live through pauses."""


def measure(side: Side, loadgen: Path, plan: Plan) -> Iterator[Figures]:
    """A run for each of some brokers, one at a time; none of sides that do not speak Kafka's protocol."""
    if side.kind != "kafka":
        return
    side.start(_SESSION)
    with _formatted(side, 1 if plan.is_quick else _BROKERS) as cluster:
        for broker in cluster.brokers:
            figures: Figures = {"on an empty directory, s": _start(cluster, broker)}
            broker.stop()
            figures["after a clean stop, s"] = _start(cluster, broker)
            broker.stop()
            yield figures
    shutil.rmtree(_WORK)
    side.stop()


def _formatted(side: Side, count: int) -> KafkaCluster:
    """Brokers that know where the controllers are; none of them runs, nor does the JVM that has formatted them."""
    shutil.rmtree(_WORK, ignore_errors=True)
    cluster_id = read_meta_properties(OsFiles(), str(side.directory(side.members[0]).parent)).cluster_id
    with KafkaTools() as tools:
        java(tools.version)  # makes the classes that its JVM maps, once for a checkout: half a minute that is no boot
        cluster = KafkaCluster(
            _WORK,
            tools,
            controllers=(),
            brokers=range(_FIRST_ID, _FIRST_ID + count),
            properties={"controller.quorum.bootstrap.servers": addresses(side)},
            cluster_id=cluster_id,
        )
        for broker in cluster.brokers:
            cluster.format(broker.node_id)
    return cluster


def _start(cluster: KafkaCluster, broker: KafkaNode) -> float:
    """Seconds until it says that it serves."""
    began = time.monotonic()
    cluster.launch(broker.node_id)
    broker.wait_started(every_s=0.01)
    return time.monotonic() - began
