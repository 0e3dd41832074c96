"""Attacks of strangers on a controller: each gets the leader's ports, runs in its own process and returns a note.

Decides: the bytes that are sent, from addresses of no voter.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import grpc

from benchmarks import raw_http2
from kraft.v1 import controller_pb2 as pb
from kraft.v1 import quorum_pb2
from quorum.cli.demo.cluster import LOOPBACK

STRANGER: Final = "127.0.0.2"
_METADATA_TOPIC_ID: Final = bytes(15) + b"\1"


class Ports(NamedTuple):
    """The ports of the leader's listeners."""

    kafka: int
    grpc: int
    http: int


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
    return f"describe: {describe(at)}"


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
    def write() -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), raw_http2.connect(LOOPBACK, port, STRANGER) as connection:
                while time.monotonic() < deadline:
                    connection.sendall(frame)
                    size = exactly(connection, 4)
                    exactly(connection, int.from_bytes(size, "big"))

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


def _create(at: Ports, count: int, name: str = "hostile-topic-name", *, validate_only: bool = True) -> str:
    topics = [pb.CreatableTopic(name=f"{name}-{n}", num_partitions=1, replication_factor=1) for n in range(count)]
    raw = pb.CreateTopicsRequest(topics=topics, validate_only=validate_only).SerializeToString()
    with grpc.insecure_channel(f"{LOOPBACK}:{at.grpc}", options=[("grpc.max_send_message_length", -1)]) as channel:
        create = channel.unary_unary(raw_http2.CREATE_TOPICS, None, pb.CreateTopicsResponse.FromString)
        try:
            outcome = create(raw, timeout=30).outcome
        except grpc.RpcError as error:
            return f"{len(raw) >> 10} KiB: {error.code().name}"  # type: ignore[attr-defined]
        return f"{len(raw) >> 10} KiB: error {outcome.error_code}"


def empty_elements(at: Ports, seconds: float = 15.0) -> str:
    """4 clients, each with 8 calls of 4 MiB in flight that hold two million empty topics, for 15 s."""
    return _flood_by_grpc(at, b"\x0a\0" * (2 << 20), seconds)


def few_elements(at: Ports, seconds: float = 15.0) -> str:
    """The same with one unknown field of 4 MiB in each call."""
    size = (4 << 20) - 16
    head = b"\xfa\x3f" + bytes((size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128, size >> 21))
    return _flood_by_grpc(at, head + bytes(size), seconds)


def _flood_by_grpc(at: Ports, raw: bytes, seconds: float) -> str:
    return _by_clients(_call_again_and_again, at.grpc, raw, 8, seconds)


def _by_clients(client: Callable[[int, bytes, int, float], None], *given: Any) -> str:
    context = multiprocessing.get_context("spawn")
    clients = [context.Process(target=client, args=given) for _ in range(4)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    return "4 clients"


def _call_again_and_again(port: int, raw: bytes, in_flight: int, seconds: float) -> None:
    options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"{LOOPBACK}:{_relay(port)}", options=options) as channel:
        create = channel.unary_unary(raw_http2.CREATE_TOPICS, None, None)
        deadline = time.monotonic() + seconds
        calls: list[grpc.Future] = []
        while time.monotonic() < deadline:
            calls = [call for call in calls if not call.done()]
            calls += [create.future(raw, timeout=30) for _ in range(in_flight - len(calls))]
            time.sleep(0.005)
        for call in calls:
            call.cancel()


def large_sessions(at: Ports, seconds: float = 15.0) -> str:
    """4 clients, each with 8 Sessions that send messages of 4 MiB: 120 calls of 16,500 empty topics each, for 15 s."""
    call = b"\x08\x01" + _length_first(10, b"\x0a\0" * 16_500)
    return _by_clients(_send_again_and_again, at.grpc, _length_first(1, call) * 120, 8, seconds)


