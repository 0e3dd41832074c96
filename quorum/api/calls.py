"""A request on its way into a node, and its response on the way out, independent of the protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, Never, TypeVar

import msgspec

from metadata_log.ids import METADATA_TOPIC_ID, TopicId
from metadata_log.offsets import NO_EPOCH, Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.api import raft_messages
from quorum.api.context import RequestContext
from quorum.api.controllers import RegisterControllerResponse
from quorum.api.error_codes import Error
from quorum.api.request import Request, Response

PeerRequest = raft_messages.Request
PeerResponse = raft_messages.Response
R = TypeVar("R", bound=Response)
R_co = TypeVar("R_co", bound=Response, covariant=True)


METADATA_PARTITION: Final = 0


NO_OFFSET: Final = Offset(-1)


NO_CALLER: Final = RequestContext()
"""The context of a request that came through no listener."""


class PeerCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request of another replica as it came in, before `topic_id_fencing` has checked its topic id."""

    request: PeerRequest
    cluster_id: str | None
    """None if the protocol allows the sender to omit it, and the sender did."""
    topic_id: TopicId = METADATA_TOPIC_ID
    """The sentinel also if the protocol names the metadata topic by name."""
    partition: int = METADATA_PARTITION
    context: RequestContext = NO_CALLER
    """The sender's identity, and the listener through which the request came."""


class ClientAnswer(msgspec.Struct, Generic[R_co], frozen=True, kw_only=True, gc=False):
    """The answer to a client: a response, or the rejection of the whole request.

    If `error` is `NONE`, `response` is set. Otherwise `error` is one of:

    - NOT_CONTROLLER: nothing was done; the request may be sent again to another node.
    - REQUEST_TIMED_OUT: the outcome is unknown.
    - THROTTLING_QUOTA_EXCEEDED: nothing was done; this node has too many requests under way.
    - OFFSET_NOT_AVAILABLE: this node did not reach the offset of a read in time.
    """

    error: Error = Error.NONE
    message: str | None = None
    response: R_co | None = None
    image_offset: Offset = NO_OFFSET
    """End offset of the image behind the answer, including what the request wrote. A read at this offset sees all of
    it."""
    image_epoch: Epoch = NO_EPOCH
    leader_id: int = -1
    leader_epoch: Epoch = NO_EPOCH
    leader_endpoints: tuple[Endpoint, ...] = ()


class ClientCall(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """A client's request; `context.deadline_ms` is on the monotonic clock of the `Clock` port."""

    request: Request[R]
    context: RequestContext
    respond: Callable[[ClientAnswer[R]], None]
    at_least_offset: Offset = NO_OFFSET
    """If set, any replica whose published image reaches this offset may answer the read. -1 requests a linearizable
    read: a leader answers after a read barrier (DESIGN 2.1)."""
    prepare: Callable[[R], None] | None = None
    """Called with the response before its records commit, so that its message can be encoded meanwhile. It may not
    be called, and `respond` may get another response."""


Rejection = ClientAnswer[Never]
"""An answer without a response; it fits every request."""
AnyAnswer = ClientAnswer[Response]
RegistrationAnswer = ClientAnswer[RegisterControllerResponse]
"""The answer to a request that this controller itself sends to the active one."""
AnyCall = ClientCall[Any]
"""A call in a queue that holds calls of every kind. A generic function takes it out; there, the request's type names
the response again."""
