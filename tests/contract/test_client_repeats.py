"""The Python client against real doors: what it sends again, and what it must not."""

from __future__ import annotations

import asyncio

import pytest

from quorum.api.error_codes import Error
from quorum.client import BrokerHeartbeat, Client, CreatableTopic, OutcomeUnknownError, UnavailableError
from tests.support.client_nodes import ID, active, failing, scripted_nodes
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode, served


class TestSendingAgain:
    def test_an_unknown_outcome_is_told(self) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = failing(Error.REQUEST_TIMED_OUT, "written, not seen committed")
                with pytest.raises(OutcomeUnknownError, match="written, not seen committed"):
                    await client.create_topic("t")
                with pytest.raises(OutcomeUnknownError):
                    await client.delete_topic("t")
                assert len(nodes[0].calls) == 2

        run(main())

    def test_what_is_safe_is_sent_again(self) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                for ask in (
                    lambda: client.broker_heartbeat(_heartbeat()),
                    lambda: client.describe_topics(["t"]),
                    lambda: client.create_topics([CreatableTopic(name="t")], if_not_exists=True),
                    lambda: client.delete_topics(["t"], if_exists=True),
                ):
                    nodes[0].calls.clear()
                    nodes[0].at_once = failing(Error.REQUEST_TIMED_OUT)
                    asking = asyncio.ensure_future(ask())
                    await until(lambda: len(nodes[0].calls) >= 2, what="asked again")
                    nodes[0].at_once = active
                    await asking

        run(main())

    @pytest.mark.parametrize("error", [Error.THROTTLING_QUOTA_EXCEEDED, Error.OFFSET_NOT_AVAILABLE])
    def test_where_nothing_was_done_it_is_sent_again(self, error: Error) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = failing(error)
                creating = asyncio.create_task(client.create_topic("t"))
                await until(lambda: len(nodes[0].calls) >= 2, what="asked again")
                nodes[0].at_once = active
                assert (await creating).topic_id == ID

        run(main())

    def test_a_deadline_bounds_the_whole(self) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                nodes[0].at_once = active
                await client.create_topic("s")  # the session is there
                nodes[0].at_once = None
                with pytest.raises(OutcomeUnknownError, match="no answer came in time"):
                    await client.create_topic("t", timeout_s=0.5)
                with pytest.raises(UnavailableError):
                    await client.describe_topics(["t"], timeout_s=0.2)
                deadlines = [call.context.deadline_ms for call in nodes[0].calls]
                assert all(deadline is not None for deadline in deadlines)

        run(main())

    def test_an_unanswered_call_does_not_hold_up_the_next(self) -> None:
        async def main() -> None:
            async with scripted_nodes(1) as (nodes, addresses), Client(addresses) as client:
                stuck = asyncio.create_task(client.create_topic("stuck"))
                await until(lambda: nodes[0].calls, what="the first at the node")
                nodes[0].at_once = active
                assert (await client.create_topic("t")).name == "t"
                assert not stuck.done()
                nodes[0].calls[0].respond(active(nodes[0].calls[0]))
                assert (await stuck).name == "stuck"

        run(main())


def _heartbeat() -> BrokerHeartbeat:
    return BrokerHeartbeat(broker_id=1, broker_epoch=2, current_metadata_offset=3)


class TestBrokenSession:
    def test_a_create_is_not_sent_again_and_a_heartbeat_is(self) -> None:
        async def main() -> None:
            lost = ScriptedNode()
            async with scripted_nodes(1) as (nodes, addresses):
                nodes[0].at_once = active
                async with served(lost) as address:
                    client = Client([address, *addresses])
                    creating = asyncio.create_task(client.create_topic("t"))
                    beating = asyncio.create_task(client.broker_heartbeat(_heartbeat()))
                    await until(lambda: len(lost.calls) == 2, what="both calls at the node")
                with pytest.raises(OutcomeUnknownError, match="CreateTopics was sent to"):
                    await creating
                assert not (await beating).is_fenced
                assert [type(call.request) for call in nodes[0].calls] == [BrokerHeartbeat]
                assert (await client.create_topic("next")).topic_id == ID
                await client.close()

        run(main())
