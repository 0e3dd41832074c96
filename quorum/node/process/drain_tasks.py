"""The last thing before a node's loop ends: what others still have under way may come to its end.

Decides: how long that is waited for. Must not know: whose tasks they are.
"""

from __future__ import annotations

import asyncio
from typing import Final

_PATIENCE_S: Final = 0.5


async def settle() -> None:
    """Wait a moment for all other tasks of the running loop.

    A call that gRPC's server has ended is a task for some turns more; cancelled together with the loop, gRPC prints a
    traceback of it, which an operator must not read after a clean stop.
    """
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=_PATIENCE_S)
