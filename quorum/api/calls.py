"""A request on its way into a node, and the answer on its way out, whatever protocol carries them."""

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
"""Of what never came through a door."""


class PeerCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request of another replica as it came in, before `topic_id_fencing` has checked its topic id."""

    request: PeerRequest
    cluster_id: str | None
    """None where the asker may leave it out and did."""
    topic_id: TopicId = METADATA_TOPIC_ID
    """The sentinel too where a protocol names the metadata topic by its name."""
    partition: int = METADATA_PARTITION
    context: RequestContext = NO_CALLER
    """Who asks, and by which listener."""


class ClientAnswer(msgspec.Struct, Generic[R_co], frozen=True, kw_only=True, gc=False):
    """The answer to a client.

    `response` is there when `error` is NONE. Otherwise the whole request is rejected:
    NOT_CONTROLLER (nothing was done, safe to send again elsewhere), REQUEST_TIMED_OUT (the outcome is not known),
    THROTTLING_QUOTA_EXCEEDED (nothing was done: this node has more than it takes), OFFSET_NOT_AVAILABLE (a read's
    the offset to read at did not come in time).
    """

    error: Error = Error.NONE
    message: str | None = None
    response: R_co | None = None
    image_offset: Offset = NO_OFFSET
    """End of the image that the answer was made from, what it wrote included: reads at least this see it."""
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
    """A read may be answered by any replica whose published image reaches this far; -1 asks for a linearizable answer,
    which a leader gives that has proven that it leads (DESIGN 15)."""
    prepare: Callable[[R], None] | None = None
    """Told of the response that `respond` will get once its records are committed: meanwhile there is time to put the
    message together. It may not come, or another may."""


Rejection = ClientAnswer[Never]
"""An answer without a response, which answers any request."""
AnyAnswer = ClientAnswer[Response]
RegistrationAnswer = ClientAnswer[RegisterControllerResponse]
"""To what a controller requests of the active one by itself."""
AnyCall = ClientCall[Any]
"""A call in a queue, which holds calls of every kind. A generic function takes it out, where the request names the
response again."""
