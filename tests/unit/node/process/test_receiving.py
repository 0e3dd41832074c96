"""Single requests on their way in: few at a time, and addresses take turns."""

from __future__ import annotations

import asyncio

import pytest

from quorum.node.process.receiving import CallRejectedError, Receiving
from tests.support.loop import run, until


class _Call:
    """A call whose request is whole once `whole` is set."""

    def __init__(self, receiving: Receiving, address: str) -> None:
        self.whole = asyncio.Event()
        self.is_read = False
        self.task = asyncio.ensure_future(receiving.read(self, address))

    async def read(self) -> bytes:
        self.is_read = True
        await self.whole.wait()
        return b"whole"


async def _calls(receiving: Receiving, addresses: str) -> list[_Call]:
    calls = [_Call(receiving, address) for address in addresses]
    await asyncio.sleep(0)
    return calls


def test_addresses_take_turns() -> None:
    async def main() -> str:
        receiving = Receiving(most=1, slow_s=3600.0)
        addresses = "aaaabbc"
        calls = await _calls(receiving, addresses)
        order = ""
        while len(order) < len(calls):
            (reading,) = [at for at, call in enumerate(calls) if call.is_read and not call.whole.is_set()]
            order += addresses[reading]
            calls[reading].whole.set()
            await calls[reading].task
            await asyncio.sleep(0)
        assert (receiving.received, receiving.waiting) == (0, 0)
        return order

    assert run(main()) == "aabcaba"


def test_the_newest_of_the_address_that_has_most_is_refused() -> None:
    async def main() -> list[int]:
        receiving = Receiving(most=1, slow_s=3600.0, most_waiting=3)
        calls = await _calls(receiving, "abaac")
        await until(lambda: any(call.task.done() for call in calls), what="one refused")
        for call in calls:
            call.whole.set()
        found = await asyncio.gather(*(call.task for call in calls), return_exceptions=True)
        assert all(outcome == b"whole" or isinstance(outcome, CallRejectedError) for outcome in found)
        return [at for at, outcome in enumerate(found) if isinstance(outcome, CallRejectedError)]

    assert run(main()) == [3]


def test_slow_ones_of_the_address_that_has_most_make_room() -> None:
    async def main() -> None:
        receiving = Receiving(most=3, slow_s=0.01)
        calls = await _calls(receiving, "baac")
        with pytest.raises(CallRejectedError, match="not whole in time"):
            await calls[1].task
        await until(lambda: calls[3].is_read, what="the last to be received")
        assert not calls[0].task.done()
        assert not calls[2].task.done()
        for call in calls:
            call.whole.set()
        assert await asyncio.gather(calls[0].task, calls[2].task, calls[3].task) == [b"whole"] * 3

    run(main())


def test_a_call_that_ends_when_it_is_given_a_place_passes_it_on() -> None:
    async def main() -> None:
        receiving = Receiving(most=1, slow_s=3600.0)
        calls = await _calls(receiving, "abc")
        calls[0].whole.set()
        await until(lambda: receiving.waiting == 1, what="the second to be given the place")
        calls[1].task.cancel()
        await until(lambda: calls[2].is_read, what="the third to be received")
        calls[2].whole.set()
        assert await calls[2].task == b"whole"
        assert (receiving.received, receiving.waiting) == (0, 0)

    run(main())


def test_a_call_that_waits_and_ends_gives_its_turn_up() -> None:
    async def main() -> None:
        receiving = Receiving(most=1, slow_s=3600.0)
        calls = await _calls(receiving, "ab")
        calls[1].task.cancel()
        await until(lambda: receiving.waiting == 0, what="the second forgotten")
        calls[0].whole.set()
        assert await calls[0].task == b"whole"

    run(main())
