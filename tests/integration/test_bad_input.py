"""Bad requests, bad directories, damaged logs, against real processes: one clear line, exit status 1, nothing lost."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from kraft.v1 import quorum_pb2, quorum_pb2_grpc
from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.format.batch import build_batch, iter_batches
from metadata_log.ids import METADATA_TOPIC_ID, id_text
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import FeatureLevelRecord, encode_record
from quorum.api.error_codes import Error
from quorum.cli.demo.cluster import Node, wait_until
from quorum.node.process.system_ports import SystemEntropy
from tests.support.local_cluster import Cluster
from tests.support.log_history import read_history
from tests.support.standalone import complaint, create, listed, log_of, standalone, start, written
from tests.support.warm_nodes import WarmNode

HOLD_LOCK = """
import fcntl, sys
held = open(sys.argv[1], "a")
fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("held", flush=True)
sys.stdin.read()
"""
"""Another process with the lock as Kafka takes it: a POSIX lock on the whole file."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with standalone(tmp_path / "node") as made:
        yield made


@pytest.fixture
def node(cluster: Cluster) -> Node:
    return cluster.controllers[1]


@pytest.fixture
def filled(cluster: Cluster, node: Node) -> Node:
    """A stopped node with topics in its log."""
    start(node)
    create(cluster, [f"topic-{number}" for number in range(20)])
    assert node.stop() == 0
    return node


# --- requests


@pytest.fixture
def quorum(node: Node) -> Iterator[quorum_pb2_grpc.QuorumStub]:
    start(node)
    with grpc.insecure_channel(node.grpc_address) as channel:
        yield quorum_pb2_grpc.QuorumStub(channel)


def _vote(cluster_id: str, topic_id: bytes = METADATA_TOPIC_ID) -> quorum_pb2.VoteRequest:
    partition = quorum_pb2.VoteRequest.Partition(
        replica_epoch=900,
        replica_id=9,
        replica_directory_id=SystemEntropy().new_id(),
        voter_directory_id=bytes(16),
        last_offset_epoch=900,
        last_offset=1_000_000,
    )
    topic = quorum_pb2.VoteRequest.Topic(topic_id=topic_id, partitions=[partition])
    return quorum_pb2.VoteRequest(cluster_id=cluster_id, voter_id=1, topics=[topic])


def _fetch(cluster_id: str, topic_id: bytes = METADATA_TOPIC_ID) -> quorum_pb2.FetchRequest:
    partition = quorum_pb2.FetchRequest.Partition(
        current_leader_epoch=1, last_fetched_epoch=0, replica_directory_id=SystemEntropy().new_id()
    )
    topic = quorum_pb2.FetchRequest.Topic(topic_id=topic_id, partitions=[partition])
    return quorum_pb2.FetchRequest(cluster_id=cluster_id, replica_id=9, max_bytes=1_000_000, topics=[topic])


def _epoch(node: Node) -> int:
    """Return the node's epoch; 0 before its first election. It responds to requests from its start on."""
    history = read_history(node.metadata_dir)
    return history.quorum_state.leader_epoch if (node.metadata_dir / QUORUM_STATE_FILE).exists() else 0


def test_requests_of_another_cluster_are_refused(node: Node, quorum: quorum_pb2_grpc.QuorumStub) -> None:
    other = id_text(SystemEntropy().new_id())
    assert quorum.Vote(_vote(other), timeout=10).error_code == Error.INCONSISTENT_CLUSTER_ID
    answer = quorum.FetchOnce(_fetch(other), timeout=10)
    assert answer.error_code == Error.INCONSISTENT_CLUSTER_ID
    assert not answer.topics
    _check_refusals(node, Error.INCONSISTENT_CLUSTER_ID, other)


def test_requests_for_another_topic_are_refused(
    cluster: Cluster, node: Node, quorum: quorum_pb2_grpc.QuorumStub
) -> None:
    """Neither the sentinel nor the metadata topic's own id, once the node knows that: before, any may be right."""
    wait_until("its own id to be committed", lambda: " request=RegisterController " in node.log_file.read_text())
    other = SystemEntropy().new_id()
    vote = quorum.Vote(_vote(cluster.cluster_id, other), timeout=10)
    assert [partition.error_code for topic in vote.topics for partition in topic.partitions] == [Error.UNKNOWN_TOPIC_ID]
    assert not any(partition.vote_granted for topic in vote.topics for partition in topic.partitions)
    fetch = quorum.FetchOnce(_fetch(cluster.cluster_id, other), timeout=10)
    assert [part.error_code for topic in fetch.topics for part in topic.partitions] == [Error.UNKNOWN_TOPIC_ID]
    assert not any(part.records for topic in fetch.topics for part in topic.partitions)
    _check_refusals(node, Error.UNKNOWN_TOPIC_ID, id_text(other))


