"""The standard service grpc.health.v1. Each request runs the node's checks.

Decides: which checks belong to which service. `kraft.v1.Quorum`: the node is alive. The empty name and
`kraft.v1.Controller`: it is ready, as `/readyz` reports.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from quorum.node.core.view import NodeView
from quorum.node.process.health import Check, are_ok, check_alive, check_ready
from quorum.server.node import Node

CHECKS: Final[Mapping[str, Callable[[NodeView], tuple[Check, ...]]]] = {
    "": check_ready,
    "kraft.v1.Controller": check_ready,
    "kraft.v1.Quorum": check_alive,
}
_WATCH_INTERVAL_S: Final = 0.25


class HealthDoor(health_pb2_grpc.HealthServicer):  # type: ignore[misc]
    """Serves grpc.health.v1.Health for one node."""

    def __init__(self, node: Node) -> None:
        self._node = node

    async def Check(self, request: Any, context: Any) -> Any:
        """Return the current state of a service. NOT_FOUND: this node does not serve it."""
        if request.service not in CHECKS:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"there is no service {request.service!r} here")
        return self._answer(request.service)

    async def Watch(self, request: Any, context: Any) -> AsyncIterator[Any]:
        """Yield the current state of a service, then each change of it."""
        sent = None
        while True:
            answer = self._answer(request.service)
            if answer != sent:
                sent = answer
                yield answer
            await asyncio.sleep(_WATCH_INTERVAL_S)

    def _answer(self, service: str) -> Any:
        status = health_pb2.HealthCheckResponse.ServingStatus
        if service not in CHECKS:
            return health_pb2.HealthCheckResponse(status=status.SERVICE_UNKNOWN)
        is_ok = are_ok(CHECKS[service](self._node.view()))
        return health_pb2.HealthCheckResponse(status=status.SERVING if is_ok else status.NOT_SERVING)
