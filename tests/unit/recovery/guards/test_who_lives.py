"""A repair asks who lives: locks, unfinished repairs, and who answers at the controllers' addresses."""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metadata_log.directory.lock import DirectoryLock
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.voters import Endpoint, Voter, VoterSet
from quorum.cli.main import run
from quorum.recovery.guards.liveness import EndpointState, ProbeResult, change_voters
from tests.support.misuses import CLUSTER, NO_WAIT, OTHER_CLUSTER, Bench, contents, from_broker, interrupted


def test_a_directory_in_use_is_refused_also_in_a_dry_run(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    lock = DirectoryLock(OsFiles(), str(node))
    try:
        for more in ([], ["--apply"]):
            assert run(["recover", "standalone", "--dir", str(node), "--missing", "rest", *more]) == 1
            assert "is locked: another process" in capsys.readouterr().err
    finally:
        lock.release()


def test_an_interrupted_repair_is_told_and_finished(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = interrupted(Bench(clusters, tmp_path))
    words = ["recover", "standalone", "--dir", str(node), "--missing", "rest", *NO_WAIT]
    assert run(words) == 1
    assert "was interrupted here" in capsys.readouterr().err
    assert run([*words, "--apply"]) == 0
    assert "Finished what was interrupted" in capsys.readouterr().out
    assert run(["recover", "verify", str(node)]) == 0


@contextmanager
def listener(answers: list[bytes]) -> Iterator[int]:
    """A server that gives these answers, one a request, and then closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for answer in answers:
                    size = struct.unpack(">i", connection.recv(4))[0]
                    request = connection.recv(size)
                    body = request[4:8] + answer
                    connection.sendall(struct.pack(">i", len(body)) + body)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def described(error: int, leader: int) -> bytes:
    """DescribeQuorum version 0 of the metadata topic, up to the epoch."""
    name = b"__cluster_metadata"
    partition = struct.pack(">ihii", 0, error, leader, 7) + b"\x00" * 20
    return b"\x00" + struct.pack(">h", 0) + bytes([2, len(name) + 1]) + name + bytes([2]) + partition


def of_cluster(cluster_id: str) -> bytes:
    """DescribeCluster version 1."""
    text = cluster_id.encode()
    return b"\x00" + struct.pack(">ih", 0, 0) + bytes([0, 2, len(text) + 1]) + text + b"\x00" * 8


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (
            [described(0, 3), of_cluster(CLUSTER)],
            r"a leader answers at 127\.0\.0\.1:\d+ \(leader 3 of epoch 7, cluster.*metadata-quorum\.sh add-controller",
        ),
        ([described(6, -1), of_cluster(CLUSTER)], r"a controller runs at .*stop it"),
        ([], r"is not understood .*--not-a-controller 127\.0\.0\.1:\d+"),
    ],
)
def test_who_answers_is_not_recovered_from(
    answers: list[bytes], says: str, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    before = contents(tmp_path)
    with listener(answers) as port:
        words = ["recover", "standalone", "--dir", str(node), "--missing", "rest", "--apply"]
        wait = () if answers else NO_WAIT  # who says nothing is asked by gRPC, too
        assert run([*words, "--bootstrap-controller", f"127.0.0.1:{port}", *wait]) == 1
    assert re.search(says, capsys.readouterr().err)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("command", ["standalone", "from-broker", "voters", "voters by gRPC"])
def test_where_the_repair_puts_a_voter_is_asked_too(
    command: str, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An earlier repair may have gone live there: no copy here knows of that address."""
    bench = Bench(clusters, tmp_path)
    answers = [] if command == "voters by gRPC" else [described(0, 1), of_cluster(CLUSTER)]
    with listener(answers) as port:
        at = f"CONTROLLER://127.0.0.1:{port}"
        words = {
            "standalone": ["standalone", "--dir", bench.node("basic", 1), "--endpoint", at],
            "from-broker": from_broker(bench, tmp_path / "new", "--endpoint", at),
            "voters": ["voters", "--dir", bench.node("basic", 1), "--set", f"1@127.0.0.1:{port}"],
            "voters by gRPC": ["voters", "--dir", bench.node("basic", 1), "--set", f"1@127.0.0.1:1/{port}"],
        }[command]
        before = contents(tmp_path)
        missing = [] if "--missing" in words else ["--missing", "rest"]
        assert run([*map(str, ["recover", *words, *missing, "--apply", *NO_WAIT])]) == 1
    said = capsys.readouterr().err
    says = "is not understood" if command == "voters by gRPC" else "leader 1 of epoch 7, cluster"
    assert says in said
    assert f"at 127.0.0.1:{port}" in said
    assert contents(tmp_path) == before


def test_what_is_no_controller_of_this_cluster_is_passed_over(clusters: Path, tmp_path: Path) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    words = ["recover", "standalone", "--dir", str(node), "--missing", "rest"]
    with listener([described(0, 3), of_cluster(OTHER_CLUSTER)]) as port:
        assert run([*words, "--bootstrap-controller", f"127.0.0.1:{port}"]) == 0
    with listener([]) as port:
        address = f"127.0.0.1:{port}"
        assert run([*words, "--bootstrap-controller", address, "--not-a-controller", address, *NO_WAIT]) == 0


def test_the_plan_says_who_was_asked_and_what_proves_nothing(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    words = ["recover", "standalone", "--dir", str(node), "--missing", "rest", *NO_WAIT]
    assert run(words) == 0
    said = capsys.readouterr().out
    assert f"Asked for a live leader:\n  127.0.0.1:29101: {EndpointState.NOBODY}, Connection refused\n" in said
    assert "did not respond" not in said
    assert run([*words, "--bootstrap-controller", "no-such-host.invalid:9093"]) == 0
    assert "WARNING: no-such-host.invalid:9093 did not respond, " in capsys.readouterr().out


def test_a_missing_node_that_nobody_knows_is_warned_of(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    assert run(["recover", "standalone", "--dir", str(node), "--missing", "2,3,11,12,99", *NO_WAIT]) == 0
    assert "WARNING: --missing 99: no copy here knows such a node" in capsys.readouterr().out


def test_the_old_disk_of_a_reused_id_is_warned_of(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = Bench(clusters, tmp_path).node("basic", 11)
    words = ["recover", "from-broker", "--broker-dir", str(broker), "--dir", str(tmp_path / "new"), "--node-id", "1"]
    assert run([*words, "--endpoint", "CONTROLLER://localhost:1", "--missing", "rest", *NO_WAIT]) == 0
    assert "should the old disk of controller 1 turn up again" in capsys.readouterr().out


@pytest.mark.parametrize("speaks_grpc", [True, False])
def test_voters_of_a_living_quorum_are_changed_by_the_tool_of_its_controllers(speaks_grpc: bool) -> None:
    """Our leader may answer at its CONTROLLER listener alone: then the voter set names its GRPC address."""
    endpoints = (
        Endpoint(name="CONTROLLER", host="c3", port=9093),
        Endpoint(name="GRPC", host="c3", port=9094),
    )
    key = ReplicaKey(node_id=NodeId(3), directory_id=DirectoryId(bytes(15) + b"\x03"))
    at = "c3:9094" if speaks_grpc else "c3:9093"
    heard = ProbeResult(address=at, heard=EndpointState.LEADER, said="", node_id=3, speaks_grpc=speaks_grpc)
    ours = VoterSet.of([Voter(key=key, endpoints=endpoints)])
    kafkas = VoterSet.of([Voter(key=key, endpoints=endpoints[:1])])
    assert "`kraft quorum add-controller`" in change_voters([heard], ours)
    assert "--bootstrap-controller c3:9094;" in change_voters([heard], ours)
    assert ("kafka-metadata-quorum.sh" in change_voters([heard], kafkas)) is not speaks_grpc
