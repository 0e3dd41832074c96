"""The JSON and the headings of commands that ask nodes are as docs/output.md has them: three controllers, one agent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from quorum.cli.demo.cluster import wait_until
from quorum.cli.main import run
from tests.support.command_json import document
from tests.support.local_cluster import Cluster
from tests.support.output_page import begins_with_a_table, commands_with, described

BOOTSTRAP: Final = " --bootstrap-controller ALL"
# --unsafe: a leader that was elected just now does not know yet who is live
LINES: Final = {
    "kraft topics create": "topics create --topic made" + BOOTSTRAP,
    "kraft topics list": "topics list" + BOOTSTRAP,
    "kraft topics describe": "topics describe --topic orders" + BOOTSTRAP,
    "kraft topics alter": "topics alter --topic widened --partitions 2 --if-exists" + BOOTSTRAP,
    "kraft cluster id": "cluster id" + BOOTSTRAP,
    "kraft features describe": "features describe" + BOOTSTRAP,
    "kraft features upgrade": "features upgrade --release-version 4.4 --dry-run" + BOOTSTRAP,
    "kraft features disable": "features disable --feature group.version --dry-run" + BOOTSTRAP,
    "kraft features downgrade": "features downgrade --feature group.version=0 --dry-run" + BOOTSTRAP,
    "kraft brokers list": "brokers list" + BOOTSTRAP,
    "kraft brokers describe": "brokers describe" + BOOTSTRAP,
    "kraft topics delete": "topics delete --topic gone --if-exists" + BOOTSTRAP,
    "kraft configs alter": "configs alter --entity-type topics --entity-name orders --add-config retention.ms=9"
    + BOOTSTRAP,
    "kraft configs describe": "configs describe --entity-type topics --all" + BOOTSTRAP,
    "kraft quorum describe": "quorum describe" + BOOTSTRAP,
    "kraft quorum health": "quorum health" + BOOTSTRAP,
    "kraft quorum transfer": "quorum transfer" + BOOTSTRAP,
    "kraft quorum remove-controller": "quorum remove-controller --controller-id 3 --dry-run --unsafe" + BOOTSTRAP,
    "kraft agent describe": "agent describe --agent AGENT",
    "kraft agent verify": "agent verify --agent AGENT",
}
ELSEWHERE: Final = {"kraft quorum add-controller", "kraft quorum unregister-controller"}
"""The first prints what remove-controller prints; the other is compared in test_unregistered_controllers.py."""
NO_ROWS: Final = {"kraft agent verify"}
"""Commands that print no table over this cluster, since they have no row for it."""
Say = Callable[[str], str]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), controllers=(1, 2, 3), agents=(11,)) as cluster:
        cluster.format()
        cluster.start()
        at = cluster.agents[11].grpc_address
        wait_until(
            "the agent to run", lambda: '"running"' in cluster.run("agent", "describe", "--agent", at, "-o", "json")
        )
        cluster.run("topics", "create", "--topic", "orders", "--bootstrap-controller", ",".join(cluster.bootstrap))
        yield cluster


@pytest.fixture
def say(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Say:
    """Runs a command, which must succeed; returns what it prints."""

    def call(line: str) -> str:
        at = {"ALL": ",".join(cluster.bootstrap), "AGENT": cluster.agents[11].grpc_address}
        capsys.readouterr()
        status = run([at.get(word, word) for word in line.split()])
        said = capsys.readouterr()
        assert (status, said.err) == (0, "")
        return said.out

    return call


def test_each_command_that_asks_nodes_is_compared() -> None:
    groups = re.compile(r"kraft (topics |cluster |brokers |configs |quorum |agent |features (?!check))")
    asking = {name for name in commands_with("json") if groups.match(name)}
    differing = asking ^ {*LINES, *ELSEWHERE}
    assert not differing, f"a command with -o json that asks nodes needs its line in LINES, no other does: {differing}"


@pytest.mark.parametrize("name", LINES)
def test_json_has_the_documented_keys(name: str, say: Say) -> None:
    unnamed = set(document(say(f"{LINES[name]} -o json"))) - described()[name].keys
    assert not unnamed, f"add them to the row of `{name}` in docs/output.md: {unnamed}"


@pytest.mark.parametrize(
    "name", [name for name in LINES if begins_with_a_table(described()[name]) and name not in NO_ROWS]
)
def test_headings_are_those_of_the_page(name: str, say: Say) -> None:
    lines = [tuple(line.split()) for line in say(LINES[name]).splitlines()]
    assert described()[name].headings[0] in lines, f"docs/output.md has other headings for `{name}`"


def test_the_quorum_is_described_in_kafkas_words(say: Say) -> None:
    lines = say(LINES["kraft quorum describe"]).splitlines()
    assert [line.partition(":")[0] for line in lines[:7]] == [
        "ClusterId", "MetadataTopicId", "LeaderId", "LeaderEpoch", "HighWatermark", "MaxFollowerLag",
        "MaxFollowerLagTimeMs",
    ]  # fmt: skip
    assert described()["kraft quorum describe"].headings[1] in [tuple(line.split()) for line in lines]


def test_an_agents_tables(say: Say) -> None:
    lines = [tuple(line.split()) for line in say(LINES["kraft agent describe"]).splitlines()]
    assert lines[0][0] == "BrokerId:"
    assert described()["kraft agent describe"].headings[1] in lines
