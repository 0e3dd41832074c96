"""Releases of Kafka one by one: the tools read their clusters, their brokers serve on ours, they vote beside ours.

`LONG=1` tries every release from 3.3 on; else it is two of before 3.9, where voters are static. Controllers before 3.7
fetch by versions that ours do not ask.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.tools.dump.dump import dump_text
from metadata_log.tools.replicas.hashes import hash_logs
from quorum.cli.demo.cluster import wait_until
from quorum.cli.main import run
from tests.support.kafka.data import await_partition, consume, produce
from tests.support.kafka.jars import RELEASES
from tests.support.kafka.life import live_a_kafka_life
from tests.support.kafka.mixed import MixedQuorum
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]

JAVA, OURS, BROKERS = 1, (2, 3), (11, 12)
RECORDS = [f"message-{number}" for number in range(20)]
# Elections are not the test: a Java voter, busy as it is when the others start, should not stand meanwhile.
PATIENT = {"controller.quorum.fetch.timeout.ms": "4000"}
GROUPS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}


TRIED = tuple(RELEASES) if os.environ.get("LONG") else ("3.5.2", "3.7.2")
SINCE_3_7 = [version for version in TRIED if RELEASES[version].level >= RELEASES["3.7.2"].level]
"""Controllers before them ask by a Fetch that ours never ask."""


@pytest.fixture
def tools(request: pytest.FixtureRequest) -> Iterator[KafkaTools]:
    """The tools of one release."""
    with KafkaTools(request.param) as tools:
        yield tools


@pytest.mark.parametrize("tools", TRIED, indirect=True)
def test_the_tools_have_nothing_to_say_of_a_cluster(
    tools: KafkaTools, kafka_tools: KafkaTools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    life = live_a_kafka_life(tmp_path, tools, static_voters=not RELEASES[tools.version].dynamic_voters)
    for path in life.metadata_files():
        ours = "".join(f"{line}\n" for line in dump_text(str(path), path.read_bytes()))
        assert kafka_tools.dump_log(path) == ours, path
    controllers = [str(node.log_dir) for node in life.cluster.controllers]
    assert run(["log", "hash", *controllers]) == 0
    for words in (["log", "diff"], ["log", "verify"], ["check"]):
        capsys.readouterr()
        assert run([*words, *controllers]) == 0, (words, capsys.readouterr().out)


def _serves(quorum: MixedQuorum, tools: KafkaTools, topic: str) -> None:
    """Make, write and read a topic; each broker has a copy. The console consumer before 3.8 runs once in a JVM only."""
    at = quorum.kafka.running_broker
    placed = f"{BROKERS[0]}:{BROKERS[1]},{BROKERS[1]}:{BROKERS[0]}"
    tools.run("topics", "--bootstrap-server", at.address, "--create", "--topic", topic, "--replica-assignment", placed)
    for index in (0, 1):
        await_partition(tools, at, topic, index, Isr=f"{BROKERS[0]},{BROKERS[1]}")
    produce(tools, at, topic, RECORDS)
    assert sorted(consume(tools, at, topic, len(RECORDS))) == sorted(RECORDS)


@pytest.mark.parametrize("tools", TRIED, indirect=True)
def test_its_brokers_serve_on_our_quorum(tools: KafkaTools, kafka_tools: KafkaTools, tmp_path: Path) -> None:
    static = not RELEASES[tools.version].dynamic_voters
    with MixedQuorum(
        tmp_path, tools, java=(), ours=(1, 2, 3), brokers=BROKERS, static_voters=static, java_properties=GROUPS
    ) as quorum:
        quorum.format()
        quorum.start(1, 2, 3)
        quorum.start(*BROKERS)
        _serves(quorum, kafka_tools, "before")
        leader = quorum.leader()
        quorum.node(leader).kill()
        quorum.leader(other_than=leader)
        _serves(quorum, kafka_tools, "after")
        for broker in quorum.kafka.brokers:
            assert " ERROR " not in broker.said()


@pytest.mark.parametrize("tools", SINCE_3_7, indirect=True)
def test_its_controller_votes_beside_ours(tools: KafkaTools, tmp_path: Path) -> None:
    static = not RELEASES[tools.version].dynamic_voters
    with MixedQuorum(
        tmp_path,
        tools,
        java=(JAVA,),
        ours=OURS,
        brokers=BROKERS,
        static_voters=static,
        java_properties={**PATIENT, **GROUPS},
    ) as quorum:
        quorum.format()
        quorum.start(JAVA, *OURS)
        quorum.start(*BROKERS)
        quorum.let_ours_lead()
        quorum.create("under-ours")
        quorum.start(quorum.let_java_lead("known-to-java"))
        quorum.create("under-java")
        assert quorum.let_ours_lead() in OURS
        quorum.create("under-ours-again")
        quorum.kafka.await_topics("under-ours", "known-to-java", "under-java", "under-ours-again")
        _await_equal_logs(quorum)
        assert "Encountered fatal fault" not in quorum.kafka.nodes[JAVA].said()
        quorum.stop()
        lines = hash_logs([quorum.log_dir(node_id) for node_id in (JAVA, *OURS)], None)
        assert [line.problem for line in lines] == [None] * 3
        assert len({line.hash for line in lines}) == 1


def _await_equal_logs(quorum: MixedQuorum) -> None:
    wait_until(
        "all to have the same", lambda: len({quorum.log_bytes(node_id) for node_id in (JAVA, *OURS)}) == 1, timeout_s=60
    )


@pytest.mark.parametrize("tools", ["3.5.2"], indirect=True)
def test_a_broker_that_cannot_be_served_is_named_with_its_release(tools: KafkaTools, tmp_path: Path) -> None:
    with MixedQuorum(tmp_path, tools, java=(), ours=(1, 2, 3), brokers=(11,), static_voters=True) as quorum:
        quorum.format(1, 2, 3, release="3.7-IV4")
        quorum.format(11, release="3.5-IV2")
        quorum.start(1, 2, 3)
        quorum.leader()
        quorum.kafka.launch(11)

        def warned() -> bool:
            said = "".join(node.log_file.read_text() for node in quorum.ours.values())
            return "release=Kafka 3.5.2" in said.replace("'", "") and "it knows those up to 3.5-IV2" in said

        wait_until("the warning", warned, timeout_s=90)
