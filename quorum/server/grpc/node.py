"""What the doors need of the node behind them, and of whoever asks."""

from __future__ import annotations

import asyncio
from typing import Any, Final, Protocol

import grpc
import msgspec

from metadata_log.image import MetadataImage
from metadata_log.voters import GRPC_LISTENER
from quorum.controller.context import RequestContext
from quorum.node.ports import Doors
from quorum.node.view import NodeView
from quorum.raft.quorum_description import QuorumDescription

MAX_TIMEOUT_MS: Final = 3_600_000
"""Nobody waits longer than an hour; a longer wait asked for is cut to it."""


STREAM_GONE: Final = (grpc.aio.AioRpcError, grpc.aio.InternalError, asyncio.InvalidStateError)
"""What reading from or writing to a stream raises when the other side is gone."""


class Node(Doors, Protocol):
    """The running node; `quorum.node.driver.Driver` is one."""

    @property
    def image(self) -> MetadataImage:
        """The published image."""

    def describe_quorum(self) -> QuorumDescription:
        """What DescribeQuorum answers."""

    def now_ms(self) -> int:
        """The monotonic clock that deadlines are on."""

    def view(self) -> NodeView:
        """A snapshot for health."""


class Caller(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Who is at the other end of a stream or call."""

    host: str

    def context(self, now_ms: int, timeout_ms: int) -> RequestContext:
        """The context of one request; a `timeout_ms` of 0 or less names no deadline."""
        return RequestContext(
            client_host=self.host,
            listener=GRPC_LISTENER,
            deadline_ms=now_ms + min(timeout_ms, MAX_TIMEOUT_MS) if timeout_ms > 0 else None,
        )


def caller_of(context: Any) -> Caller:
    """The caller of a gRPC method, whose `context.peer()` is as `ipv4:127.0.0.1:4711` or `ipv6:[::1]:4711`."""
    _, _, address = context.peer().partition(":")
    return Caller(host=address.rpartition(":")[0].strip("[]"))


async def end_tasks(*tasks: asyncio.Task[None]) -> None:
    """Cancel the tasks and wait for them; what one of them failed with is raised, unless the stream is just gone."""
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(ended, Exception) and not isinstance(ended, STREAM_GONE):
            raise ended


def timeout_of(request: object, named_ms: int) -> int:
    """How long to wait, in ms: as the call says, else as the request itself does (KIP-4), else 0."""
    return named_ms or int(getattr(request, "timeout_ms", 0))
