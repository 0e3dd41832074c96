"""`kraft configs` against a running controller."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quorum.cli.demo.cluster import wait_until
from quorum.cli.main import run
from tests.support.commands_at import Kraft, commands_at, data
from tests.support.local_cluster import Cluster

OF_TOPICS = ("--entity-type", "topics")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), controllers=(1,), agents=(11,)) as cluster:
        cluster.format()
        cluster.start()
        for topic in ("orders", "bills"):
            words = ("topics", "create", "--bootstrap-controller", ",".join(cluster.bootstrap), "--topic", topic)
            wait_until(f"{topic} to be created", lambda words=words: run(words) == 0)
        yield cluster
        assert set(cluster.stop().values()) == {0}


@pytest.fixture
def kraft(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kraft:
    capsys.readouterr()
    return commands_at(cluster.bootstrap, monkeypatch, capsys)


def test_a_topics_configs_are_set_shown_and_removed(kraft: Kraft) -> None:
    of_orders = (*OF_TOPICS, "--entity-name", "orders")
    wanted = "retention.ms=3600000, cleanup.policy=[compact,delete]"
    assert kraft("configs", "alter", *of_orders, "--add-config", wanted) == (
        0, "The configs of topic orders are changed.\n", "",
    )  # fmt: skip
    rows = data(kraft("configs", "describe", *of_orders, "-o", "json"))["configs"]
    assert [(row["config"], row["value"], row["source"]) for row in rows] == [
        ("cleanup.policy", "compact,delete", "DYNAMIC_TOPIC_CONFIG"),
        ("retention.ms", "3600000", "DYNAMIC_TOPIC_CONFIG"),
    ]
    assert [each["value"] for each in rows[1]["synonyms"]] == ["3600000"]
    (described,) = data(kraft("topics", "describe", "--topic", "orders", "-o", "json"))["topics"]
    assert described["configs"] == {"cleanup.policy": "compact,delete", "retention.ms": "3600000"}
    _, out, _ = kraft("topics", "describe", "--topic", "orders")
    assert out.splitlines()[0].endswith("  Configs: cleanup.policy=compact,delete,retention.ms=3600000")
    _, out, _ = kraft("configs", "describe", *OF_TOPICS)
    assert [line.split()[1:3] for line in out.splitlines()[1:]] == [
        ["orders", "cleanup.policy"], ["orders", "retention.ms"],
    ]  # fmt: skip
    assert kraft("configs", "alter", *of_orders, "--delete-config", "retention.ms,cleanup.policy")[0] == 0
    assert kraft("configs", "describe", *of_orders) == (0, "Nothing is set.\n", "")


def test_all_configs_are_shown_with_who_set_them(kraft: Kraft) -> None:
    rows = data(kraft("configs", "describe", *OF_TOPICS, "--all", "-o", "json"))["configs"]
    assert {row["entity_name"] for row in rows} == {"orders", "bills"}
    told = {(row["config"], row["value"], row["source"]) for row in rows}
    assert ("retention.ms", "604800000", "DEFAULT_CONFIG") in told
    assert ("min.insync.replicas", "1", "DYNAMIC_DEFAULT_BROKER_CONFIG") in told, "as eligible leader replicas want it"
    words = ("configs", "describe", "--entity-type", "brokers", "--entity-name", "1", "--all", "-o", "json")
    own = data(kraft(*words))["configs"]
    assert ("node.id", "1", "STATIC_BROKER_CONFIG") in [(row["config"], row["value"], row["source"]) for row in own]


def test_what_is_set_for_all_brokers(kraft: Kraft) -> None:
    of_all = ("--entity-type", "brokers", "--entity-default")
    assert kraft("configs", "alter", *of_all, "--add-config", "log.retention.hours=5")[0] == 0
    _, out, _ = kraft("configs", "describe", *of_all)
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["brokers", "<default>", "log.retention.hours", "5", "DYNAMIC_DEFAULT_BROKER_CONFIG"],
        ["brokers", "<default>", "min.insync.replicas", "1", "DYNAMIC_DEFAULT_BROKER_CONFIG"],
    ]  # fmt: skip
    assert kraft("configs", "alter", *of_all, "--delete-config", "log.retention.hours")[0] == 0


def test_what_is_set_for_a_broker(kraft: Kraft) -> None:
    of_agent = ("--entity-type", "brokers", "--entity-name", "11")
    assert kraft("configs", "alter", *of_agent, "--add-config", "log.retention.hours=7")[0] == 0
    _, out, _ = kraft("configs", "describe", *of_agent)
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["brokers", "11", "log.retention.hours", "7", "DYNAMIC_BROKER_CONFIG"],
        ["brokers", "11", "min.insync.replicas", "1", "DYNAMIC_DEFAULT_BROKER_CONFIG"],
    ]  # fmt: skip
    status, out, err = kraft("configs", "describe", "--entity-type", "brokers", "--entity-name", "99")
    assert (status, out) == (1, "")
    assert "Node 99 is no registered broker" in err
    assert kraft("configs", "alter", *of_agent, "--delete-config", "log.retention.hours")[0] == 0


def test_one_that_is_refused_changes_nothing(kraft: Kraft) -> None:
    of_bills = (*OF_TOPICS, "--entity-name", "bills")
    status, out, err = kraft("configs", "alter", *of_bills, "--add-config", "flush.ms=5,retention.ms=soon")
    assert (status, out) == (1, "")
    assert err.startswith("kraft: topic 'bills': ")
    assert "retention.ms" in err
    assert kraft("configs", "describe", *of_bills) == (0, "Nothing is set.\n", "")
    answer = kraft("configs", "alter", *of_bills, "--add-config", "flush.ms=5", "--validate-only")
    assert answer == (0, "The configs of topic bills could be changed.\n", "")
    assert kraft("configs", "describe", *of_bills) == (0, "Nothing is set.\n", "")


def test_a_topic_that_is_not_there(kraft: Kraft) -> None:
    nowhere = (*OF_TOPICS, "--entity-name", "nowhere")
    for words in (("describe", *nowhere), ("alter", *nowhere, "--add-config", "flush.ms=5")):
        status, _, err = kraft("configs", *words)
        assert status == 1
        assert "nowhere" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("alter", *OF_TOPICS, "--entity-name", "t"), "say what: --add-config"),
        (("alter", *OF_TOPICS, "--add-config", "a=1"), "say which of the topics"),
        (("alter", *OF_TOPICS, "--entity-name", "t", "--add-config", "a"), "'a' is not name=value"),
        (("alter", *OF_TOPICS, "--entity-name", "t", "--add-config", "a=1,a=2"), "a is given twice"),
        (("alter", *OF_TOPICS, "--entity-name", "t", "--add-config", "a=1", "--delete-config", "a"), "say one of them"),
        (("alter", *OF_TOPICS, "--entity-name", "t", "--delete-config", "a,,b"), "a name is empty"),
        (("describe", *OF_TOPICS, "--entity-default"), "--entity-default means all brokers"),
        (("describe", "--entity-type", "brokers"), "or --entity-default for all brokers"),
        (("describe", "--entity-type", "brokers", "--entity-name", "x"), "a broker is named by its id"),
        (("describe", "--entity-type", "cats"), "cats"),
    ],
)
def test_wrong_words(kraft: Kraft, words: tuple[str, ...], says: str) -> None:
    status, _, err = kraft("configs", *words)
    assert status == 2
    assert says in err