def _check_refusals(node: Node, error: Error, named: str) -> None:
    """Each is one WARN that names what was asked for, and none of them moved the epoch."""
    wait_until("both lines", lambda: len(_refusals(node)) >= 2)
    refusals = _refusals(node)
    assert len(refusals) == 2
    assert all("peer=9@127.0.0.1" in line for line in refusals)
    assert all("[warning" in line and error.name in line and named in line for line in refusals)
    assert _epoch(node) < 900
    assert node.is_running


# --- directories


def test_an_unformatted_directory(node: Node) -> None:
    shutil.rmtree(node.log_dir)
    node.log_dir.mkdir()
    said = complaint(node)
    assert str(node.log_dir) in said
    assert "kraft storage format" in said
    assert list(node.log_dir.iterdir()) == []


def test_a_directory_of_another_node(node: Node) -> None:
    meta = node.log_dir / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id=1", "node.id=7"))
    said = complaint(node)
    assert f"{node.log_dir} belongs to node 7, but node.id is 1" in said


def test_a_directory_of_another_cluster_among_ours(node: Node, tmp_path: Path) -> None:
    with standalone(tmp_path / "other") as other:
        node.properties["log.dirs"] = f"{node.log_dir},{other.controllers[1].log_dir}"
        node.write_config()
        said = complaint(node)
        assert other.cluster_id in said
        assert str(other.controllers[1].log_dir) in said


def test_a_voter_of_another_cluster_is_told_so_and_changes_nothing(tmp_path: Path) -> None:
    """Its own directory looks sound to it: only the others can know."""
    with Cluster(tmp_path / "three", agents=()) as cluster:
        cluster.format()
        stranger = cluster.controllers[3]
        shutil.rmtree(stranger.log_dir)
        other = id_text(SystemEntropy().new_id())
        cluster.run(
            "storage", "format", "--config", str(stranger.config_file), "--cluster-id", other,
            "--initial-controllers", cluster.initial_controllers,
        )  # fmt: skip
        cluster.start()
        wait_until("the stranger to be refused", lambda: "INCONSISTENT_CLUSTER_ID" in stranger.log_file.read_text())
        create(cluster, ["one"])
        stranger.stop()
        for own in (cluster.controllers[1], cluster.controllers[2]):
            assert own.stop() == 0
            assert "one" in written(own)
        refused = [line for line in stranger.log_file.read_text().splitlines() if "INCONSISTENT_CLUSTER_ID" in line]
        assert all("[warning" in line for line in refused)
        assert log_of(stranger).stat().st_size == 0


def _refusals(node: Node) -> list[str]:
    """Return the lines of the node's log that report refusals."""
    return [line for line in node.log_file.read_text().splitlines() if " refusal " in line]


def test_an_agent_of_another_cluster_is_told_so_once(tmp_path: Path) -> None:
    """The agent asks many times a second, without end; neither side fills its log with that."""
    with Cluster(tmp_path / "two", controllers=(1,), agents=(11,)) as cluster:
        cluster.format()
        controller, stranger = cluster.controllers[1], cluster.agents[11]
        shutil.rmtree(stranger.log_dir)
        other = id_text(SystemEntropy().new_id())
        cluster.run("storage", "format", "--config", str(stranger.config_file), "--cluster-id", other)
        cluster.start()
        create(cluster, [f"topic-{number}" for number in range(100)])
        wait_until("the stranger to be refused", lambda: " refusal " in stranger.log_file.read_text())
        told = _refusals(stranger)
        assert len(told) == 1
        assert f"it is not of cluster {other}" in told[0]
        assert "bootstrap server 1" in told[0]
        wait_until("its Fetch and its registration to be refused", lambda: len(_refusals(controller)) == 2)
        fetch, registration = sorted(_refusals(controller), key=lambda line: line.partition("request=")[2])
        assert "request=FetchRequest" in fetch
        assert "peer=11@127.0.0.1" in fetch
        assert "request=RegisterBroker" in registration
        assert "peer='broker 11'" in registration


def test_a_second_process_of_ours_on_one_directory(cluster: Cluster, node: Node, tmp_path: Path) -> None:
    start(node)
    second = WarmNode("controller", 1, tmp_path / "second", node.ports, node.properties)
    second.write_config()
    said = complaint(second)
    assert f"{node.log_dir}/.lock is locked" in said
    assert set(create(cluster, ["still-here"])) <= set(listed(cluster))


def test_a_kafka_on_our_directory(node: Node) -> None:
    lock = node.log_dir / ".lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as kafka:
        assert kafka.stdout is not None
        assert kafka.stdout.readline() == "held\n"
        said = complaint(node)
        kafka.terminate()
    assert f"{lock} is locked: another process, of kraft or of Kafka" in said


