"""The commands against running nodes: one controller and one broker agent, as processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.ids import METADATA_TOPIC_ID, id_text, parse_topic_id
from metadata_log.tools.read.manifest import read_manifest
from quorum.cli.demo.cluster import LOOPBACK, wait_until
from tests.support.command_json import document
from tests.support.commands_at import Kraft, commands_at, data
from tests.support.local_cluster import Cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), controllers=(1,), agents=(11,)) as cluster:
        cluster.format()
        cluster.start()
        agent = cluster.agents[11]
        wait_until("the agent to run", lambda: '"running"' in cluster.run(*_describe_agent(agent.grpc_address)))
        yield cluster
        assert set(cluster.stop().values()) == {0}


def _describe_agent(address: str) -> tuple[str, ...]:
    return ("agent", "describe", "--agent", address, "-o", "json")


@pytest.fixture
def kraft(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kraft:
    """Runs a command in this process: its status, standard output and standard error."""
    return commands_at(cluster.bootstrap, monkeypatch, capsys)


def test_a_topic_from_its_creation_to_its_end(kraft: Kraft) -> None:
    created = data(kraft("topics", "create", "--topic", "orders", "--partitions", "3", "-o", "json"))
    assert created == {
        "topic": "orders",
        "created": True,
        "topic_id": created["topic_id"],
        "partitions": 3,
        "replication_factor": 1,
    }
    (described,) = data(kraft("topics", "describe", "--topic", "orders", "-o", "json"))["topics"]
    assert described["topic_id"] == created["topic_id"]
    assert [each["replicas"] for each in described["partitions"]] == [[11]] * 3
    status, out, _ = kraft("topics", "describe", "--topic-id", created["topic_id"])
    assert status == 0
    first = f"Topic: orders  TopicId: {created['topic_id']}  PartitionCount: 3  ReplicationFactor: 1  Configs: -\n"
    assert out.startswith(first)
    assert out.splitlines()[1].split() == [
        "Partition", "Leader", "Replicas", "Isr", "Elr", "LastKnownElr", "Offline",
    ]  # fmt: skip
    assert out.splitlines()[2].split() == ["0", "11", "11", "11", "-", "-", "-"]
    status, out, _ = kraft("topics", "list", "--topic", "ord.*")
    assert (status, out.splitlines()[1].split()) == (0, ["orders", created["topic_id"], "3", "1"])
    assert kraft("topics", "delete", "--topic-id", created["topic_id"]) == (0, "Deleted topic orders.\n", "")
    assert data(kraft("topics", "list", "--topic", "orders", "-o", "json")) == {"topics": []}


def test_placement_and_configs_are_handed_over(kraft: Kraft) -> None:
    words = ("topics", "create", "--topic", "placed", "--replica-assignment", "11,11", "--config", "retention.ms=1000")
    assert data(kraft(*words, "-o", "json"))["partitions"] == 2
    status, _, err = kraft("topics", "create", "--topic", "other", "--config", "no.such.config=1")
    assert status == 1
    assert "no.such.config" in err
    status, _, err = kraft("topics", "create", "--topic", "other", "--replica-assignment", "99")
    assert status == 1
    assert "99" in err


def test_a_topic_that_is_there_already(kraft: Kraft) -> None:
    first = data(kraft("topics", "create", "--topic", "twice", "-o", "json"))
    status, out, err = kraft("topics", "create", "--topic", "twice")
    assert (status, out) == (1, "")
    assert "TOPIC_ALREADY_EXISTS" in err
    again = data(kraft("topics", "create", "--topic", "twice", "--if-not-exists", "-o", "json"))
    assert (again["topic_id"], first["created"], again["created"]) == (first["topic_id"], True, False)
    status, out, _ = kraft("topics", "create", "--topic", "twice", "--if-not-exists", "--partitions", "7")
    assert (status, out.split("\n")[0]) == (
        0,
        "Topic twice exists already, and stays as it is: it has 1 partition where 7 were asked for.",
    )


def test_a_topic_that_is_not_there(kraft: Kraft) -> None:
    for words in (("describe", "--topic", "none"), ("delete", "--topic", "none"), ("describe", "--topic-id", "A" * 22)):
        status, out, err = kraft("topics", *words)
        assert (status, out) == (1, "")
        assert words[-1] in err
        assert kraft("topics", *words, "--if-exists")[0] == 0


def test_nothing_is_called_deleted_that_was_not_there(kraft: Kraft) -> None:
    kraft("topics", "create", "--topic", "there")
    words = ("topics", "delete", "--topic", "there", "--topic", "none", "--if-exists")
    assert kraft(*words) == (0, "Deleted topic there.\nTopic none is not there.\n", "")
    assert data(kraft("topics", "delete", "--topic", "none", "--if-exists", "-o", "json"))["topics"] == [
        {"topic": "none", "deleted": False, "error": None}
    ]
    absent = f"Topic {'B' * 21}A is not there.\n"
    assert kraft("topics", "delete", "--topic-id", "B" * 21 + "A", "--if-exists") == (0, absent, "")


def test_describing_several_ids_says_which_were_there(kraft: Kraft) -> None:
    topic_id = data(kraft("topics", "create", "--topic", "known", "-o", "json"))["topic_id"]
    words = ("topics", "describe", "--topic-id", topic_id, "--topic-id", "B" * 21 + "A", "-o", "json")
    status, out, err = kraft(*words)
    assert (status, [each["topic"] for each in document(out)["topics"]]) == (1, ["known"])
    assert "BBBBBBBBBBBBBBBBBBBBBA" in err
    assert "UNKNOWN_TOPIC_ID" in err
    assert data(kraft(*words, "--if-exists"))["topics"][0]["topic_id"] == topic_id


def test_deleting_several_says_which_were_there(kraft: Kraft) -> None:
    kraft("topics", "create", "--topic", "one")
    status, out, err = kraft("topics", "delete", "--topic", "one", "--topic", "none", "-o", "json")
    assert status == 1
    assert [(row["topic"], row["deleted"]) for row in document(out)["topics"]] == [("one", True), ("none", False)]
    assert "UNKNOWN_TOPIC_OR_PARTITION" in err


def test_what_is_only_checked_is_not_made(kraft: Kraft) -> None:
    status, out, _ = kraft("topics", "create", "--topic", "checked", "--validate-only")
    assert status == 0
    assert "Topic checked could be created." in out
    assert data(kraft("topics", "list", "--topic", "checked", "-o", "json")) == {"topics": []}
    status, _, err = kraft("topics", "create", "--topic", "checked", "--replication-factor", "2", "--validate-only")
    assert status == 1
    assert "INVALID_REPLICATION_FACTOR" in err


def test_the_quorum_is_described(kraft: Kraft, cluster: Cluster) -> None:
    found = data(kraft("quorum", "describe", "-o", "json"))
    assert found["answered_by"] == 1
    status, (leader, observer) = found["status"], found["replication"]
    assert status["cluster_id"] == cluster.cluster_id
    assert parse_topic_id(status["metadata_topic_id"]) != METADATA_TOPIC_ID
    assert (status["leader_id"], status["max_follower_lag"]) == (1, 0)
    assert status["current_voters"] == [
        {
            "node_id": 1,
            "directory_id": id_text(cluster.directory_ids[1]),
            "endpoints": [
                f"{name}://{LOOPBACK}:{cluster.controllers[1].ports[name]}" for name in ("CONTROLLER", "GRPC")
            ],
        }
    ]
    assert [(each["node_id"], each["status"]) for each in (leader, observer)] == [(1, "Leader"), (11, "Observer")]
    assert set(data(kraft("quorum", "describe", "--status", "-o", "json"))) == {
        "answered_by", "problem", "status", "unreached",
    }  # fmt: skip
    code, out, _ = kraft("quorum", "describe", "--replication")
    assert code == 0
    assert out.splitlines()[0].split() == [
        "NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status",
    ]  # fmt: skip
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["1", "11"]


@pytest.mark.parametrize(
    "words", [("topics", "list", "--bootstrap-controller"), ("quorum", "describe", "--bootstrap-controller")]
)
def test_a_controller_listener_is_refused_with_the_right_address(
    kraft: Kraft, cluster: Cluster, words: tuple[str, ...]
) -> None:
    controller = cluster.controllers[1]
    wrong = f"{LOOPBACK}:{controller.ports['CONTROLLER']}"
    status, out, err = kraft(*words, wrong)
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert f"{wrong} is a controller's CONTROLLER listener" in err
    assert controller.grpc_address in err


@pytest.mark.parametrize("words", [("topics", "list"), ("quorum", "describe"), ("quorum", "transfer")])
def test_an_agents_address_is_refused_with_who_is_there(kraft: Kraft, cluster: Cluster, words: tuple[str, ...]) -> None:
    address = cluster.agents[11].grpc_address
    status, out, err = kraft(*words, "--bootstrap-controller", address)
    assert (status, out) == (1, "")
    assert f"{address} is the broker agent 11 of cluster {cluster.cluster_id}, not a controller" in err
    assert "give the GRPC address of a controller" in err


@pytest.mark.parametrize("words", [("topics", "list"), ("quorum", "describe"), ("quorum", "transfer")])
def test_a_host_that_there_is_not_is_named_at_once(kraft: Kraft, words: tuple[str, ...]) -> None:
    began = time.monotonic()
    status, out, err = kraft(*words, "--bootstrap-controller", "no-such-host.invalid:9094", "--timeout", "600")
    assert (status, out) == (1, "")
    assert "the host no-such-host.invalid is not known" in err
    assert time.monotonic() - began < 300


def test_the_only_voter_has_nobody_to_hand_over_to(kraft: Kraft) -> None:
    status, out, err = kraft("quorum", "transfer")
    assert (status, out) == (1, "")
    assert "node 1 is the only voter" in err


def test_the_quorum_is_watched_until_ctrl_c(cluster: Cluster) -> None:
    words = ("quorum", "describe", "--watch", "--interval", "0.1", "-o", "json")
    process = subprocess.Popen(
        [sys.executable, "-m", "quorum.cli.main", *words, "--bootstrap-controller", ",".join(cluster.bootstrap)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    seen = [document(process.stdout.readline()) for _ in range(3)]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert [each["status"]["leader_id"] for each in seen] == [1, 1, 1]
    assert [each["time"] for each in seen] == sorted({each["time"] for each in seen})


def test_watched_in_a_pipe_it_is_one_block_after_the_other(cluster: Cluster) -> None:
    words = ("quorum", "describe", "--status", "-w", "--interval", "0.1")
    process = subprocess.Popen(
        [sys.executable, "-m", "quorum.cli.main", *words, "--bootstrap-controller", ",".join(cluster.bootstrap)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    leaders = 0
    while leaders < 2:
        leaders += process.stdout.readline().split() == ["LeaderId:", "1"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_reads_say_how_current_they_are_to_be(kraft: Kraft) -> None:
    kraft("topics", "create", "--topic", "current", "--if-not-exists")
    for words in ((), ("--consistency", "linearizable"), ("--consistency", "at-least", "--at-least-offset", "1")):
        found = data(kraft("topics", "list", "--topic", "current", *words, "-o", "json"))
        assert [row["topic"] for row in found["topics"]] == ["current"]
    status, _, err = kraft("topics", "describe", "--topic", "current", "--at-least-offset", "1")
    assert status == 2
    assert "--consistency at-least" in err


def test_an_agent_is_described(kraft: Kraft, cluster: Cluster) -> None:
    address = cluster.agents[11].grpc_address
    kraft("topics", "create", "--topic", "held")
    found = wait_until(
        "the agent to hold the topic",
        lambda: next(
            (
                agent
                for agent in [data(kraft(*_describe_agent(address)))]
                if any(each["topic"] == "held" for each in agent["log_dirs"][0]["partitions"])
            ),
            None,
        ),
    )
    assert (found["broker_id"], found["phase"], found["is_fenced"]) == (11, "running", False)
    code, out, _ = kraft("agent", "describe", "--agent", address)
    assert code == 0
    assert "held-0" in out


def test_who_is_no_agent_is_named(kraft: Kraft, cluster: Cluster) -> None:
    address = cluster.controllers[1].grpc_address
    status, _, err = kraft("agent", "describe", "--agent", address)
    assert status == 1
    assert f"{address} is not a broker agent" in err


@pytest.mark.parametrize("role", ["controllers", "agents"])
def test_an_export_notes_the_live_high_watermark(kraft: Kraft, cluster: Cluster, tmp_path: Path, role: str) -> None:
    (node,) = getattr(cluster, role).values()
    target = tmp_path / "export"
    found = data(kraft("log", "export", str(node.log_dir), str(target), "--live", node.grpc_address, "-o", "json"))
    manifest = read_manifest(target)
    assert manifest.node_id == node.node_id == found["node_id"]
    assert manifest.high_watermark is not None
    assert 0 < manifest.high_watermark <= manifest.end_offset
    assert kraft("log", "export", str(node.log_dir), str(target))[0] == 2


def test_an_export_does_not_take_another_nodes_high_watermark(kraft: Kraft, cluster: Cluster, tmp_path: Path) -> None:
    controller, agent = cluster.controllers[1], cluster.agents[11]
    status, _, err = kraft(
        "log", "export", str(controller.log_dir), str(tmp_path / "export"), "--live", agent.grpc_address
    )
    assert status == 2
    assert "is node 11" in err
    assert not (tmp_path / "export").exists()


def test_an_export_without_a_live_node(kraft: Kraft, cluster: Cluster, tmp_path: Path) -> None:
    status, out, _ = kraft("log", "export", str(cluster.controllers[1].log_dir), str(tmp_path / "export"))
    assert status == 0
    assert "high watermark unknown" in out
    assert read_manifest(tmp_path / "export").high_watermark is None
