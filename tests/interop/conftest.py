"""Fixtures that the tests with real Kafka share: its tools in one JVM, and a cluster made fresh in this run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kafka.jars import BEFORE_4, NEWEST, PREVIOUS
from tests.support.kafka.life import KafkaLife, live_a_kafka_life
from tests.support.kafka.lost import LostCluster
from tests.support.kafka.tools import KafkaTools


@pytest.fixture(scope="session")
def kafka_tools() -> Iterator[KafkaTools]:
    """The tools of Kafka's newest release."""
    with KafkaTools(NEWEST) as tools:
        yield tools


@pytest.fixture(scope="session")
def previous_kafka_tools() -> Iterator[KafkaTools]:
    """The tools of the release before, with its metadata shell."""
    with KafkaTools(PREVIOUS) as tools:
        yield tools


@pytest.fixture(scope="session")
def old_kafka_tools() -> Iterator[KafkaTools]:
    """The tools of the last release before 4.0."""
    with KafkaTools(BEFORE_4) as tools:
        yield tools


@pytest.fixture(scope="session")
def kafka_life(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> KafkaLife:
    """A real cluster of this run, stopped: 3 controllers, 2 brokers, kill -9 included."""
    return live_a_kafka_life(tmp_path_factory.mktemp("kafka"), kafka_tools)


@pytest.fixture(scope="session")
def lost(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> LostCluster:
    """A real cluster of this run, lost: its directories at two moments; tests run copies of it."""
    return LostCluster(tmp_path_factory.mktemp("lost"), kafka_tools)
