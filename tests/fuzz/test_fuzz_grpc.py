"""Mutated gRPC messages at a running controller: no crash, hang, traceback, election or unbounded growth.

`FUZZ_SEED=n` repeats a run; `LONG=1` makes it fifty times as long. Requests among controllers come last: see
`test_fuzz_frames`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Sequence

import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from kraft.v1 import controller_pb2, quorum_pb2
from quorum.cli.demo.cluster import Node
from quorum.client.client import Client
from quorum.server.grpc.callers import STREAM_GONE
from quorum.transport.channel import open_channel
from tests.support.any_message import any_message
from tests.support.mutations import mutate
from tests.support.under_attack import FUZZ_COUNT, FUZZ_TIMEOUT_S, attack_with_mutations

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


def _messages(draw: random.Random) -> list[_Sent]:
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
    for _ in range(FUZZ_COUNT):
        method = draw.choice(methods)
        found.append(_Sent(method, mutate(draw.choice(seeds[method]), draw, others)))
    return found


@pytest.mark.campaign
@pytest.mark.timeout(FUZZ_TIMEOUT_S)
def test_mutated_messages(controller: Node) -> None:
    address = controller.grpc_address
    attack_with_mutations(
        controller, _messages, lambda sent: _send(sent, address), lambda each: each.is_among_controllers
    )


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
