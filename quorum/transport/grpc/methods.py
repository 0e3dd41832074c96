"""The gRPC method of each request that is a single call."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, cast

from kraft.v1 import controller_pb2_grpc
from quorum.transport.grpc.convert.kind import Kind


class SingleCall(Protocol):
    """A method of a stub."""

    def __call__(self, request: Any, *, timeout: float) -> Awaitable[Any]:
        """Call the method; `timeout` in seconds."""


def method_name(kind: Kind[Any]) -> str:
    """Return the method's name in the Controller service, which is the name of the request's class."""
    return kind.request.__name__


def controller_method(stub: controller_pb2_grpc.ControllerAsyncStub, kind: Kind[Any]) -> SingleCall:
    """Return the method of the Controller service that carries this kind of request."""
    return cast(SingleCall, getattr(stub, method_name(kind)))