def small_calls(at: Ports, seconds: float = 15.0) -> str:
    """The same with 8,000 calls of 250 empty topics each."""
    call = b"\x08\x01" + _length_first(10, b"\x0a\0" * 250)
    return _by_clients(_send_again_and_again, at.grpc, _length_first(1, call) * 8_000, 8, seconds)


def empty_calls(at: Ports, seconds: float = 15.0) -> str:
    """4 clients, each with 15 Sessions that send messages of 16,000 empty calls, for 15 s."""
    return _by_clients(_send_again_and_again, at.grpc, b"\x0a\0" * 16_000, 15, seconds)


def long_answers(at: Ports, seconds: float = 15.0) -> str:
    """2,000 topics; then 4 clients, each with a Session that sends messages of 4,000 calls for all topics, for 15 s."""
    made = ", ".join({_create(at, 500, f"hostile-{batch}", validate_only=False) for batch in range(4)})
    message = b"\x0a\x04\x62\x02\x18\x01" * 4_000
    return f"{made}; " + _by_clients(_send_again_and_again, at.grpc, message, 1, seconds)


def _length_first(number: int, raw: bytes) -> bytes:
    size = len(raw)
    return bytes((number << 3 | 2, size & 127 | 128, size >> 7 & 127 | 128, size >> 14)) + raw


def _send_again_and_again(port: int, raw: bytes, count: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds

    def messages() -> Iterator[bytes]:
        while time.monotonic() < deadline:
            yield raw

    def drain(session: Iterable[bytes]) -> None:
        with contextlib.suppress(grpc.RpcError):
            for _ in session:
                pass

    options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"{LOOPBACK}:{_relay(port)}", options=options) as channel:
        open_session = channel.stream_stream(raw_http2.SESSION, None, None)
        sessions = [open_session(messages(), timeout=seconds + 2) for _ in range(count)]
        threads = [threading.Thread(target=drain, args=(session,)) for session in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _relay(port: int) -> int:
    """Relay connections to a port from the stranger's address, which gRPC's clients cannot choose; returns its port."""
    listener = socket.create_server((LOOPBACK, 0))

    def accept() -> None:
        while True:
            inner, _ = listener.accept()
            outer = raw_http2.connect(LOOPBACK, port, STRANGER)
            outer.settimeout(None)
            for source, sink in ((inner, outer), (outer, inner)):
                threading.Thread(target=_pump, args=(source, sink), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return int(listener.getsockname()[1])


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 18):
            sink.sendall(data)
    for each in (source, sink):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def never_whole(at: Ports) -> str:
    """900 single calls that never send their whole message; a stranger at another address asks meanwhile."""
    peers = []
    for _ in range(9):
        peer = raw_http2.Peer(raw_http2.connect(LOOPBACK, at.grpc, STRANGER))
        peers.append(peer)
        for number in range(100):
            stream = 1 + 2 * number
            peer.connection.sendall(
                raw_http2.call(stream, raw_http2.CREATE_TOPICS) + raw_http2.part_of_message(stream, 1 << 20, 9)
            )
    _serve(peers)
    waits = []
    for _ in range(4):
        began = time.monotonic()
        other = raw_http2.Peer(raw_http2.connect(LOOPBACK, at.grpc, "127.0.0.3"))
        asked = raw_http2.call(1, "/kraft.v1.Quorum/DescribeQuorum") + raw_http2.part_of_message(1, 0, 0)
        other.connection.sendall(asked)
        while time.monotonic() - began < 20 and not other.is_answered:
            other.receive(0.01)
            _serve(peers)
        waits.append(f"{time.monotonic() - began:.1f}" if other.is_answered else "never")
        other.connection.close()
    return f"another stranger waits {', '.join(waits)} s"


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


def describe(at: Ports) -> str:
    """Ask by DescribeQuorum, once."""
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
        empty_elements,
        few_elements,
        large_sessions,
        small_calls,
        empty_calls,
        long_answers,
        never_whole,
        silent_grpc,
        refusals,
    )
}


def exactly(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes of what comes."""
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionError("closed")
        data += more
    return data
