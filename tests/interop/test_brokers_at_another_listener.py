"""A stock broker at controllers whose listener for Kafka's protocol is not named CONTROLLER."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

NAME = "CONTROLPLANE-9090"


def test_it_registers_and_goes_on_under_the_next_leader(kafka_tools: KafkaTools, tmp_path: Path) -> None:
    names = {
        "controller.listener.names": NAME,
        "listener.security.protocol.map": f"{NAME}:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }
    with KafkaOnOurs(tmp_path, kafka_tools, brokers=(11,), broker_properties=names) as cluster:
        for node in cluster.ours.controllers.values():
            for key, value in node.properties.items():
                node.properties[key] = value.replace("CONTROLLER", NAME)
        cluster.start_controllers()
        cluster.start_brokers(11)
        leader = cluster.leader()
        leader.kill()
        cluster.leader(other_than=leader.node_id)
        wait_until("the broker to fetch from the next leader", lambda: cluster.observers() == {11}, timeout_s=60)
        assert "ERROR" not in cluster.broker(11).said()
