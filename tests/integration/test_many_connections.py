"""Ten thousand idle connections, slow writers and slow readers at one controller: everyone else is served on."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import pytest

from benchmarks.side import resident_mb
from quorum.cli.demo.cluster import LOOPBACK, Cluster
from tests.support.kafka_requests import api_versions, describe_quorum
from tests.support.kafka_wire import KafkaClient, connected_to, request_bytes, written
from tests.support.standalone import leader_of, standalone, start

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

_WANTED: Final = 10_000
_PROCESSES: Final = 2
_FILES_OF_ITS_OWN: Final = 1_200
"""What a controller keeps for its log and the other listener, and a client's process for itself."""
_SLOW: Final = 100
_GROWN_MB: Final = 250.0
"""What is allowed to all of them together: 64 MB of requests and 128 of answers, and the connections themselves."""


class _Idle:
    """One process of clients."""

    def __init__(self, port: int, count: int) -> None:
        words = [sys.executable, "-m", "tests.support.idle_clients", LOOPBACK, str(port), str(count)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self) -> None:
        """Ask, on every connection."""
        _pipe(self.process.stdin).write("ask\n")
        _pipe(self.process.stdin).flush()

    def answered(self) -> int:
        """How many were answered; waits for that."""
        return int(_pipe(self.process.stdout).readline())


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with standalone(tmp_path / "cluster") as cluster:
        start(cluster.controllers[1])
        leader_of(cluster)  # it listens before it leads, and describes nothing until then
        yield cluster


def test_ten_thousand_connections(cluster: Cluster, record_property: pytest.RecordProperty) -> None:
    node = cluster.controllers[1]
    assert node.process is not None
    count = min(_WANTED, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - _FILES_OF_ITS_OWN)
    port = node.ports["CONTROLLER"]
    asyncio.run(_serve(port))
    before_mb = resident_mb(node.process.pid)
    with contextlib.ExitStack() as stack:
        idle = [_Idle(port, count // _PROCESSES) for _ in range(_PROCESSES)]
        for each in idle:
            stack.callback(each.process.wait)
            stack.callback(each.process.kill)
        for _ in ("as they come", "and again, all at once"):
            for each in idle:
                each.tell()
            assert [each.answered() for each in idle] == [count // _PROCESSES] * _PROCESSES
        asyncio.run(_beside_slow_ones(port))
        after_mb = resident_mb(node.process.pid)
    print(f"{count} connections: {before_mb:.0f} MB before, {after_mb:.0f} MB with them")
    record_property("connections", count)
    assert after_mb - before_mb < _GROWN_MB
    assert node.is_running


async def _beside_slow_ones(port: int) -> None:
    """Check that a client is served although others send half a request or never read their responses."""
    asked = request_bytes(18, 3, written(api_versions(3)))
    async with contextlib.AsyncExitStack() as stack:
        slow = [await stack.enter_async_context(connected_to(LOOPBACK, port)) for _ in range(_SLOW)]
        for index, client in enumerate(slow):
            await client.send_bytes(asked[:-5] if index % 2 else asked * 50)
        await _serve(port)


async def _serve(port: int) -> None:
    async with connected_to(LOOPBACK, port) as client:
        await _ask(client)


async def _ask(client: KafkaClient) -> None:
    said = await client.ask(describe_quorum(2))
    assert said.topics[0].partitions[0].leader_id == 1
