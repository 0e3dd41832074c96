"""Topics and their data, with Kafka's own tools, stock Kafka brokers, and three of our controllers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from metadata_log.ids import parse_topic_id
from metadata_log.tools.dump.dump import dump_text
from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools, ToolFailedError

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

RECORDS = 300


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[KafkaOnOurs]:
    settings = {"offsets.topic.num.partitions": "3"}
    with KafkaOnOurs(tmp_path_factory.mktemp("topics"), kafka_tools, broker_properties=settings, jbod=True) as cluster:
        cluster.start_controllers()
        cluster.start_brokers(11, 12)
        yield cluster


def _topic_id(cluster: KafkaOnOurs, name: str) -> str:
    """The id of a topic that every broker has heard of by now."""
    cluster.kafka.await_topics(name)
    found = re.search(r"TopicId: (\S+)", cluster.admin("topics", "--describe", "--topic", name))
    assert found is not None
    parse_topic_id(found[1])
    return found[1]


def _partitions(cluster: KafkaOnOurs, name: str) -> list[str]:
    """One line of `kafka-topics --describe` for each."""
    return [
        line for line in cluster.admin("topics", "--describe", "--topic", name).splitlines() if "Partition:" in line
    ]


def _directories(cluster: KafkaOnOurs, broker_id: int) -> set[str]:
    return {entry.name for path in cluster.kafka.log_dirs(broker_id) for entry in path.iterdir()}


def _placed(cluster: KafkaOnOurs) -> set[int]:
    """Partitions of which a record in the log says a directory that no controller could know."""
    (log,) = cluster.ours.controllers[1].metadata_dir.glob("*.log")
    lines = [line for line in dump_text(str(log), log.read_bytes()) if "PARTITION_CHANGE_RECORD" in line]
    return {
        int(found) for line in lines if '"directories"' in line for found in re.findall(r'"partitionId":(\d+)', line)
    }


def _produce(cluster: KafkaOnOurs, name: str) -> None:
    properties = f"bootstrap.servers={cluster.broker(11).address}"
    cluster.tools.run(
        "producer-performance", "--topic", name, "--num-records", str(RECORDS), "--record-size", "16",
        "--throughput", "-1", "--producer-props", properties, "acks=all", "enable.idempotence=true",
    )  # fmt: skip


def _consume(cluster: KafkaOnOurs, name: str, group: str) -> int:
    said = cluster.tools.run(
        "console-consumer", "--bootstrap-server", cluster.broker(12).address, "--topic", name, "--from-beginning",
        "--max-messages", str(RECORDS), "--timeout-ms", "60000", "--group", group,
    )  # fmt: skip
    return len(said.split())


def test_a_topic_is_made_described_by_id_and_grows(cluster: KafkaOnOurs) -> None:
    cluster.admin("topics", "--create", "--topic", "orders", "--partitions", "3", "--replication-factor", "2")
    topic_id = _topic_id(cluster, "orders")
    described = cluster.admin("topics", "--describe", "--topic-id", topic_id)
    assert "Topic: orders" in described
    assert "PartitionCount: 3\tReplicationFactor: 2" in described
    cluster.admin("topics", "--alter", "--topic", "orders", "--partitions", "5")
    wait_until("five partitions", lambda: len(_partitions(cluster, "orders")) == 5)
    for broker_id in (11, 12):
        wait_until(
            f"the directories on broker {broker_id}",
            lambda broker_id=broker_id: {f"orders-{index}" for index in range(5)} <= _directories(cluster, broker_id),  # type: ignore[misc]
        )


def test_brokers_tell_in_which_of_their_directories_replicas_are(cluster: KafkaOnOurs) -> None:
    wait_until("each partition's directories", lambda: _placed(cluster) == set(range(5)), timeout_s=60)


def test_refusals_are_kafkas(cluster: KafkaOnOurs) -> None:
    for words, why in (
        (("--topic", "big", "--replication-factor", "9"), "InvalidReplicationFactorException"),
        (("--topic", "orders"), "TopicExistsException"),
    ):
        with pytest.raises(ToolFailedError, match=why):
            cluster.admin("topics", "--create", *words)
    with pytest.raises(ToolFailedError, match="InvalidPartitionsException"):
        cluster.admin("topics", "--alter", "--topic", "orders", "--partitions", "2")


def test_configs_change(cluster: KafkaOnOurs) -> None:
    about = ("--entity-type", "topics", "--entity-name", "orders")

    def told() -> str:
        return cluster.admin("configs", "--describe", *about)

    cluster.admin("configs", "--alter", *about, "--add-config", "retention.ms=100000")
    wait_until("the config to be known", lambda: "retention.ms=100000" in told())
    cluster.admin("configs", "--alter", *about, "--delete-config", "retention.ms")
    wait_until("the config to be gone", lambda: "retention.ms" not in told())
    with pytest.raises(ToolFailedError, match="InvalidConfigurationException"):
        cluster.admin("configs", "--alter", *about, "--add-config", "no.such.config=1")


def test_an_idempotent_producer_and_a_group(cluster: KafkaOnOurs) -> None:
    _produce(cluster, "orders")
    assert _consume(cluster, "orders", "readers") == RECORDS


def test_a_follower_leaves_the_isr_and_comes_back(cluster: KafkaOnOurs) -> None:
    cluster.broker(12).stop()
    wait_until(
        "broker 12 to be out of every ISR",
        lambda: all("Isr: 11\t" in line for line in _partitions(cluster, "orders")),
        timeout_s=60,
    )
    _produce(cluster, "orders")
    cluster.start_brokers(12)
    both = re.compile(r"Isr: (11,12|12,11)\t")
    wait_until(
        "broker 12 to be in every ISR again",
        lambda: all(both.search(line) for line in _partitions(cluster, "orders")),
        timeout_s=60,
    )


def test_deleted_and_made_again_it_is_another_topic(cluster: KafkaOnOurs) -> None:
    before = _topic_id(cluster, "orders")
    cluster.admin("topics", "--delete", "--topic", "orders")
    cluster.admin("topics", "--create", "--topic", "orders", "--partitions", "1", "--replication-factor", "2")
    wait_until("another id", lambda: _topic_id(cluster, "orders") != before)
    _produce(cluster, "orders")
    assert _consume(cluster, "orders", "later-readers") == RECORDS


def test_it_all_goes_on_under_the_next_leader(cluster: KafkaOnOurs) -> None:
    dead = cluster.leader()
    dead.kill()
    cluster.leader(other_than=dead.node_id)
    cluster.admin("topics", "--create", "--topic", "after", "--partitions", "2", "--replication-factor", "2")
    cluster.kafka.await_topics("orders", "after")
    _produce(cluster, "after")
    assert _consume(cluster, "after", "readers") == RECORDS
    for broker_id in (11, 12):
        assert cluster.broker(broker_id).is_running
