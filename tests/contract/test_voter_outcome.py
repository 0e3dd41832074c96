"""A voter change whose outcome the leader does not report: it is done once the committed voters show it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.api.quorum_description import QuorumDescription, ReplicaDescription
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from quorum.client import Client, OutcomeUnknownError, RefusedError
from tests.support.loop import run, until
from tests.support.scripted_node import NODE_ID, ScriptedNode, served

_MAY_STAND = "it is in the log"
_FOUR = ReplicaKey(node_id=NodeId(4), directory_id=DirectoryId(bytes([4]) * 16))
_ADD = AddRaftVoterRequest(voter=_FOUR, endpoints=(Endpoint(name="CONTROLLER", host="c4.example", port=9093),))
_REMOVE = RemoveRaftVoterRequest(voter=_FOUR)


class _Leader(ScriptedNode):
    """A leader that reports its log's end, and counts the requests for the voters."""

    def __init__(self, *others: ReplicaKey) -> None:
        super().__init__()
        self.descriptions = 0
        self.has(*others, end=12)

    def has(self, *others: ReplicaKey, end: int) -> None:
        """Let these vote beside it, in a log that ends at `end`."""
        own = ReplicaKey(node_id=NodeId(NODE_ID), directory_id=DirectoryId(bytes([7]) * 16))
        self.voters = (_replica(own, end), *(_replica(key, -1) for key in others))

    def describe_quorum(self) -> QuorumDescription:
        """See the port."""
        self.descriptions += 1
        return super().describe_quorum()


def _replica(key: ReplicaKey, end: int) -> ReplicaDescription:
    return ReplicaDescription(
        replica=key, log_end_offset=Offset(end), last_fetch_timestamp_ms=-1, last_caught_up_timestamp_ms=-1
    )


@asynccontextmanager
async def _changing(
    node: _Leader, request: AddRaftVoterRequest | RemoveRaftVoterRequest, timeout_s: float
) -> AsyncIterator[asyncio.Task[Offset]]:
    """Start a change that the leader has just reported as appended at offset 12, or as unknown."""
    answers = AddRaftVoterResponse if isinstance(request, AddRaftVoterRequest) else RemoveRaftVoterResponse
    unknown = answers(
        error=Error.REQUEST_TIMED_OUT, error_message=_MAY_STAND, leader_epoch=Epoch(3), voters_offset=Offset(12)
    )
    async with served(node) as address, Client(address) as client:
        changing = asyncio.create_task(client.change_voters(request, timeout_s=timeout_s))
        await until(lambda: node.peers, what="the request at the leader")
        node.answer_peer(1, unknown)
        yield changing


async def _look_again(node: _Leader) -> None:
    """Wait until the voters were requested and the response was taken, which another request shows."""
    asked = node.descriptions
    await until(lambda: node.descriptions >= asked + 2, what="another look at the voters")


@pytest.mark.parametrize("request_", [_ADD, _REMOVE])
def test_a_change_is_done_once_the_voters_show_it_committed(
    request_: AddRaftVoterRequest | RemoveRaftVoterRequest,
) -> None:
    before, after = ((), (_FOUR,)) if request_ is _ADD else ((_FOUR,), ())

    async def main() -> None:
        node = _Leader(*before)
        async with _changing(node, request_, timeout_s=60.0) as changing:
            await _look_again(node)
            node.has(*after, end=13)
            await _look_again(node)
            assert not changing.done(), "it was taken for done before it was committed"
            node.high_watermark = Offset(13)
            assert await changing == -1
            assert not node.peers, "it was asked for twice"

    run(main())


def test_what_a_leader_of_another_epoch_committed_does_not_show_it() -> None:
    async def main() -> None:
        node = _Leader()
        async with _changing(node, _ADD, timeout_s=60.0) as changing:
            node.has(_FOUR, end=13)
            await _look_again(node)
            node.epoch, node.high_watermark = Epoch(5), Offset(13)
            node.has(_FOUR, end=15)
            await _look_again(node)
            assert not changing.done()
            node.high_watermark = Offset(15)
            await changing

    run(main())


def test_it_is_unknown_at_once_where_a_later_leader_has_committed_without_it() -> None:
    async def main() -> None:
        node = _Leader()
        node.high_watermark = Offset(-1)
        async with _changing(node, _ADD, timeout_s=60.0) as changing:
            node.epoch = Epoch(4)
            await _look_again(node)
            assert not changing.done(), "a new leader may have it in its log until it has committed"
            node.high_watermark = Offset(13)
            with pytest.raises(OutcomeUnknownError, match=_MAY_STAND):
                await asyncio.wait_for(changing, 30.0)

    run(main())


def test_it_stays_unknown_where_the_voters_do_not_show_it_in_time() -> None:
    other_disk = msgspec.structs.replace(_FOUR, directory_id=DirectoryId(bytes([5]) * 16))

    async def main() -> None:
        node = _Leader(other_disk)
        async with _changing(node, _ADD, timeout_s=5.0) as changing:
            with pytest.raises(OutcomeUnknownError, match=_MAY_STAND):
                await changing
            assert node.descriptions > 2

    run(main())


def test_of_a_dry_run_the_voters_show_nothing() -> None:
    async def main() -> None:
        node = _Leader(_FOUR)
        node.high_watermark = Offset(12)
        dry = msgspec.structs.replace(_ADD, validate_only=True)
        async with _changing(node, dry, timeout_s=60.0) as changing:
            with pytest.raises(OutcomeUnknownError, match=_MAY_STAND):
                await changing

    run(main())


_NOT_YET = AddRaftVoterResponse(
    error=Error.REQUEST_TIMED_OUT, error_message="ask again", leader_epoch=Epoch(3), voters_offset=Offset(-1)
)
_DRY = msgspec.structs.replace(_ADD, validate_only=True)


def test_a_dry_run_asks_again_while_the_leader_has_committed_nothing() -> None:
    async def main() -> None:
        node = _Leader()
        node.high_watermark = Offset(-1)
        async with served(node) as address, Client(address) as client:
            asking = asyncio.create_task(client.change_voters(_DRY, timeout_s=60.0))
            await until(lambda: 1 in node.peers, what="the request at the new leader")
            node.answer_peer(1, _NOT_YET)
            await until(lambda: 2 in node.peers, what="the second request")
            node.answer_peer(2, msgspec.structs.replace(_NOT_YET, error=Error.NONE))
            assert await asking == -1

    run(main())


def test_a_dry_run_is_refused_at_once_by_a_leader_that_has_committed() -> None:
    async def main() -> None:
        node = _Leader()
        async with served(node) as address, Client(address) as client:
            asking = asyncio.create_task(client.change_voters(_DRY, timeout_s=60.0))
            await until(lambda: 1 in node.peers, what="the request at the leader")
            node.answer_peer(1, _NOT_YET)
            with pytest.raises(RefusedError, match="ask again"):
                await asking
            assert not node.peers

    run(main())
