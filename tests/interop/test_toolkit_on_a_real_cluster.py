"""The toolkit on directories of a real cluster that was made in this very run: nothing can be fitted to the files."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.tools.dump.dump import dump_text
from quorum.cli.demo.cluster import wait_until
from quorum.cli.main import run
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.life import BROKER_KILLED, KafkaLife
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

STALE = {"gone-0", "gone-1", "again-0", "again-1"}
KEPT = {"orders-0", "orders-1", "orders-2", "after-the-kill-0"}


@pytest.fixture(scope="module")
def revived(kafka_life: KafkaLife, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """The cluster on a copy of its directories, with its controllers running and its brokers not."""
    with kafka_life.cluster.copied_to(tmp_path_factory.mktemp("revived") / "cluster") as cluster:
        cluster.start(*(node.node_id for node in cluster.controllers))
        yield cluster


def test_our_dump_is_kafkas_of_every_file(kafka_life: KafkaLife, kafka_tools: KafkaTools) -> None:
    files = kafka_life.metadata_files() + sorted(kafka_life.crashed.rglob("__cluster_metadata-0/*.log"))
    assert len(files) > 10
    for path in files:
        ours = "".join(f"{line}\n" for line in dump_text(str(path), path.read_bytes()))
        assert kafka_tools.dump_log(path) == ours, path


def test_the_command_prints_the_same(
    kafka_life: KafkaLife, kafka_tools: KafkaTools, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    directory = kafka_life.cluster.nodes[1].log_dir
    assert run(["log", "dump", str(directory)]) == 0
    files = sorted(f for f in (directory / "__cluster_metadata-0").iterdir() if f.suffix in (".log", ".checkpoint"))
    assert capfdbinary.readouterr().out.decode() == kafka_tools.dump_log(*files)


@pytest.mark.parametrize("words", ["log verify", "log diff", "log hash", "log timeline", "analyze"])
def test_no_tool_finds_anything_wrong_with_the_metadata(kafka_life: KafkaLife, words: str) -> None:
    assert run([*words.split(), *map(str, kafka_life.log_dirs)]) == 0


def test_storage_info_finds_nothing_wrong(kafka_life: KafkaLife, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["storage", "info", str(kafka_life.cluster.root), "-o", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["directories"]
    assert {row["node_id"] for row in rows} == set(kafka_life.cluster.nodes)


def test_the_audit_knows_what_went_while_the_broker_was_away(
    kafka_life: KafkaLife, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = kafka_life.cluster.nodes[BROKER_KILLED]
    rows = _audit(broker, kafka_life.cluster, capsys)
    assert {name for name, row in rows.items() if row["when_kafka_starts"] == "renames it to -stray"} == STALE
    assert {name for name, row in rows.items() if row["verdict"] == "keep"} == {*KEPT, "__cluster_metadata-0"}
    assert run(["storage", "audit", str(broker.log_dir)]) == 0, "its own copy of the metadata is older"


def test_kafka_starts_after_the_quarantine_and_after_its_undo(
    revived: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = revived.nodes[BROKER_KILLED]
    before = _directories(broker)
    images = [word for node in revived.controllers for word in ("--image", str(node.log_dir))]
    assert run(["storage", "audit", str(broker.log_dir), *images, "--quarantine"]) == 0
    moved = _directories(broker)
    assert {name.partition(".")[0] for name in moved if name.endswith("-stray")} == STALE
    revived.start(broker.node_id)
    assert run(["storage", "audit", str(broker.log_dir), *images, "--quarantine"]) in (0, 1)
    assert _directories(broker) >= moved
    broker.stop()
    new = _directories(broker) - moved
    assert "Found stray" not in broker.said(), "what Kafka would have set aside was aside"
    for name in new:  # partitions that the broker was given meanwhile, if any
        (broker.log_dir / name).rename(broker.directory / name)
    assert run(["storage", "audit", str(broker.log_dir), "--undo"]) == 0
    assert _directories(broker) == before
    revived.start(broker.node_id)
    wait_until("Kafka to set them aside itself", lambda: {_plain(n) for n in _strays(broker)} == STALE, timeout_s=60)
    broker.stop()
    capsys.readouterr()


def test_the_dump_follows_a_live_log_and_ends_at_once(revived: KafkaCluster) -> None:
    words = ["log", "dump", str(revived.controllers[0].log_dir), "--follow", "-o", "jsonl", "--type", "topic"]
    with subprocess.Popen(
        [sys.executable, "-m", "quorum.cli.main", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as following:
        stdout, stderr = following.stdout, following.stderr
        assert stdout is not None
        assert stderr is not None
        seen = [json.loads(stdout.readline())["data"]["name"] for _ in range(4)]
        revived.start(11)
        revived.admin("topics", "--create", "--topic", "seen-live", "--partitions", "1")
        while "seen-live" not in seen:
            seen.append(json.loads(stdout.readline())["data"]["name"])
        following.send_signal(signal.SIGINT)
        rest, complaint = stdout.read(), stderr.read()
    assert (following.returncode, rest, complaint) == (130, "", "")
    assert seen[:3] == ["orders", "gone", "again"]


def _audit(broker: KafkaNode, cluster: KafkaCluster, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    images = [word for node in cluster.controllers for word in ("--image", str(node.log_dir))]
    status = run(["storage", "audit", str(broker.log_dir), *images, "-o", "json"])
    rows = {Path(row["directory"]).name: row for row in json.loads(capsys.readouterr().out)["directories"]}
    assert status == 1
    return rows


def _directories(broker: KafkaNode) -> set[str]:
    return {entry.name for entry in broker.log_dir.iterdir() if entry.is_dir()}


def _strays(broker: KafkaNode) -> set[str]:
    return {name for name in _directories(broker) if name.endswith("-stray")}


def _plain(name: str) -> str:
    return name.partition(".")[0]
