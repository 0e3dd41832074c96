"""A gRPC listener of a scripted node, and a channel to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from metadata_log.voters import Endpoint
from quorum.node.process.large_requests import LargeRequests
from quorum.server.grpc.listen import listen
from quorum.transport.channel import open_channel
from tests.support.scripted_node import ScriptedNode


@asynccontextmanager
async def scripted_listener(large: LargeRequests) -> AsyncIterator[tuple[ScriptedNode, grpc.aio.Channel]]:
    """Serve a node with scripted responses, with these bounds for large requests."""
    node = ScriptedNode()
    server, port = await listen(Endpoint(name="GRPC", host="127.0.0.1", port=0), node, large=large)
    try:
        async with open_channel(f"127.0.0.1:{port}") as channel:
            yield node, channel
    finally:
        await server.stop(None)
