"""What the tests with real Kafka share: its tools in one JVM, and a cluster made fresh in this run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kafka.life import KafkaLife, live_a_kafka_life
from tests.support.kafka.lost import LostCluster
from tests.support.kafka.tools import KafkaTools


@pytest.fixture(scope="session")
def kafka_tools() -> Iterator[KafkaTools]:
    """Kafka 4.3's own tools."""
    with KafkaTools("4.3.0") as tools:
        yield tools


@pytest.fixture(scope="session")
def old_kafka_tools() -> Iterator[KafkaTools]:
    """Those of the last version before 4.0."""
    with KafkaTools("3.9.1") as tools:
        yield tools


@pytest.fixture(scope="session")
def kafka_life(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> KafkaLife:
    """What a real cluster of this run left: 3 controllers, 2 brokers, kill -9 included. Its nodes are stopped."""
    return live_a_kafka_life(tmp_path_factory.mktemp("kafka"), kafka_tools)


@pytest.fixture(scope="session")
def lost(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> LostCluster:
    """What a real cluster of this run left when it was lost, at two moments; tests run copies of it."""
    return LostCluster(tmp_path_factory.mktemp("lost"), kafka_tools)
