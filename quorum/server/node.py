"""The node and the client, as the listeners of every protocol see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from metadata_log.image import MetadataImage
from quorum.api.context import ANONYMOUS, RequestContext
from quorum.api.quorum_description import QuorumDescription
from quorum.api.request import AnyRequest
from quorum.controller.authorizer import Authorizer
from quorum.node.core.ports import IncomingRequests
from quorum.node.core.view import NodeView

MAX_TIMEOUT_MS: Final = 3_600_000
"""The longest timeout of a request, one hour. Longer ones are cut to it."""


class Node(IncomingRequests, Protocol):
    """The running node; `quorum.node.process.driver.Driver` is one."""

    @property
    def image(self) -> MetadataImage:
        """The published image."""

    @property
    def authorizer(self) -> Authorizer | None:
        """The authorizer of requests, or None: then every client may do everything."""

    @property
    def kraft_version(self) -> int:
        """The latest kraft.version in the log."""

    def describe_quorum(self) -> QuorumDescription:
        """Return the quorum as this node sees it, for DescribeQuorum."""

    def after_turn(self, send: Callable[[], None]) -> None:
        """Call `send` after the current turn and before its disk writes; without a turn under way, soon."""

    def now_ms(self) -> int:
        """Return the time of the monotonic clock on which deadlines are set."""

    def view(self) -> NodeView:
        """Return the node's current state, for its health checks."""


class ClientIdentity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The identity of the client of a stream, call or connection, and the listener that it uses."""

    host: str
    listener: str
    authorizer: Authorizer | None
    """The authorizer of this node, or None."""
    principal: str = ANONYMOUS
    forwarded_by: int | None = None
    """The broker that forwarded the request (Envelope)."""

    is_token: bool = False
    """True if a delegation token authenticated the principal."""

    def context(self, now_ms: int = 0, timeout_ms: int = 0) -> RequestContext:
        """Return the context of one request. Without a positive `timeout_ms` it has no deadline."""
        return RequestContext(
            principal=self.principal,
            client_host=self.host,
            listener=self.listener,
            forwarded_by=self.forwarded_by,
            authorizer=self.authorizer,
            is_token=self.is_token,
            deadline_ms=now_ms + min(timeout_ms, MAX_TIMEOUT_MS) if timeout_ms > 0 else None,
        )


def timeout_of(request: AnyRequest, named_ms: int) -> int:
    """Return the timeout in ms: the call's if it is not 0, otherwise the request's own (KIP-4), otherwise 0."""
    return named_ms or int(getattr(request, "timeout_ms", 0))
