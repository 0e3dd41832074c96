"""What the doors need of the node behind them, and of whoever asks; no protocol is known here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from metadata_log.image import MetadataImage
from quorum.api.context import ANONYMOUS, RequestContext
from quorum.api.quorum_description import QuorumDescription
from quorum.api.request import AnyRequest
from quorum.controller.authorizer import Authorizer
from quorum.node.core.ports import Doors
from quorum.node.core.view import NodeView

MAX_TIMEOUT_MS: Final = 3_600_000
"""Nobody waits longer than an hour; a longer wait asked for is cut to it."""


class Node(Doors, Protocol):
    """The running node; `quorum.node.process.driver.Driver` is one."""

    @property
    def image(self) -> MetadataImage:
        """The published image."""

    @property
    def authorizer(self) -> Authorizer | None:
        """Who judges whatever comes through a door; None where everybody may do all."""

    @property
    def kraft_version(self) -> int:
        """The latest kraft.version in the log."""

    def describe_quorum(self) -> QuorumDescription:
        """What DescribeQuorum answers."""

    def after_turn(self, send: Callable[[], None]) -> None:
        """Call `send` when no turn is under way: after this one, before its writes go to the disk, or else soon."""

    def now_ms(self) -> int:
        """The monotonic clock that deadlines are on."""

    def view(self) -> NodeView:
        """A snapshot for health."""


class Caller(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Who is at the other end of a stream, call or connection, and which listener it came to."""

    host: str
    listener: str
    authorizer: Authorizer | None
    """Of the node that it came to."""
    principal: str = ANONYMOUS
    forwarded_by: int | None = None
    """The broker that passed the request on (Envelope)."""

    is_token: bool = False
    """It has proven itself by a delegation token."""

    def context(self, now_ms: int = 0, timeout_ms: int = 0) -> RequestContext:
        """The context of one request; a `timeout_ms` of 0 or less names no deadline, as other replicas name none."""
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
    """How long to wait, in ms: as the call says, else as the request itself does (KIP-4), else 0."""
    return named_ms or int(getattr(request, "timeout_ms", 0))
