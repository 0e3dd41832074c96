"""Stock Kafka brokers on three of our controllers: they boot, are unfenced, and outlive our leader."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[KafkaOnOurs]:
    with KafkaOnOurs(tmp_path_factory.mktemp("on-ours"), kafka_tools, brokers=(11, 12, 13)) as cluster:
        cluster.start_controllers()
        cluster.start_brokers(11, 12)
        yield cluster


def test_brokers_boot_and_are_unfenced(cluster: KafkaOnOurs) -> None:
    for broker_id in (11, 12):
        said = cluster.broker(broker_id).said()
        assert "The broker has been unfenced. Transitioning from RECOVERY to RUNNING" in said
        assert "ERROR" not in said
    wait_until("both to fetch the log", lambda: cluster.observers() == {11, 12})


def test_they_go_on_under_the_next_leader(cluster: KafkaOnOurs) -> None:
    dead = cluster.leader()
    dead.kill()
    leader = cluster.leader(other_than=dead.node_id)
    wait_until("both brokers to fetch from the next leader", lambda: cluster.observers() >= {11, 12}, timeout_s=60)
    cluster.start_brokers(13)
    assert leader.is_running
    for broker_id in (11, 12):
        assert cluster.broker(broker_id).is_running
        assert "ERROR" not in cluster.broker(broker_id).said()
    dead.start()
    dead.wait_listening()


def test_a_broker_that_stops_is_let_go_at_once_and_comes_back(cluster: KafkaOnOurs) -> None:
    broker = cluster.broker(12)
    broker.stop()
    assert "Controlled shutdown" in broker.said() or "PENDING_CONTROLLED_SHUTDOWN" in broker.said()
    assert "ERROR" not in broker.said()
    cluster.start_brokers(12)


def test_a_broker_that_was_killed_comes_back_when_its_session_is_over(cluster: KafkaOnOurs) -> None:
    broker = cluster.broker(11)
    broker.kill()
    cluster.start_brokers(11)
    assert "ERROR" not in broker.said()
