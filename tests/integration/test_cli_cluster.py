"""`kraft brokers` against a running controller with two agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from quorum.cli.connection import VARIABLE
from quorum.cli.demo.cluster import Cluster, wait_until
from quorum.cli.main import run
from quorum.client import Admin
from tests.support.command_json import document

Kraft = Callable[..., tuple[int, str, str]]
PATIENT = {"broker.session.timeout.ms": "60000"}
RACK = {"broker.rack": "r1"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    root = tmp_path_factory.mktemp("cluster")
    with Cluster(root, controllers=(1,), agents=(11, 12), properties=PATIENT, agent_properties=RACK) as cluster:
        cluster.format()
        cluster.start()
        wait_until("both brokers to serve", lambda: _serving(cluster) == [11, 12])
        yield cluster
        assert set(cluster.stop().values()) == {0}


def _serving(cluster: Cluster) -> list[int]:
    async def ask() -> list[int]:
        async with Admin(cluster.bootstrap, timeout_s=30) as admin:
            brokers = (await admin.describe_cluster()).brokers
            return [broker.broker_id for broker in brokers.values() if not broker.is_fenced]

    return asyncio.run(ask())


@pytest.fixture
def kraft(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kraft:
    monkeypatch.setenv(VARIABLE, ",".join(cluster.bootstrap))
    capsys.readouterr()

    def call(*words: str) -> tuple[int, str, str]:
        status = run(words)
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def data(answer: tuple[int, str, str]) -> Any:
    status, out, err = answer
    assert (status, err) == (0, "")
    return document(out)


class TestBrokers:
    def test_all_are_listed(self, kraft: Kraft, cluster: Cluster) -> None:
        rows = data(kraft("brokers", "list", "-o", "json"))["brokers"]
        told = [(row["broker_id"], row["rack"], row["fenced"]) for row in rows]
        assert told == [(11, "r1", False), (12, "r1", False)]
        addresses = [f"GRPC://127.0.0.1:{cluster.agents[row['broker_id']].ports['GRPC']}" for row in rows]
        assert [row["addresses"] for row in rows] == [[address] for address in addresses]
        _, out, _ = kraft("brokers", "list")
        lines = [line.split() for line in out.splitlines()]
        assert lines[0] == ["BrokerId", "Addresses", "Rack", "Fenced", "BrokerEpoch"]
        assert lines[1] == ["11", addresses[0], "r1", "no", str(rows[0]["broker_epoch"])]
        assert data(kraft("brokers", "list", "--consistency", "at-least", "-o", "json"))["brokers"] == rows

    def test_one_is_described(self, kraft: Kraft) -> None:
        (broker,) = data(kraft("brokers", "describe", "--id", "11", "-o", "json"))["brokers"]
        assert (broker["broker_id"], broker["fenced"], broker["in_controlled_shutdown"]) == (11, False, False)
        assert len(broker["log_dirs"]) == 1
        assert "metadata.version" in [feature["feature"] for feature in broker["features"]]
        assert broker["listeners"][0]["security_protocol"] == "PLAINTEXT"
        _, out, _ = kraft("brokers", "describe", "--id", "11")
        fields = dict(line.split(":", 1) for line in out.splitlines() if not line.startswith(" "))
        assert fields["BrokerId"].strip() == "11"
        assert fields["LogDirs"].strip() == broker["log_dirs"][0]

    def test_all_are_described(self, kraft: Kraft) -> None:
        brokers = data(kraft("brokers", "describe", "-o", "json"))["brokers"]
        assert [broker["broker_id"] for broker in brokers] == [11, 12]
        assert kraft("brokers", "describe")[1].count("BrokerId:") == 2

    def test_one_that_is_not_registered(self, kraft: Kraft) -> None:
        status, out, err = kraft("brokers", "describe", "--id", "11", "--id", "99", "-o", "json")
        assert (status, err) == (1, "kraft: no broker 99 is registered: see kraft brokers list\n")
        assert [broker["broker_id"] for broker in document(out)["brokers"]] == [11]
