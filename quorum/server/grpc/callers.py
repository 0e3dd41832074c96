"""The gRPC details that the services share: the client's identity, the errors of a broken stream, the end of tasks."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import grpc

from metadata_log.voters import GRPC_LISTENER
from quorum.node.process.grpc_guard import host_of
from quorum.server.node import ClientIdentity, Node

STREAM_GONE: Final = (grpc.aio.AioRpcError, grpc.aio.InternalError, asyncio.InvalidStateError)
"""The errors that a read from or a write to a stream raises when the client is gone."""


def caller_of(context: Any, node: Node) -> ClientIdentity:
    """Return the caller of a gRPC method."""
    return ClientIdentity(host=host_of(context.peer()), listener=GRPC_LISTENER, authorizer=node.authorizer)


async def end_tasks(*tasks: asyncio.Task[None]) -> None:
    """Cancel the tasks and wait for them. Raise the failure of a task, unless it is one of STREAM_GONE."""
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(ended, Exception) and not isinstance(ended, STREAM_GONE):
            raise ended
