"""An agent's tasks end when they are cancelled, also in the turn of the loop in which they have something to do."""

from __future__ import annotations

import asyncio

import pytest

from broker_agent.agent import wait_for_event
from tests.support.loop import run


@pytest.mark.parametrize("turns", range(6))
def test_a_task_that_is_cancelled_as_its_event_is_set_ends(turns: int) -> None:
    async def main() -> None:
        event = asyncio.Event()

        async def work() -> None:
            while True:
                await wait_for_event(event, 60)
                event.clear()

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        event.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=10)
        assert done == {task}
        assert task.cancelled()

    run(main())


def test_it_returns_if_the_event_was_set() -> None:
    async def main() -> list[bool]:
        event = asyncio.Event()
        before = await wait_for_event(event, 0)
        event.set()
        return [before, await wait_for_event(event, 0), await wait_for_event(event, None)]

    assert run(main()) == [False, True, True]