def test_a_kafka_finds_our_lock(node: Node) -> None:
    start(node)
    with (node.log_dir / ".lock").open("a") as lock, pytest.raises(BlockingIOError):
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _refused(node: Node) -> str:
    """The one line that is all it says."""
    done = subprocess.run(
        [sys.executable, "-m", "quorum.cli.main", node.role, "start", "--config", str(node.config_file)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.rstrip()


@pytest.mark.parametrize(
    ("role", "listener"),
    [
        ("controller", "CONTROLLER"),
        pytest.param("controller", "GRPC", marks=pytest.mark.campaign),
        pytest.param("controller", "HTTP", marks=pytest.mark.campaign),
        ("agent", "GRPC"),
        ("agent", "HTTP"),
    ],
)
def test_an_address_that_is_taken(role: str, listener: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "both", controllers=(1,), agents=(11,))
    cluster.format()
    node = cluster.controllers[1] if role == "controller" else cluster.agents[11]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", node.ports[listener]))
        taken.listen()
        said = _refused(node)
    where = f"{listener}://127.0.0.1:{node.ports[listener]}"
    assert said == f"kraft: cannot listen at {where}: another process listens there already"


@pytest.mark.parametrize(
    "listener",
    [
        "CONTROLLER",
        pytest.param("GRPC", marks=pytest.mark.campaign),
        pytest.param("HTTP", marks=pytest.mark.campaign),
    ],
)
def test_an_address_of_another_host(listener: str, node: Node) -> None:
    """The address is of the block that is reserved for documentation."""
    here, elsewhere = f"{listener}://127.0.0.1", f"{listener}://192.0.2.7"
    text = node.config_file.read_text()
    node.config_file.write_text(text.replace(here, elsewhere))
    said = _refused(node)
    assert said == f"kraft: cannot listen at {elsewhere}:{node.ports[listener]}: it is no address of this host"


# --- damaged logs


def test_a_damaged_batch_in_the_middle_is_refused_and_left_as_it_is(filled: Node) -> None:
    log = log_of(filled)
    data = bytearray(log.read_bytes())
    position, header = list(iter_batches(bytes(data)))[6]
    data[position + header.size_in_bytes // 2] ^= 0x40
    log.write_bytes(data)
    before = _files_of(filled)
    said = complaint(filled)
    assert f"{log}, position {position}, offset {header.base_offset}" in said
    assert "nothing was cut" in said
    assert _files_of(filled) == before


def test_a_torn_last_batch_is_cut_with_a_warning(cluster: Cluster, filled: Node) -> None:
    log = log_of(filled)
    sound, topics = log.read_bytes(), written(filled)
    torn = build_batch(base_offset=read_end(filled), epoch=Epoch(1), timestamp_ms=1, values=[b"x" * 300])[:200]
    log.write_bytes(sound + torn)
    start(filled)
    warnings = [line for line in filled.log_file.read_text().splitlines() if "[warning" in line]
    assert len(warnings) == 1
    assert f"torn tail cut: {log.name}: 200 bytes from position {len(sound)} on" in warnings[0]
    assert create(cluster, ["after"]).items() <= listed(cluster).items()
    assert filled.stop() == 0
    assert written(filled).items() >= topics.items()
    assert log.read_bytes().startswith(sound)


def test_an_unknown_record_stops_the_node(filled: Node) -> None:
    """A record of a type from the future: frame version 1, type 99, version 3."""
    log = log_of(filled)
    offset = read_end(filled)
    epoch = Epoch(_epoch(filled))
    with log.open("ab") as file:
        file.write(build_batch(base_offset=offset, epoch=epoch, timestamp_ms=1, values=[bytes([1, 99, 3])]))
    kept = log.read_bytes()
    said = complaint(filled)
    assert f"unknown metadata record at offset {offset}: type 99, version 3" in said
    assert log.read_bytes().startswith(kept)
    os.truncate(log, len(kept))


def test_a_level_of_a_later_release_stops_the_node(filled: Node) -> None:
    log = log_of(filled)
    epoch = Epoch(_epoch(filled))
    level = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=35), 0)
    with log.open("ab") as file:
        file.write(build_batch(base_offset=read_end(filled), epoch=epoch, timestamp_ms=1, values=[level]))
    kept = log.read_bytes()
    said = complaint(filled)
    assert "the metadata log finalises metadata.version 35, which this software does not know" in said
    assert "Use the release that has finalised it" in said
    assert log.read_bytes().startswith(kept)
    os.truncate(log, len(kept))


def read_end(node: Node) -> Offset:
    return Offset(read_history(node.metadata_dir).log_end_offset)


def _files_of(node: Node) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in node.metadata_dir.iterdir()}
