"""The runbook for static voters, word for word: a survivor, then three voters, then none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.goes_on import check_they_are_equal, destroy
from tests.support.kafka.jars import BEFORE_4, NEWEST
from tests.support.kafka.recovery import Contents, read_contents, write_contents
from tests.support.kafka.runbook import Player, blocks_of
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]


@pytest.mark.parametrize("release", [NEWEST, BEFORE_4])
def test_static_voters(release: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    tools: KafkaTools = request.getfixturevalue("kafka_tools" if release == NEWEST else "old_kafka_tools")
    contents = Contents(topics={"orders": 30})
    with KafkaCluster(tmp_path / "cluster", tools, static_voters=True, properties=Contents.PROPERTIES) as cluster:
        cluster.start()
        write_contents(cluster, contents)
        before = read_contents(cluster, contents)
        leader = cluster.leader()
        survivor = next(node for node in cluster.controllers if node is not leader)
        lost = [node for node in cluster.controllers if node is not survivor]
        for node in lost:
            node.kill()
            shutil.rmtree(node.log_dir)
        numbers = ",".join(str(node.node_id) for node in lost)
        player = Player(cluster, hosts={1: survivor.node_id, 2: lost[0].node_id, 3: lost[1].node_id})
        changes = {"--missing 2,3": f"--missing {numbers}"}
        for host, node_id in ((1, survivor.node_id), (2, lost[0].node_id), (3, lost[1].node_id)):
            changes |= {f"{host}@host{host}": f"{node_id}@host{host}"}
        blocks = blocks_of("static-voters")
        last = next(index for index, block in enumerate(blocks) if "from-broker" in " ".join(block.commands))
        for block in blocks[:last]:
            player.run(block, changes=changes)
        for node in cluster.nodes.values():
            node.wait_started()
        assert f"must be {survivor.node_id}@host1:9093" in player.as_written(player.output)
        cluster.leader().kill()
        cluster.admin("topics", "--create", "--topic", "second", "--partitions", "1", "--replication-factor", "2")
        cluster.await_topics("after-recovery", "second")
        assert read_contents(cluster, contents) == before
        cluster.start(*(node.node_id for node in cluster.controllers if not node.is_running))
        for node in cluster.controllers:
            node.kill()
        check_they_are_equal(cluster.controllers)
        destroy(cluster, 1, 2, 3)
        for block in blocks[last:]:
            player.run(block, changes={**changes, "--node-id 1": f"--node-id {survivor.node_id}"})
        cluster.await_topics("after-recovery", "second", "after-all")
        assert read_contents(cluster, contents) == before
        cluster.end()
        check_they_are_equal([survivor, *cluster.brokers])
