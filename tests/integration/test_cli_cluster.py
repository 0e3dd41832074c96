"""`kraft brokers`, `cluster`, `features` and `topics` against a running controller with two agents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from quorum.cli.demo.cluster import wait_until
from quorum.client import Admin
from tests.support.command_json import document
from tests.support.commands_at import Kraft, commands_at, data
from tests.support.local_cluster import Cluster

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
    capsys.readouterr()
    return commands_at(cluster.bootstrap, monkeypatch, capsys)


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


def test_the_id_of_the_cluster(kraft: Kraft, cluster: Cluster) -> None:
    assert kraft("cluster", "id") == (0, f"Cluster ID: {cluster.cluster_id}\n", "")
    assert data(kraft("cluster", "id", "-o", "json"))["cluster_id"] == cluster.cluster_id


class TestTopics:
    def test_a_topic_gets_more_partitions(self, kraft: Kraft) -> None:
        assert kraft("topics", "create", "--topic", "grown", "--partitions", "1")[0] == 0
        words = ("topics", "alter", "--topic", "grown", "--partitions", "3")
        assert kraft(*words, "--validate-only") == (0, "Topic grown could have 3 partitions.\n", "")
        assert kraft(*words) == (0, "Topic grown has 3 partitions.\n", "")
        status, out, err = kraft(*words, "-o", "json")
        (row,) = document(out)["topics"]
        assert (status, row["altered"]) == (1, False)
        assert "Topic already has 3 partition(s). (INVALID_PARTITIONS)" in row["error"]
        assert row["error"] in err
        by_hand = ("topics", "alter", "--topic", "grown", "--partitions", "4", "--replica-assignment")
        assert kraft(*by_hand, "11,11,11,12")[0] == 0
        (topic,) = data(kraft("topics", "describe", "--topic", "grown", "-o", "json"))["topics"]
        assert [each["replicas"] for each in topic["partitions"]][3:] == [[12]]
        assert kraft(*by_hand, "11,12")[0] == 2
        nothing = ("topics", "alter", "--topic", "nothing", "--partitions", "3")
        assert kraft(*nothing) == (1, "", "kraft: there is no topic nothing: see kraft topics list\n")
        assert kraft(*nothing, "--if-exists") == (0, "", "")

    def test_reports(self, kraft: Kraft) -> None:
        assert kraft("topics", "create", "--topic", "both", "--replication-factor", "2")[0] == 0
        told = kraft("topics", "describe", "--topic", "both", "--under-replicated-partitions")
        assert told == (0, "No partition is under-replicated.\n", "")
        assert kraft("topics", "describe", "--topic", "both", "--unavailable-partitions", "-o", "kafka") == (0, "", "")
        minimum = ("configs", "alter", "--entity-type", "topics", "--entity-name", "both", "--add-config")
        assert kraft(*minimum, "min.insync.replicas=2")[0] == 0
        _, out, _ = kraft("topics", "describe", "--topic", "both", "--at-min-isr-partitions")
        heading, row = (line.split() for line in out.splitlines())
        assert heading[:2] == ["Topic", "Partition"]
        assert row[:2] == ["both", "0"]
        with_overrides = ("topics", "describe", "--topic", "both", "--topics-with-overrides")
        (topic,) = data(kraft(*with_overrides, "-o", "json"))["topics"]
        assert topic["configs"] == topic["overrides"] == {"min.insync.replicas": "2"}
        assert kraft(*with_overrides)[1].count("\n") == 1
        _, out, _ = kraft("topics", "describe", "--topic", "both", "-o", "kafka")
        first, second = out.splitlines()
        assert first.startswith("Topic: both\tTopicId: ")
        assert first.endswith("\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=2")
        assert second.startswith("\tTopic: both\tPartition: 0\tLeader: ")
        status, _, err = kraft("topics", "describe", "--under-min-isr-partitions", "--at-min-isr-partitions")
        assert status == 2
        assert "ask for one at a time" in err

    def test_internal_topics_are_left_out(self, kraft: Kraft) -> None:
        internal = "__consumer_offsets"
        topic_id = data(kraft("topics", "create", "--topic", internal, "-o", "json"))["topic_id"]
        for words in (("topics", "list"), ("topics", "describe")):
            told = {row["topic"]: row for row in data(kraft(*words, "-o", "json"))["topics"]}
            rest = {row["topic"]: row for row in data(kraft(*words, "--exclude-internal", "-o", "json"))["topics"]}
            assert told.keys() - rest.keys() == {internal}
        assert kraft("topics", "list", "--topic", internal, "--exclude-internal")[1] == "There are no such topics.\n"
        by_name = ("topics", "describe", "--topic", internal, "--exclude-internal")
        assert kraft(*by_name) == (1, "", f"kraft: there is no topic {internal}: see kraft topics list\n")
        status, out, err = kraft("topics", "describe", "--topic-id", topic_id, "--exclude-internal")
        assert (status, out) == (1, "")
        assert (
            err
            == f"kraft: topic id {topic_id} is that of {internal}, an internal topic: leave --exclude-internal out\n"
        )
        assert kraft(*by_name, "--if-exists")[0] == 0


class TestFeatures:
    def test_levels_are_described(self, kraft: Kraft) -> None:
        rows = {row["feature"]: row for row in data(kraft("features", "describe", "-o", "json"))["features"]}
        version = rows["metadata.version"]
        assert (version["supported_min_version"], version["metadata_version"]) == (7, "4.4-IV2")
        assert rows["kraft.version"]["finalized_version_level"] == 1
        _, out, _ = kraft("features", "describe", "--consistency", "at-least")
        lines = [line.split() for line in out.splitlines()]
        assert lines[0] == ["Feature", "SupportedMinVersion", "SupportedMaxVersion", "FinalizedVersionLevel", "Epoch"]
        assert ["metadata.version", "3.3-IV3", "4.4-IV2", "4.4-IV2"] in [line[:4] for line in lines]

    def test_a_release_is_set_as_a_whole(self, kraft: Kraft) -> None:
        status, out, _ = kraft("features", "upgrade", "--release-version", "4.4", "--dry-run")
        assert (status, out.splitlines()[-1]) == (0, "transaction.version can be upgraded to 2.")
        assert kraft("features", "upgrade", "--release-version", "4.4")[0] == 0
        status, _, err = kraft("features", "downgrade", "--release-version", "4.2")
        assert status == 1
        assert "might delete metadata information" in err

    def test_one_feature_is_lowered_and_raised(self, kraft: Kraft) -> None:
        lowered = kraft("features", "downgrade", "--feature", "group.version=0")
        assert lowered == (0, "group.version was downgraded to 0.\n", "")
        raised = data(kraft("features", "upgrade", "--feature", "group.version=1", "-o", "json"))
        assert raised == {"features": [{"feature": "group.version", "level": 1}], "dry_run": False}
        rows = {row["feature"]: row for row in data(kraft("features", "describe", "-o", "json"))["features"]}
        assert rows["group.version"]["finalized_version_level"] == 1
        same = kraft("features", "upgrade", "--feature", "kraft.version=1")
        assert same == (0, "kraft.version was upgraded to 1.\n", "")
        status, out, err = kraft("features", "downgrade", "--feature", "kraft.version=0")
        assert (status, out) == (1, "")
        assert "kraft.version" in err

    def test_one_controller_describes_the_levels_by_itself(self, kraft: Kraft) -> None:
        def levels(*words: str) -> dict[str, int]:
            rows = data(kraft("features", "describe", *words, "-o", "json"))["features"]
            return {row["feature"]: row["finalized_version_level"] for row in rows}

        assert levels("--node-id", "1") == levels()
        whys = {
            "11": "it is a broker, and only controllers are asked",
            "99": "the quorum names no controller of this id",
        }
        for other, why in whys.items():
            status, out, err = kraft("features", "describe", "--node-id", other)
            assert (status, out) == (1, "")
            assert f"node {other}: {why}" in err
        assert kraft("features", "describe", "--node-id", "-1")[0] == 2

    def test_a_feature_is_disabled(self, kraft: Kraft) -> None:
        words = ("features", "disable", "--feature", "group.version")
        assert kraft(*words, "--dry-run") == (0, "group.version can be disabled.\n", "")
        assert kraft(*words) == (0, "group.version was disabled.\n", "")
        told = data(kraft("features", "disable", "--feature", "share.version", *words[2:], "-o", "json"))
        features = [{"feature": "share.version", "level": 0}, {"feature": "group.version", "level": 0}]
        assert told == {"features": features, "dry_run": False}
        again = ("--feature", "group.version=1", "--feature", "share.version=2")
        assert kraft("features", "upgrade", *again)[0] == 0
        status, out, err = kraft("features", "disable", "--feature", "kraft.version")
        assert (status, out) == (1, "")
        assert "kraft.version" in err

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ((), "say which features: --feature NAME"),
            (("--feature", "group.version=0"), "'group.version=0': name a feature without a level"),
            (("--feature", "group.version", "--feature", "group.version"), "group.version is given twice"),
        ],
    )
    def test_wrong_words_of_disable(self, kraft: Kraft, words: tuple[str, ...], says: str) -> None:
        status, _, err = kraft("features", "disable", *words)
        assert status == 2
        assert says in err

    def test_the_older_spelling_is_understood(self, kraft: Kraft) -> None:
        status, out, err = kraft("features", "upgrade", "--metadata", "4.4", "--dry-run")
        assert (status, out) == (0, "metadata.version can be upgraded to 33.\n")
        assert err == ("kraft: --metadata is deprecated: write --release-version, or --feature metadata.version=33\n")
        both = (
            "features",
            "upgrade",
            "--metadata",
            "4.4-IV2",
            "--feature",
            "group.version=1",
            "--dry-run",
            "-o",
            "json",
        )
        status, out, _ = kraft(*both)
        features = [{"feature": "metadata.version", "level": 33}, {"feature": "group.version", "level": 1}]
        assert (status, data((status, out, ""))["features"]) == (0, features)
        status, _, err = kraft("features", "downgrade", "--metadata", "4.2")
        assert status == 1
        assert "might delete metadata information" in err

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (("--metadata", "4.4", "--release-version", "4.4"), "leave --metadata out"),
            (("--metadata", "9.9"), "--metadata: "),
            (("--metadata", "4.4", "--feature", "metadata.version=33"), "metadata.version is given twice"),
            ((), "say which levels"),
            (("--feature", "group.version"), "is not NAME=LEVEL"),
            (("--feature", "group.version=1", "--feature", "group.version=0"), "group.version is given twice"),
            (("--feature", "group.version=1", "--release-version", "4.4"), "leave --feature out"),
            (("--release-version", "9.9"), "--release-version: "),
        ],
    )
    def test_wrong_words(self, kraft: Kraft, words: tuple[str, ...], says: str) -> None:
        for command in ("upgrade", "downgrade"):
            status, _, err = kraft("features", command, *words)
            assert status == 2
            assert says in err
