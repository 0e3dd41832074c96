"""One request to one controller, whoever leads: for what a node answers of itself.

Decides: nothing but what is raised where no answer comes. Must not know: which node it is, or why it is asked.
"""

from __future__ import annotations

from typing import Any

from kraft.v1 import controller_pb2_grpc
from metadata_log.offsets import Offset
from quorum.api.error_codes import Error
from quorum.client.errors import not_sent, refused
from quorum.client.names import check_resolvable
from quorum.client.not_a_controller import not_a_controller
from quorum.client.one_node import channel_to
from quorum.transport.convert.calls import kind_of, request_to, response_from
from quorum.transport.convert.unsendable import Unsendable


async def ask_one(address: str, request: object, at_least_offset: Offset, timeout_s: float) -> object:
    """What the controller at `address` answers to a read, from an image that reaches at least so far.

    Raises:
        UnavailableError: it does not answer; UnresolvableError: there is no such host.
        WrongListenerError: the address is a CONTROLLER listener's.
        NotAControllerError: it is an agent's, or something else's.
        RefusedError: it refuses the request as a whole.
        InvalidRequestError: no message has room for one of the request's fields.
    """
    kind = kind_of(request)
    try:
        message = request_to(request, at_least_offset)
    except Unsendable as bad:
        raise not_sent(str(bad)) from bad
    await check_resolvable(address)
    async with channel_to(address, not_a_controller) as channel:
        stub: Any = controller_pb2_grpc.ControllerStub(channel)
        ask = getattr(stub, kind.request.__name__)
        answer = response_from(kind, await ask(message, timeout=timeout_s))
    if answer.error is not Error.NONE:
        raise refused(answer.error, answer.message, f"{kind.request.__name__} at {address}")
    return answer.response
