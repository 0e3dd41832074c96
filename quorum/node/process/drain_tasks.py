"""The end of a node's event loop: other tasks may finish before it closes.

Decides: how long to wait for them. Must not know: the purpose of the tasks.
"""

from __future__ import annotations

import asyncio
from typing import Final

_PATIENCE_S: Final = 0.5


async def settle() -> None:
    """Wait a moment for all other tasks of the running loop.

    A call that gRPC's server has ended remains a task for some turns. If it is cancelled together with the loop, gRPC
    prints a traceback. An operator must not see one after a clean stop.
    """
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=_PATIENCE_S)
