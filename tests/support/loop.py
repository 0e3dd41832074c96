"""Runs a test's coroutine in the event loop that the processes use, and waits for conditions with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import uvloop

from quorum.transport.grpc.event_loop import ServerLoop

T = TypeVar("T")
_STEP_S = 0.002


def run(main: Coroutine[Any, Any, T], *, deadline_s: float = 90.0) -> T:
    """Run the coroutine to its end, within the deadline."""

    async def bounded() -> T:
        async with asyncio.timeout(deadline_s):
            return await main

    return uvloop.run(bounded(), loop_factory=ServerLoop)


async def until(holds: Callable[[], object], *, what: str, deadline_s: float = 30.0) -> None:
    """Let the loop run until the condition holds; fail the test with `what` after the deadline."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + deadline_s
    while not holds():
        if loop.time() >= deadline:
            raise AssertionError(f"after {deadline_s:g} s still not: {what}")
        await asyncio.sleep(_STEP_S)
