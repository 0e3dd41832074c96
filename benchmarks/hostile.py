"""Strangers against three controllers: what they do, and what other clients notice of it.

    python -m benchmarks.hostile [ATTACK ...]

Each attack runs in its process, from the address 127.0.0.2, against a fresh quorum on 127.0.0.1. Another process asks
the leader meanwhile: ApiVersions on an open connection every 20 ms, /livez on a new one every 100 ms. The
longest wait for ApiVersions is the longest silence of the leader's loop. Prints one row an attack.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import multiprocessing
import os
import socket
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, NamedTuple

import grpc

from benchmarks import raw_http2
from benchmarks.broker import FakeBroker
from benchmarks.side import page, resident_mb, samples
from kraft.v1 import controller_pb2 as pb
from kraft.v1 import quorum_pb2
from quorum.cli.demo.cluster import LOOPBACK, Cluster, Node, wait_until

STRANGER: Final = "127.0.0.2"
_ASK_EVERY_S: Final = 0.02
_LIVEZ_EVERY: Final = 5
_LOST_S: Final = 5.0
_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
_HEADS: Final = (
    "attack",
    "probe p50 / p95 / max ms",
    "lost",
    "/livez",
    "RSS before / peak / after MB",
    "log bytes",
    "tracebacks",
    "elections",
    "alive",
    "note",
)
_METADATA_TOPIC_ID: Final = bytes(15) + b"\1"


class Ports(NamedTuple):
    """The ports of the leader's listeners."""

    kafka: int
    grpc: int
    http: int


class Probed(NamedTuple):
    """The observations of a client that does no harm."""

    waits_s: list[float]
    lost: int
    livez: int
    livez_failed: int


class Figures(NamedTuple):
    """One row."""

    attack: str
    probe_ms: str
    lost: int
    livez: str
    resident_mb: str
    log_bytes: int
    tracebacks: int
    elections: int
    alive: str
    note: str


# --- attacks: each gets the leader's ports, runs in its own process and returns a note


def sessions(at: Ports) -> str:
    """10,100 idle Session streams, then DescribeQuorum by another client."""
    peers: list[raw_http2.Peer] = []
    for _ in range(101):
        peer = raw_http2.Peer(raw_http2.connect(LOOPBACK, at.grpc, STRANGER))
        peers.append(peer)
        for half in (0, 50):
            calls = (raw_http2.call(1 + 2 * (half + n), raw_http2.SESSION) for n in range(50))
            peer.connection.sendall(b"".join(calls))
            time.sleep(0.1)
        _serve(peers)
    for _ in range(10):
        _serve(peers)
        time.sleep(0.2)
    return f"describe: {_describe(at)}"


def _serve(peers: Sequence[raw_http2.Peer]) -> None:
    for peer in peers:
        with contextlib.suppress(OSError):
            peer.receive()


def endless(at: Ports) -> str:
    """One connection with 60 streams, 8.5 MiB each of a message that never ends."""
    return _flood(at, 17 << 19)


def endless_small(at: Ports) -> str:
    """The same with messages of 4 MiB, which are not too large."""
    return _flood(at, 4 << 20)


def _flood(at: Ports, announced: int) -> str:
    flood = raw_http2.Flood(raw_http2.connect(LOOPBACK, at.grpc, STRANGER), 60, raw_http2.CREATE_TOPICS, announced)
    flood.run(12)
    return f"{flood.sent >> 20} MiB taken"


def silent_http(at: Ports) -> str:
    """150 silent connections to the health port."""
    return _silent(at.http, 150, 8)


def silent_grpc(at: Ports) -> str:
    """1,400 silent connections to the gRPC listener of a node with 1,024 descriptors; then writes."""
    return _silent(at.grpc, 1_400, 8)


def _silent(port: int, count: int, seconds: float) -> str:
    held = []
    for _ in range(count):
        connection = socket.socket()
        connection.settimeout(5)
        with contextlib.suppress(OSError):
            connection.connect((LOOPBACK, port))
        held.append(connection)
    time.sleep(seconds)
    return f"{count} opened"


def large_kafka(at: Ports) -> str:
    """16 connections, each a CreateTopics of 9,900 topics again and again, for 15 s."""
    return _create_by_kafka(at, 9_900, 4)


def many_kafka(at: Ports) -> str:
    """400 connections, each a CreateTopics of 900 topics again and again, for 15 s."""
    return _create_by_kafka(at, 900, 100)


