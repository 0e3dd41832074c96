"""Mutated requests of Kafka's protocol at a running controller: no crash, hang, traceback, election, growth.

`FUZZ_SEED=n` repeats a run; `LONG=1` makes it fifty times as long. Valid requests among controllers change epochs,
because no caller proves its identity yet. They come last, and elections are not asserted of them.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from quorum.cli.demo.cluster import LOOPBACK, Node
from tests.support.kafka_requests import api_versions
from tests.support.kafka_wire import connected_to
from tests.support.mutations import mutate
from tests.support.under_attack import FUZZ_COUNT, FUZZ_TIMEOUT_S, attack_with_mutations

_AT_ONCE = 64
_WAIT_S = 0.05
"""For an answer: many mutations announce more than they send."""
_FRAMES = Path(__file__).parents[1] / "fixtures" / "wire" / "requests.jsonl.gz"
_AMONG_CONTROLLERS = frozenset({52, 53, 54, 80, 81, 82})
_MOST_SEEDS_OF_AN_API = 5


def _seeds() -> list[bytes]:
    """Requests that real brokers, tools and controllers sent, without their lengths; a few of each API."""
    found: dict[int, list[bytes]] = {}
    for line in gzip.decompress(_FRAMES.read_bytes()).splitlines():
        recorded = json.loads(line)
        of_api = found.setdefault(recorded["key"], [])
        if len(of_api) < _MOST_SEEDS_OF_AN_API:
            of_api.append(base64.b64decode(recorded["request"])[4:])
    return [frame for frames in found.values() for frame in frames]


def _mutated(draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one request with its length; the length is wrong in one of ten."""
    body = mutate(draw.choice(seeds), draw, seeds)
    size = len(body) if draw.random() < 0.9 else draw.choice((0, 7, len(body) + 1, 2**31 - 1, -1, len(body) // 2))
    return size.to_bytes(4, "big", signed=True) + body


@pytest.mark.campaign
@pytest.mark.timeout(FUZZ_TIMEOUT_S)
def test_mutated_frames(controller: Node) -> None:
    port = controller.ports["CONTROLLER"]
    attack_with_mutations(controller, _frames, lambda sent: _send(sent, port), _is_among_controllers)


def _frames(draw: random.Random) -> list[bytes]:
    seeds = _seeds()
    return [_mutated(draw, seeds) for _ in range(FUZZ_COUNT)]


def _is_among_controllers(frame: bytes) -> bool:
    return int.from_bytes(frame[4:6], "big", signed=True) in _AMONG_CONTROLLERS


async def _send(frames: Sequence[bytes], port: int) -> None:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def send(frame: bytes) -> None:
        async with gate:
            with contextlib.suppress(TimeoutError, ConnectionError, asyncio.IncompleteReadError):
                async with connected_to(LOOPBACK, port) as client:
                    await client.send_bytes(frame)
                    async with asyncio.timeout(_WAIT_S):
                        await client.frame()

    await asyncio.gather(*map(send, frames))
    async with connected_to(LOOPBACK, port) as client:
        assert (await client.ask(api_versions(4))).error_code.value == 0
