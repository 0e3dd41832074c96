"""One of our controllers gets every request that a real Kafka cluster's controllers received in a recorded hour.

It must parse the frames of Kafka 4.3's brokers, tools and controllers. kio must parse every response to the last byte.
Most responses are rejections, because the recorded epochs are another cluster's. None may be an internal error.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from quorum.cli.demo.cluster import LOOPBACK
from tests.support.kafka_requests import api_versions
from tests.support.kafka_wire import KafkaClient, connected_to
from tests.support.local_cluster import Cluster

_FRAMES: Final = Path(__file__).parents[1] / "fixtures" / "wire" / "requests.jsonl.gz"
_NODE_ID: Final = 9
"""Of none that asks in the recording."""
_CLUSTER_ID: Final = "MkU3OEVBNTcwNTJENDM2Qg"
_AT_ONCE: Final = 100
_BETWEEN_CONTROLLERS: Final = frozenset({"Vote", "BeginQuorumEpoch", "EndQuorumEpoch"})
"""These move epochs: they come last."""
_OURS: Final = ("unknown_server_error", "corrupt_message", "unsupported_version", "invalid_request")
"""Errors that would say that we cannot read what Kafka writes."""


def _recorded() -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in gzip.decompress(_FRAMES.read_bytes()).splitlines()]
    return sorted(lines, key=lambda line: line["api"] in _BETWEEN_CONTROLLERS)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path / "cluster", controllers=(_NODE_ID,), agents=()) as cluster:
        cluster.cluster_id = _CLUSTER_ID
        cluster.format("--release-version", "4.3")
        cluster.start()
        yield cluster


def test_every_recorded_request_is_answered(cluster: Cluster) -> None:
    lines = _recorded()
    port = cluster.controllers[_NODE_ID].ports["CONTROLLER"]
    answers = asyncio.run(_play(lines, port))
    answered = Counter(line["api"] for line in lines)
    assert min(answered.values()) >= 1
    assert answered["Fetch"] > _AT_ONCE
    for line, answer in zip(lines, answers, strict=True):
        said = repr(answer).lower()
        # A leader that is no voter here is refused as an invalid request.
        wrong = _OURS[:-1] if line["api"] in _BETWEEN_CONTROLLERS else _OURS
        assert not [error for error in wrong if f"errorcode.{error}" in said], (line["api"], answer)
    assert cluster.controllers[_NODE_ID].is_running


async def _play(lines: list[dict[str, Any]], port: int) -> list[Any]:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(line: dict[str, Any]) -> Any:
        async with gate, connected_to(LOOPBACK, port) as client:
            return await _answer(client, line)

    split = sum(line["api"] not in _BETWEEN_CONTROLLERS for line in lines)
    answers = await asyncio.gather(*map(one, lines[:split]))
    for line in lines[split:]:
        answers.append(await one(line))
    async with connected_to(LOOPBACK, port) as client:
        assert await client.ask(api_versions(4))
    return answers


async def _answer(client: KafkaClient, line: dict[str, Any]) -> Any:
    frame = base64.b64decode(line["request"])
    await client.send_bytes(frame)
    return await client.answer(line["key"], line["version"], int.from_bytes(frame[8:12], "big"))