def _create_by_kafka(at: Ports, count: int, connections: int) -> str:
    topics = b"".join(
        struct.pack(">h", 18) + b"hostile-topic-%04d" % number + struct.pack(">ihii", 1, 1, 0, 0)
        for number in range(count)
    )
    body = struct.pack(">hhih", 19, 4, 1, -1) + struct.pack(">i", count) + topics + struct.pack(">ib", 5_000, 1)
    frame = struct.pack(">i", len(body)) + body
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_again_and_again, args=(at.kafka, frame, connections, 15.0)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return f"{len(frame) / 1000:.0f} kB each"


def _again_and_again(port: int, frame: bytes, count: int, seconds: float) -> None:
    import threading  # noqa: PLC0415

    def write() -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), raw_http2.connect(LOOPBACK, port, STRANGER) as connection:
                while time.monotonic() < deadline:
                    connection.sendall(frame)
                    size = _exactly(connection, 4)
                    _exactly(connection, int.from_bytes(size, "big"))

    threads = [threading.Thread(target=write) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def large_grpc(at: Ports) -> str:
    """One CreateTopics(validate_only) of 285,000 topics."""
    return _create(at, 285_000)


def large_grpc_bounded(at: Ports) -> str:
    """The largest that is read: 49,999 topics, ten times."""
    return ", ".join({_create(at, 49_999) for _ in range(10)})


def _create(at: Ports, count: int) -> str:
    topics = [
        pb.CreatableTopic(name=f"hostile-topic-name-{n}", num_partitions=1, replication_factor=1) for n in range(count)
    ]
    raw = pb.CreateTopicsRequest(topics=topics, validate_only=True).SerializeToString()
    with grpc.insecure_channel(f"{LOOPBACK}:{at.grpc}", options=[("grpc.max_send_message_length", -1)]) as channel:
        create = channel.unary_unary(raw_http2.CREATE_TOPICS, None, pb.CreateTopicsResponse.FromString)
        try:
            outcome = create(raw, timeout=30).outcome
        except grpc.RpcError as error:
            return f"{len(raw) >> 10} KiB: {error.code().name}"  # type: ignore[attr-defined]
        return f"{len(raw) >> 10} KiB: error {outcome.error_code}"


def refusals(at: Ports) -> str:
    """3,000 Votes of another cluster with invented names, then 300 messages on streams that cannot be parsed."""
    with grpc.insecure_channel(f"{LOOPBACK}:{at.grpc}") as channel:
        vote = channel.unary_unary("/kraft.v1.Quorum/Vote", quorum_pb2.VoteRequest.SerializeToString)
        for number in range(3_000):
            partition = quorum_pb2.VoteRequest.Partition(replica_id=10_000 + number, replica_epoch=1)
            topic = quorum_pb2.VoteRequest.Topic(topic_id=_METADATA_TOPIC_ID, partitions=[partition])
            vote(quorum_pb2.VoteRequest(cluster_id="another", topics=[topic]), timeout=10)
        fetch = channel.stream_stream("/kraft.v1.Quorum/Fetch")
        for _ in range(300):
            with contextlib.suppress(grpc.RpcError):
                list(fetch(iter([b"\xff\xff\xff"]), timeout=10))
    return "3,000 Votes, 300 malformed"


def _describe(at: Ports) -> str:
    with grpc.insecure_channel(f"{LOOPBACK}:{at.grpc}") as channel:
        describe = channel.unary_unary("/kraft.v1.Quorum/DescribeQuorum", None, None)
        try:
            describe(b"", timeout=10)
        except grpc.RpcError as error:
            return str(error.code().name)  # type: ignore[attr-defined]
    return "answered"


ATTACKS: Final[Mapping[str, Callable[[Ports], str]]] = {
    attack.__name__: attack
    for attack in (
        sessions,
        endless,
        endless_small,
        silent_http,
        large_kafka,
        many_kafka,
        large_grpc,
        large_grpc_bounded,
        silent_grpc,
        refusals,
    )
}


# --- the client that does no harm


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionError("closed")
        data += more
    return data


def _probe(at: Ports, orders: Connection) -> None:
    waits: list[float] = []
    lost = livez = failed = turns = 0
    connection: socket.socket | None = None
    while not orders.poll(_ASK_EVERY_S):
        began = time.monotonic()
        try:
            if connection is None:
                connection = socket.create_connection((LOOPBACK, at.kafka), timeout=_LOST_S)
            connection.sendall(_API_VERSIONS)
            _exactly(connection, int.from_bytes(_exactly(connection, 4), "big"))
        except OSError:
            lost, connection = lost + 1, None
        waits.append(time.monotonic() - began)
        turns += 1
        if turns % _LIVEZ_EVERY == 0:
            livez += 1
            failed += not _is_alive(at.http)
    orders.send(Probed(waits, lost, livez, failed))


def _is_alive(port: int) -> bool:
    page = http.client.HTTPConnection(LOOPBACK, port, timeout=1)
    try:
        page.request("GET", "/livez")
        return page.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        page.close()


# --- one run


def _attack(name: str, at: Ports, result: Connection) -> None:
    result.send(ATTACKS[name](at))


def run(name: str, root: Path) -> Figures:
    """Do it to a fresh quorum."""
    properties = {"internal.metadata.log.segment.bytes": "4000"} if name == "silent_grpc" else {}
    with Cluster(root, agents=(), properties=properties) as cluster:
        if name == "silent_grpc":
            for node in cluster.controllers.values():
                node.launcher = ("/bin/sh", "-c", 'ulimit -n 1024 && exec "$@"', "sh", *node.launcher)
        cluster.format()
        cluster.start()
        leader = wait_until("a leader", lambda: _leader(cluster))
        broker = FakeBroker(cluster.bootstrap, cluster.cluster_id)
        broker.start()
        time.sleep(1.0)
        before_mb, log_before, elections = resident_mb(leader.pid), _log_bytes(cluster), _elections(cluster)
        at = Ports(leader.ports["CONTROLLER"], leader.ports["GRPC"], leader.ports["HTTP"])
        probed, note, peak_mb = _under_attack(name, at, leader)
        broker.stop()
        time.sleep(2.0)
        alive = [node for node in cluster.controllers.values() if node.is_running]
        after_mb = resident_mb(leader.pid) if leader.is_running else 0.0
        waits = [1000 * wait for wait in probed.waits_s] or [0.0]
        return Figures(
            attack=name,
            probe_ms=f"{statistics.median(waits):.1f} / {_percentile(waits, 95):.0f} / {max(waits):.0f}",
            lost=probed.lost,
            livez=f"{probed.livez - probed.livez_failed} of {probed.livez}",
            resident_mb=f"{before_mb:.0f} / {peak_mb:.0f} / {after_mb:.0f}",
            log_bytes=_log_bytes(cluster) - log_before,
            tracebacks=sum(node.log_file.read_text().count("Traceback") for node in cluster.controllers.values()),
            elections=_elections(cluster) - elections,
            alive=f"{len(alive)} of {len(cluster.controllers)}",
            note=note,
        )


def _under_attack(name: str, at: Ports, leader: Node) -> tuple[Probed, str, float]:
    context = multiprocessing.get_context("spawn")
    orders, prober_end = context.Pipe()
    result, attack_end = context.Pipe()
    prober = context.Process(target=_probe, args=(at, prober_end))
    attacker = context.Process(target=_attack, args=(name, at, attack_end))
    prober.start()
    time.sleep(2.0)
    attacker.start()
    peak_mb = 0.0
    while attacker.is_alive():
        with contextlib.suppress(OSError):
            peak_mb = max(peak_mb, resident_mb(leader.pid))
        time.sleep(0.05)
    note = result.recv() if result.poll() else "the attack failed"
    if name == "silent_grpc":
        note += f", describe: {_describe(at)}"
    orders.send("end")
    probed: Probed = orders.recv()
    prober.join()
    return probed, note, peak_mb


def _percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) * percent // 100, len(values) - 1)]


def _leader(cluster: Cluster) -> Node | None:
    for node in cluster.controllers.values():
        with contextlib.suppress(OSError):
            if samples(page(node.http_address, "/metrics")).get("kraft_controller_active_controller_count"):
                return node
    return None


def _elections(cluster: Cluster) -> int:
    total = 0.0
    for node in cluster.controllers.values():
        with contextlib.suppress(OSError):
            total += samples(page(node.http_address, "/metrics")).get("kraft_raft_elections_total", 0.0)
    return int(total)


def _log_bytes(cluster: Cluster) -> int:
    return sum(os.stat(node.log_file).st_size for node in cluster.controllers.values())


def main(words: Sequence[str]) -> None:
    """Run the attacks that are named, or all, and print the rows as a table of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    chosen = parser.parse_args(words).attacks or list(ATTACKS)
    for name in chosen:
        if name not in ATTACKS:
            parser.error(f"there is no attack {name}: choose from {', '.join(ATTACKS)}")
    print(f"| {' | '.join(_HEADS)} |")
    print("|---" * len(_HEADS) + "|")
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="hostile-") as root:
            print("| " + " | ".join(str(figure) for figure in run(name, Path(root) / "cluster")) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
