"""What the gRPC doors need of gRPC: who calls, when a stream is gone, how its tasks end."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import grpc

from metadata_log.voters import GRPC_LISTENER
from quorum.node.process.grpc_guard import host_of
from quorum.server.node import Caller, Node

STREAM_GONE: Final = (grpc.aio.AioRpcError, grpc.aio.InternalError, asyncio.InvalidStateError)
"""What reading from or writing to a stream raises when the other side is gone."""


def caller_of(context: Any, node: Node) -> Caller:
    """Return the caller of a gRPC method."""
    return Caller(host=host_of(context.peer()), listener=GRPC_LISTENER, authorizer=node.authorizer)


async def end_tasks(*tasks: asyncio.Task[None]) -> None:
    """Cancel the tasks and wait for them; what one of them failed with is raised, unless the stream is just gone."""
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(ended, Exception) and not isinstance(ended, STREAM_GONE):
            raise ended
