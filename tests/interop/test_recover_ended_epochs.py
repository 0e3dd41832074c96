"""The runbook for epochs at their end, word for word, on stock controllers and brokers; then stock brokers on ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.offsets import LAST_EPOCH
from quorum.cli.demo.cluster import wait_until
from quorum.cli.main import run
from tests.support.kafka.cluster import CLUSTER_ID, KafkaCluster
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.recovery import Contents, read_contents, write_contents
from tests.support.kafka.runbook import Player
from tests.support.kafka.tools import KafkaTools
from tests.support.last_epoch import await_last_epoch, end_epochs, epoch_in

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(400)]


def test_the_runbook_brings_a_stock_cluster_back(tmp_path: Path, kafka_tools: KafkaTools) -> None:
    contents = Contents(topics={"orders": 20})
    with KafkaCluster(tmp_path / "cluster", kafka_tools, properties=Contents.PROPERTIES) as cluster:
        cluster.start()
        write_contents(cluster, contents)
        before = read_contents(cluster, contents)

        end_epochs({node.node_id: node.port for node in cluster.controllers}, CLUSTER_ID)
        await_last_epoch(*(node.metadata_dir for node in cluster.nodes.values()))
        Player(cluster).play("epochs-ended")

        assert read_contents(cluster, contents) == before
        cluster.admin("topics", "--create", "--topic", "after", "--partitions", "1", "--replication-factor", "2")
        cluster.await_topics("after")
        assert all(1000 < epoch_in(node.metadata_dir) < LAST_EPOCH for node in cluster.nodes.values())


def test_stock_brokers_that_were_up_are_unfenced_on_ours_afterwards(tmp_path: Path, kafka_tools: KafkaTools) -> None:
    with KafkaOnOurs(tmp_path, kafka_tools) as cluster:
        cluster.start_controllers()
        cluster.start_brokers(11, 12)
        cluster.admin("topics", "--create", "--topic", "before", "--partitions", "2", "--replication-factor", "2")
        nodes = list(cluster.ours.controllers.values())
        brokers = [cluster.broker(11), cluster.broker(12)]

        end_epochs({node.node_id: node.ports["CONTROLLER"] for node in nodes}, cluster.ours.cluster_id)
        await_last_epoch(*(node.metadata_dir for node in (*nodes, *brokers)))
        for node in (*nodes, *brokers):
            node.kill()
        words = [word for node in nodes for word in ("--dir", str(node.log_dir))]
        assert run(["recover", "epoch", *words, "--apply"]) == 0
        for broker in brokers:
            assert run(["recover", "epoch", "--dir", str(broker.log_dir), "--apply"]) == 0

        for node in nodes:
            node.start()
        cluster.leader()
        cluster.start_brokers(11, 12)
        cluster.await_in_sync("before")
        cluster.admin("topics", "--create", "--topic", "after", "--partitions", "2", "--replication-factor", "2")
        wait_until("both brokers to be observers", lambda: cluster.observers() == {11, 12}, timeout_s=60)
