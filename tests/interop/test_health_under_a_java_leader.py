"""`kraft quorum health` and `describe` beside a leader of Kafka, which alone knows how far the voters are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.mixed import MixedQuorum
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]


@pytest.fixture
def quorum(tmp_path: Path, kafka_tools: KafkaTools) -> Iterator[MixedQuorum]:
    """Two Java controllers, of which one leads, and node 3 in Python."""
    with MixedQuorum(tmp_path, kafka_tools, java=(1, 2), ours=(3,), brokers=()) as quorum:
        quorum.format()
        quorum.start(1, 2)
        quorum.leader()
        quorum.start(3)
        yield quorum


def _java_leader(quorum: MixedQuorum) -> int:
    """Return the Java controller that leads; node 3 is restarted where it leads, as after an election under load."""
    while (leader := quorum.leader()) in quorum.ours:
        quorum.node(leader).kill()
        quorum.leader(other_than=leader)
        quorum.start(leader)
    return leader


def _lines(quorum: MixedQuorum, *words: str) -> tuple[int, list[str]]:
    status, out, err = quorum.kraft("quorum", *words)
    return status, (out + err).splitlines()


def test_what_a_java_leader_alone_knows_is_unknown(quorum: MixedQuorum) -> None:
    java = _java_leader(quorum)
    epoch, _ = quorum.quorum_state(3)
    assert _lines(quorum, "health") == (
        0,
        [f"Healthy: node {java} leads epoch {epoch}, which node 3 follows; the leader itself does not answer here."],
    )
    assert _lines(quorum, "health", "--every-voter") == (
        1,
        [f"Unknown: the leader, node {java}, does not answer here, and it alone knows of every voter."],
    )
    status, (line,) = _lines(quorum, "health", "--every-voter", "-o", "json")
    verdict = json.loads(line)
    assert (status, verdict["healthy"], verdict["leader_id"], verdict["answered_by"]) == (1, None, java, 3)
    assert (verdict["voters_following"], verdict["max_follower_lag"]) == (None, None)

    status, lines = _lines(quorum, "describe")
    assert (status, lines[0].split(":")[0]) == (0, "ClusterId")
    _, table = "\n".join(lines).split("\n\n")
    assert [(row.split()[0], row.split()[2:]) for row in table.splitlines()[1:4]] == [
        (str(java), [*["unknown"] * 4, "Leader"]),
        (str(3 - java), ["unknown"] * 5),
        ("3", [*["unknown"] * 4, "Follower"]),
    ]
    assert sum("unknown" in line for line in lines if line.startswith(("MaxFollower", "CurrentObservers"))) == 3


def test_a_dead_java_leader_is_not_healthy(quorum: MixedQuorum) -> None:
    java = _java_leader(quorum)
    for node in (1, 2):
        quorum.node(node).kill()
    wait_until("the leader's silence to be seen", lambda: _lines(quorum, "health")[0] == 1, timeout_s=60)
    _, (line,) = _lines(quorum, "health")
    assert line.startswith(("Not healthy: no leader answers: ", "Not healthy: no leader is known: "))
    status, lines = _lines(quorum, "describe")
    assert (status, lines[0][:9]) == (1, "No leader")
    rows = [line.split() for line in lines if line.startswith(("     1  ", "     2  ", "     3  "))]
    assert [row[2:] for row in rows] == [["unknown"] * 5] * 3

    quorum.start(3 - java)
    wait_until("the next leader", lambda: _lines(quorum, "health")[0] == 0, timeout_s=60)
    leader = quorum.leader(other_than=java)
    assert any(line.startswith(f"LeaderId:             {leader}") for line in _lines(quorum, "describe")[1])
