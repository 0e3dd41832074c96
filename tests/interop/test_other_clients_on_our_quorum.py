"""Clients of three other makers on stock Kafka brokers, with three of our controllers.

Each plays the same scenario. It creates, describes, deletes and recreates topics, and has some rejected. It writes data
idempotently and in transactions, and reads it in groups. kafka-python also describes and deletes by id.

Then one of them writes and reads during a rolling restart. It goes on while the test kills our leader every ten seconds
and the brokers in turn. A topic is deleted and recreated under its name. No acknowledged data is lost, and no read by
any of the topic's ids is stale.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from quorum.api.error_codes import Error
from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.clients.environment import SteadyWriter, play_with
from tests.support.kafka.on_ours import KafkaOnOurs, is_ready
from tests.support.kafka.storm import EVERY_S, raise_a_storm
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(900)]

ASKS_BY_ID = {"kafka_python"}
KNOWS_IDS = {"kafka_python", "confluent"}
SOUND = {"lost": [], "twice": 0, "out_of_order": []}
STORM_S = 300.0 if os.environ.get("LONG") else 120.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[KafkaOnOurs]:
    settings = {
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "3",
    }
    # A leader that is killed every ten seconds has the time to fence a broker that is dead when it begins.
    session = {"broker.session.timeout.ms": "6000"}
    root = tmp_path_factory.mktemp("clients")
    with KafkaOnOurs(root, kafka_tools, properties=session, broker_properties=settings) as cluster:
        cluster.start_controllers()
        cluster.start_brokers(11, 12)
        yield cluster


@pytest.mark.parametrize("client", ["kafka_python", "confluent", "aiokafka"])
def test_a_client_plays_the_whole_scenario(cluster: KafkaOnOurs, client: str) -> None:
    bootstrap = ",".join(cluster.broker(broker_id).address for broker_id in (11, 12))
    told = play_with(client, bootstrap, f"of-{client}".replace("_", "-"), timeout_s=500)
    assert told == {
        "partitions": 3,
        "created_twice": Error.TOPIC_ALREADY_EXISTS,
        "too_many_replicas": Error.INVALID_REPLICATION_FACTOR,
        "bad_name": Error.INVALID_TOPIC_EXCEPTION,
        "read_in_a_group": True,
        "the_group_went_on": True,
        "two_of_a_group_read_all": True,
        "of_transactions": ["done"],
        "by_id": client in ASKS_BY_ID,
        "deleted_twice": Error.UNKNOWN_TOPIC_OR_PARTITION,
        "partitions_when_made_again": 1,
        "read_when_made_again": ["new"],
        "another_id": True if client in KNOWS_IDS else None,
    }


def _make(cluster: KafkaOnOurs, topic: str) -> str:
    """Three partitions on both brokers, whose addresses are returned."""
    cluster.admin("topics", "--create", "--topic", topic, "--partitions", "3", "--replication-factor", "2")
    cluster.kafka.await_topics(topic)
    return ",".join(cluster.broker(broker_id).address for broker_id in (11, 12))


def test_a_rolling_restart_of_everything_is_not_noticed(cluster: KafkaOnOurs) -> None:
    """Nothing that was acknowledged is lost, refused, twice or out of order, also for who reads meanwhile."""
    with SteadyWriter(_make(cluster, "rolled"), "rolled") as writer:
        for broker_id in (11, 12):
            cluster.broker(broker_id).stop()
            cluster.start_brokers(broker_id)
            cluster.await_in_sync("rolled")
        for node in cluster.ours.controllers.values():
            assert node.stop() == 0
            node.start()
            wait_until(f"{node.name} to be ready", lambda node=node: is_ready(node), timeout_s=60)  # type: ignore[misc]
        cluster.leader()
        told = writer.end(timeout_s=300)
    assert told.pop("acknowledged") > 0
    assert told == {"refused": [], "read_meanwhile": SOUND, "read_at_the_end": SOUND}
    assert all(cluster.broker(broker_id).is_running for broker_id in (11, 12))


def test_nothing_acknowledged_is_lost_and_no_read_is_stale(cluster: KafkaOnOurs) -> None:
    """Two minutes (`LONG=1`: five) of kills, a leader's every ten seconds and a broker's whenever both are there."""
    with SteadyWriter(_make(cluster, "steady"), "steady") as writer:
        storm = raise_a_storm(cluster, STORM_S, steady="steady")
        told = writer.end(timeout_s=300)
    assert len(storm.killed) >= STORM_S / EVERY_S / 2
    assert set(storm.brokers) == {11, 12}
    assert len(storm.ids) >= STORM_S / EVERY_S / 2
    assert len(set(storm.ids)) == len(storm.ids), "an id was given twice"
    assert told.pop("acknowledged") > STORM_S
    assert told == {"refused": [], "read_meanwhile": SOUND, "read_at_the_end": SOUND}
    assert all(cluster.broker(broker_id).is_running for broker_id in (11, 12))
    print(f"{len(storm.killed)} leaders and {len(storm.brokers)} brokers killed, {len(storm.ids)} topics of one name")
