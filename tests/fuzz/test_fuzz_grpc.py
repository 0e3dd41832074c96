"""Mutated gRPC messages at a running controller: no crash, hang, traceback, election or unbounded growth.

`FUZZ_SEED=n` repeats a run; `LONG=1` makes it fifty times as long. Requests among controllers come last: see
`test_fuzz_frames`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from kraft.v1 import controller_pb2, quorum_pb2
from quorum.cli.demo.cluster import Cluster
from quorum.client.client import Client
from quorum.server.grpc.callers import STREAM_GONE
from quorum.transport.channel import open_channel
from tests.support.any_message import any_message
from tests.support.fresh_seed import fresh_seed
from tests.support.mutations import mutate
from tests.support.standalone import leader_of, standalone, start
from tests.support.under_attack import UnderAttack, refused

COUNT = 100_000 if os.environ.get("LONG") else 2_000
_AT_ONCE = 64
_WAIT_S = 0.2
_SEEDS_OF_A_METHOD = 8
_SERVICES = (
    controller_pb2.DESCRIPTOR.services_by_name["Controller"],
    quorum_pb2.DESCRIPTOR.services_by_name["Quorum"],
)
_AMONG_CONTROLLERS = frozenset(
    {
        "Vote",
        "BeginQuorumEpoch",
        "EndQuorumEpoch",
        "TransferLeadership",
        "AddRaftVoter",
        "RemoveRaftVoter",
        "UpdateRaftVoter",
        "UpgradeKRaftVersion",
    }
)


class _Sent:
    """One message of one method."""

    def __init__(self, method: MethodDescriptor, raw: bytes) -> None:
        self.path = f"/{method.containing_service.full_name}/{method.name}"
        self.raw = raw
        self.is_among_controllers = method.name in _AMONG_CONTROLLERS


def _messages(seed: int) -> list[_Sent]:
    draw = random.Random(seed)
    seeds = {
        method: [
            any_message(GetMessageClass(method.input_type), draw).SerializeToString() for _ in range(_SEEDS_OF_A_METHOD)
        ]
        for service in _SERVICES
        for method in service.methods
    }
    others = [raw for raws in seeds.values() for raw in raws if raw]
    methods = list(seeds)
    found = []
    for _ in range(COUNT):
        method = draw.choice(methods)
        found.append(_Sent(method, mutate(draw.choice(seeds[method]), draw, others)))
    return found


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with standalone(tmp_path / "cluster") as cluster:
        start(cluster.controllers[1])
        leader_of(cluster)
        yield cluster


@pytest.mark.campaign
@pytest.mark.timeout(7200 if os.environ.get("LONG") else 600)
def test_mutated_messages(cluster: Cluster) -> None:
    seed = fresh_seed("FUZZ_SEED")
    print(f"\nFUZZ_SEED={seed}")
    messages = _messages(seed)
    node = cluster.controllers[1]
    before = UnderAttack(node)
    asyncio.run(_send([sent for sent in messages if not sent.is_among_controllers], node.grpc_address))
    before.check()
    assert any("malformed" in name for name in refused(node))
    asyncio.run(_send([sent for sent in messages if sent.is_among_controllers], node.grpc_address))
    before.check(elections=True)


async def _send(messages: Sequence[_Sent], address: str) -> None:
    gate = asyncio.Semaphore(_AT_ONCE)
    async with open_channel(address) as channel:

        async def send(sent: _Sent) -> None:
            """Every method may be called as a stream. Without an answer in time, the call is given up."""
            async with gate:
                call = channel.stream_stream(sent.path)()
                with contextlib.suppress(TimeoutError, *STREAM_GONE):
                    await call.write(sent.raw)
                    await call.done_writing()
                    async with asyncio.timeout(_WAIT_S):
                        await call.read()
                call.cancel()

        await asyncio.gather(*map(send, messages))
    async with Client([address]) as client:
        assert (await client.describe_quorum()).leader_id is not None
