"""A stock Kafka broker on our three idle controllers: by its own metrics it is up to date."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quorum.cli.demo.cluster import LOOPBACK, free_ports, wait_until
from tests.support.kafka.archive import java
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

BROKER = 11
BEAN = "kafka.server:type=broker-metadata-metrics"
OFFSET, TIMESTAMP, LAG = "last-applied-record-offset", "last-applied-record-timestamp", "last-applied-record-lag-ms"
NO_OPS = 20


class WatchedBroker:
    """One broker of a cluster, started with a port for JMX."""

    def __init__(self, cluster: KafkaOnOurs) -> None:
        self._tools = cluster.tools
        (self._port,) = free_ports(1)
        options = {"port": self._port, "rmi.port": self._port, "authenticate": "false", "ssl": "false"}
        words = [f"-Dcom.sun.management.jmxremote.{name}={value}" for name, value in options.items()]
        cluster.kafka.format(BROKER)
        node = cluster.broker(BROKER)
        node.start([*java(cluster.tools.version), *words, f"-Djava.rmi.server.hostname={LOOPBACK}", "kafka.Kafka"])
        node.wait_started()

    def applied(self) -> dict[str, float]:
        """Its metrics of the records that it has applied."""
        url = f"service:jmx:rmi:///jndi/rmi://{LOOPBACK}:{self._port}/jmxrmi"
        words = ("--jmx-url", url, "--object-name", BEAN, "--one-time", "--report-format", "properties")
        found = (line.rpartition("=") for line in self._tools.run("jmx", *words).splitlines() if f"{BEAN}:last" in line)
        return {name.removeprefix(f"{BEAN}:"): float(value) for name, _, value in found}


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[WatchedBroker]:
    with KafkaOnOurs(tmp_path_factory.mktemp("idle"), kafka_tools, brokers=(BROKER,)) as cluster:
        cluster.start_controllers()
        yield WatchedBroker(cluster)


def test_the_lag_of_an_idle_brokers_metadata_does_not_grow(broker: WatchedBroker) -> None:
    first = broker.applied()
    assert first[OFFSET] > 0

    def has_applied_no_ops() -> dict[str, float] | None:
        later = broker.applied()
        return later if later[OFFSET] >= first[OFFSET] + NO_OPS else None

    later = wait_until("the broker to apply NoOps", has_applied_no_ops, timeout_s=90, every_s=0.5)
    idle_ms = later[TIMESTAMP] - first[TIMESTAMP]
    assert idle_ms >= NO_OPS * 400
    assert later[LAG] < idle_ms, f"{later} after {first}"
