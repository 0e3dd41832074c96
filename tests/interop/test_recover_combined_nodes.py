"""Three nodes of Kafka, each controller and broker, lose two metadata logs; the printed steps restore all of them.

The topics' data lies beside the metadata log: a format of such a directory would delete its replicas.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from quorum.cli.main import run
from quorum.recovery.journal.next_steps import Step
from tests.support.damage import flip
from tests.support.kafka.cluster import KafkaNode
from tests.support.kafka.combined import CombinedCluster
from tests.support.kafka.goes_on import check_logs_are_equal
from tests.support.kafka.recovery import Contents, knows_its_vote, read_contents, write_contents
from tests.support.kafka.runbook import Block, Player
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(500)]


def test_what_is_printed_brings_every_message_back(
    kafka_tools: KafkaTools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = Contents(topics={"orders": 40, "payments": 25})
    with CombinedCluster(tmp_path / "cluster", kafka_tools) as cluster:
        cluster.start()
        write_contents(cluster, contents)
        before = read_contents(cluster, contents)
        survivor = cluster.leader()
        for node in cluster.controllers:
            node.kill()
        others = [node for node in cluster.controllers if node is not survivor]
        for node in others:
            for file in (*node.metadata_dir.glob("*.log"), *node.metadata_dir.glob("*.checkpoint")):
                if file.stat().st_size:
                    flip(file)

        warned, steps = repair(survivor, others, capsys)
        assert any("must never start again from their old metadata logs" in warning for warning in warned)
        follow(Player(cluster), survivor, others, steps)
        for node in cluster.controllers:
            node.wait_started()
        assert all(map(knows_its_vote, cluster.controllers))
        assert read_contents(cluster, contents) == before
        cluster.await_in_sync()
        leader = cluster.leader()
        leader.kill()
        cluster.admin("topics", "--create", "--topic", "second", "--partitions", "1", "--replication-factor", "2")
        assert read_contents(cluster, contents) == before
        cluster.start(leader.node_id)
        cluster.await_in_sync()
        for node in cluster.controllers:
            node.kill()
        check_logs_are_equal([node.log_dir for node in cluster.controllers])


def repair(
    survivor: KafkaNode, others: list[KafkaNode], capsys: pytest.CaptureFixture[str]
) -> tuple[list[str], list[Step]]:
    """Make the survivor the only voter, as `inspect` recommends; its warnings, and the steps that it prints."""
    log_dirs = [str(node.log_dir) for node in (survivor, *others)]
    capsys.readouterr()
    assert run(["recover", "inspect", *log_dirs, "-o", "json"]) == 1
    advised = [line for step in json.loads(capsys.readouterr().out)["steps"] for line in step["commands"]]
    line = next(line for line in advised if line.startswith("kraft recover standalone"))
    assert run([*shlex.split(line)[1:], "--apply", "-o", "json"]) == 0, line
    told = json.loads(capsys.readouterr().out)
    return told["warnings"], [Step(text=step["text"], commands=tuple(step["commands"])) for step in told["steps"]]


def follow(player: Player, survivor: KafkaNode, others: list[KafkaNode], steps: list[Step]) -> None:
    """Run the first steps on the survivor, then all steps for the other nodes, one node after the other."""
    for_others = next(number for number, step in enumerate(steps) if step.text.startswith("On each other node"))
    for step in steps[:for_others]:
        play(player, survivor, step)
    for node in others:
        for step in steps[for_others:]:
            play(player, node, step)


def play(player: Player, node: KafkaNode, step: Step) -> None:
    """Run the commands of a step, with real paths in place of the step's placeholders."""
    lines = (
        line.replace("DATA_DIR", "/var/lib/kafka/data")
        .replace("bin/kafka-server-start.sh server.properties", "systemctl start kafka")
        .replace("--command-config server.properties", "--command-config /etc/kafka/server.properties")
        .removeprefix("bin/")
        for line in step.commands
    )
    player.run(Block(host=node.node_id, commands=tuple(lines)))
