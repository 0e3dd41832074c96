"""The process at a controller's address, asked in Kafka's protocol (DescribeQuorum, DescribeCluster) and over gRPC.

Decides: what a response means. Its consequence is decided by `quorum.recovery.guards.liveness`. Two small requests are
encoded by hand here: the transport's client for Kafka's protocol is made for running nodes.

Sources: KIP-595 (DescribeQuorum, key 55, version 0), KIP-919 (DescribeCluster to controllers, key 60, version 1).
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.voters import GRPC_LISTENER, Endpoint
from quorum.recovery.guards.liveness import EndpointState, ProbeResult

_DESCRIBE_QUORUM: Final = 55
_DESCRIBE_CLUSTER: Final = 60
_CONTROLLERS: Final = 2
"""The endpoint type of controllers in DescribeCluster."""
_NOT_LEADER: Final = 6
_CLIENT: Final = b"kraft-recover"
_MOST_BYTES: Final = 1 << 20
_AT_ONCE: Final = 16


def asker(timeout_s: float) -> Callable[[Sequence[Endpoint]], Sequence[ProbeResult]]:
    """Asks many endpoints at once, each for at most about `timeout_s`."""

    def ask(endpoints: Sequence[Endpoint]) -> Sequence[ProbeResult]:
        if not endpoints:
            return ()
        found = _heard_in_kafkas_protocol(endpoints, timeout_s)
        ours = [address for address, answer in found.items() if answer is None or answer.heard is EndpointState.UNCLEAR]
        for answer in asyncio.run(_ask_ours(ours, timeout_s)) if ours else []:
            if found[answer.address] is None or answer.heard is not EndpointState.UNCLEAR:
                found[answer.address] = answer
        return tuple(answer for answer in found.values() if answer is not None)

    return ask


def _heard_in_kafkas_protocol(endpoints: Sequence[Endpoint], timeout_s: float) -> dict[str, ProbeResult | None]:
    """Return the response by address, or None if the listener there speaks gRPC.

    A user's HOST:PORT has no listener name. A response that cannot be decoded may come from a gRPC listener, too.
    """
    ours = {_address(endpoint): endpoint for endpoint in endpoints if endpoint.name == GRPC_LISTENER}
    once = list({_address(endpoint): ours.get(_address(endpoint), endpoint) for endpoint in endpoints}.values())
    with ThreadPoolExecutor(max_workers=min(_AT_ONCE, len(once))) as pool:
        answers = pool.map(lambda endpoint: _ask(endpoint, timeout_s), once)
        return dict(zip(map(_address, once), answers, strict=True))


def _address(endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{host}:{endpoint.port}"


def _ask(endpoint: Endpoint, timeout_s: float) -> ProbeResult | None:
    """Return the response at one endpoint, or None if a listener there must be asked over gRPC."""
    address = _address(endpoint)
    try:
        with socket.create_connection((endpoint.host, endpoint.port), timeout_s) as connection:
            connection.settimeout(timeout_s)
            return None if endpoint.name == GRPC_LISTENER else _ask_kafka(connection, address)
    except UnicodeError:  # a log names it
        return ProbeResult(address=address, heard=EndpointState.NOBODY, said=f"{endpoint.host!r} is no name of a host")
    except OSError as error:
        said = error.strerror or str(error) or "no answer"
        is_silent = not isinstance(error, ConnectionRefusedError)
        return ProbeResult(address=address, heard=EndpointState.NOBODY, said=said, is_silent=is_silent)


async def _ask_ours(addresses: Sequence[str], timeout_s: float) -> list[ProbeResult]:
    """Ask all addresses in one loop: gRPC has one completion queue in a process."""
    return list(await asyncio.gather(*(_ask_one_of_ours(address, timeout_s) for address in addresses)))


async def _ask_one_of_ours(address: str, timeout_s: float) -> ProbeResult:
    from quorum.client.errors import ClientError  # noqa: PLC0415  (gRPC, only where a node of ours may be)
    from quorum.client.quorum_status import describe_at  # noqa: PLC0415

    try:
        found = await describe_at(address, timeout_s)
    except ClientError as error:
        return ProbeResult(address=address, heard=EndpointState.UNCLEAR, said=str(error))
    return ProbeResult(
        address=address,
        heard=EndpointState.LEADER if found.is_from_leader else EndpointState.CONTROLLER,
        said=f"node {found.answered_by} of cluster {found.cluster_id}, epoch {found.leader_epoch}",
        node_id=found.answered_by,
        cluster_id=found.cluster_id,
        speaks_grpc=True,
    )


def _ask_kafka(connection: socket.socket, address: str) -> ProbeResult:
    try:
        error_code, leader_id, epoch = _describe_quorum(connection)
    except (OSError, ValueError, IndexError, struct.error) as error:
        return ProbeResult(
            address=address, heard=EndpointState.UNCLEAR, said=f"not Kafka's protocol in the clear: {error}"
        )
    if error_code not in (0, _NOT_LEADER):
        return ProbeResult(
            address=address, heard=EndpointState.UNCLEAR, said=f"DescribeQuorum ended with error {error_code}"
        )
    try:
        cluster_id = _describe_cluster(connection)
    except (OSError, ValueError, IndexError, struct.error):
        cluster_id = None  # unknown: then it counts as this cluster's
    leads = error_code == 0
    said = f"leader {leader_id} of epoch {epoch}" if leads else "it does not lead"
    return ProbeResult(
        address=address,
        heard=EndpointState.LEADER if leads else EndpointState.CONTROLLER,
        said=f"{said}, cluster {cluster_id}" if cluster_id else said,
        node_id=leader_id if leads else None,
        cluster_id=cluster_id,
    )


def _describe_quorum(connection: socket.socket) -> tuple[int, int, int]:
    """Return the error code, the leader id and the epoch."""
    topic = METADATA_TOPIC_NAME.encode()
    body = bytes([2, len(topic) + 1]) + topic + bytes([2]) + struct.pack(">i", 0) + bytes(3)
    answer = _call(connection, _DESCRIBE_QUORUM, 0, body)
    error_code = answer.int16()
    if error_code != 0:
        return error_code, -1, -1
    topics = answer.uvarint()
    if topics != 2:
        raise ValueError("it names no metadata topic")
    answer.skip(answer.uvarint() - 1)
    if answer.uvarint() != 2:
        raise ValueError("it names no partition")
    answer.skip(4)
    error_code = answer.int16()
    return error_code, answer.int32(), answer.int32()


def _describe_cluster(connection: socket.socket) -> str:
    answer = _call(connection, _DESCRIBE_CLUSTER, 1, bytes([0, _CONTROLLERS, 0]))
    answer.skip(4)
    if answer.int16() != 0:
        raise ValueError("it does not say")
    answer.skip(max(0, answer.uvarint() - 1))
    answer.skip(1)
    return answer.take(answer.uvarint() - 1).decode()


class _Reader:
    """A response's bytes, read from the front.

    Raises:
        ValueError: the bytes end too early.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        if count < 0 or self._at + count > len(self._data):
            raise ValueError("the answer is too short")
        self._at += count
        return self._data[self._at - count : self._at]

    def skip(self, count: int) -> None:
        self.take(count)

    def int16(self) -> int:
        return int.from_bytes(self.take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def uvarint(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7


def _call(connection: socket.socket, key: int, version: int, body: bytes) -> _Reader:
    """Send one request with a header of version 2. Return the response behind its header of version 1."""
    correlation = key
    head = struct.pack(">hhih", key, version, correlation, len(_CLIENT)) + _CLIENT + b"\x00"
    connection.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
    size = int.from_bytes(_receive(connection, 4), "big", signed=True)
    if not 5 <= size <= _MOST_BYTES:
        raise ValueError(f"an answer of {size} bytes")
    answer = _Reader(_receive(connection, size))
    if answer.int32() != correlation:
        raise ValueError("an answer to another request")
    answer.skip(answer.uvarint())
    return answer


def _receive(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        data = connection.recv(count - len(parts))
        if not data:
            raise ValueError("the connection was closed")
        parts += data
    return bytes(parts)
