"""The client takes the leader's description of the quorum, even if the first controller does not know the leader."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.api.quorum_description import QuorumDescription, ReplicaDescription
from quorum.cli.main import run as kraft
from quorum.client import Client
from quorum.client.quorum_status import QuorumStatus
from tests.support.client_nodes import scripted_nodes
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode, served


@asynccontextmanager
async def _voters(count: int) -> AsyncIterator[tuple[list[ScriptedNode], list[str]]]:
    """Serve nodes 1 to `count`: each knows all endpoints, but no leader."""
    async with scripted_nodes(count) as (nodes, addresses):
        voters = tuple(_voter(node_id, address) for node_id, address in enumerate(addresses, start=1))
        for node_id, node in enumerate(nodes, start=1):
            node.node_id, node.leader_id, node.voters = node_id, None, voters
        yield nodes, addresses


def _voter(node_id: int, address: str) -> ReplicaDescription:
    host, _, port = address.rpartition(":")
    return ReplicaDescription(
        replica=ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes([node_id]) * 16)),
        log_end_offset=Offset(-1),
        last_fetch_timestamp_ms=-1,
        last_caught_up_timestamp_ms=-1,
        endpoints=(Endpoint(name="GRPC", host=host, port=int(port)),),
    )


def _knows(node: ScriptedNode, leader_id: int | None, epoch: int) -> None:
    node.leader_id, node.epoch = leader_id, Epoch(epoch)


async def _described(addresses: list[str]) -> QuorumStatus:
    async with Client(addresses) as client:
        return await client.describe_quorum()


def test_an_old_leader_that_names_a_newer_one_is_believed() -> None:
    async def main() -> None:
        async with _voters(4) as (nodes, addresses):
            _knows(nodes[0], 2, 3)
            _knows(nodes[1], 3, 4)
            _knows(nodes[2], 4, 5)
            _knows(nodes[3], 4, 5)
            status = await _described(addresses[:1])
            assert (status.answered_by, status.leader_id, status.leader_epoch) == (4, 4, 5)

    run(main())


def test_the_one_with_the_higher_epoch_is_believed_where_it_knows_no_leader() -> None:
    async def main() -> None:
        async with _voters(2) as (nodes, addresses):
            _knows(nodes[0], 2, 3)
            _knows(nodes[1], None, 4)
            status = await _described(addresses[:1])
            assert (status.answered_by, status.leader_id, status.leader_epoch) == (2, -1, 4)

    run(main())


@pytest.mark.parametrize("epoch", [2, 3])
def test_those_who_name_each_other_are_asked_once(epoch: int) -> None:
    async def main() -> None:
        async with _voters(2) as (nodes, addresses):
            _knows(nodes[0], 2, 3)
            _knows(nodes[1], 1, epoch)
            status = await _described(addresses[:1])
            assert status.leader_epoch == 3

    run(main())


class _Counting(ScriptedNode):
    """A node that knows no leader, and counts its requests."""

    asked = 0

    def describe_quorum(self) -> QuorumDescription:
        """See the port."""
        self.asked += 1
        return super().describe_quorum()


def test_where_nobody_is_elected_the_last_that_was_told_is_told() -> None:
    """This holds even if the node that named the leader has gone meanwhile."""

    async def main() -> None:
        node = _Counting()
        _knows(node, None, 3)
        async with served(node) as address, Client(address) as client:
            describing = asyncio.create_task(client.describe_quorum(until=lambda status: status.is_from_leader))
            await until(lambda: node.asked >= 2, what="another look")
        assert (await describing).leader_epoch == 3

    run(main())


class _Elected(ScriptedNode):
    """A node that leads from its first request on."""

    def describe_quorum(self) -> QuorumDescription:
        """See the port."""
        before = super().describe_quorum()
        _knows(self, self.node_id, 4)
        return before


def test_the_command_waits_for_an_election(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        node = _Elected()
        _knows(node, None, 3)
        async with served(node) as address:
            words = ("quorum", "describe", "--bootstrap-controller", address, "-o", "json")
            assert await asyncio.to_thread(kraft, words) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["answered_by"], said["status"]["leader_id"], said["status"]["leader_epoch"]) == (7, 7, 4)

    run(main())
