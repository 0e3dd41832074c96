"""One request to one controller, whoever leads: for what a node answers of itself.

Decides: nothing but what is raised where no answer comes. Must not know: which node it is, or why it is asked.
"""

from __future__ import annotations

from typing import Final, TypeVar

from kraft.v1 import controller_pb2_grpc
from metadata_log.offsets import Offset
from quorum.api.error_codes import Error
from quorum.api.request import Request, Response
from quorum.client.addresses import check_resolvable
from quorum.client.agent_status import describe_agent
from quorum.client.errors import ClientError, NotAControllerError, not_sent, refused, who_leads
from quorum.client.one_node import channel_to
from quorum.client.responses import response_in
from quorum.transport.grpc.convert.calls import kind_of, request_to, response_from
from quorum.transport.grpc.convert.unsendable import Unsendable
from quorum.transport.grpc.methods import controller_method

R = TypeVar("R", bound=Response)


async def ask_one(address: str, request: Request[R], at_least_offset: Offset, timeout_s: float) -> R:
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
        stub: controller_pb2_grpc.ControllerAsyncStub = controller_pb2_grpc.ControllerStub(channel)
        answer = response_from(kind, await controller_method(stub, kind)(message, timeout=timeout_s))
    if answer.error is not Error.NONE:
        raise refused(answer.error, answer.message, f"{kind.request.__name__} at {address}")
    return response_in(answer, request)


_PATIENCE_S: Final = 1.0


async def not_a_controller(address: str) -> NotAControllerError:
    """The error, with what is at `address` in it."""
    try:
        agent = await describe_agent(address, _PATIENCE_S)
    except ClientError:
        return NotAControllerError(f"{address} is no controller: give the GRPC address of one")
    leader = f"; it {who_leads(agent.leader_id)}" if agent.leader_id >= 0 else ""
    return NotAControllerError(
        f"{address} is the broker agent {agent.broker_id} of cluster {agent.cluster_id}, no controller: give the GRPC "
        f"address of a controller, as in the agent's controller.quorum.bootstrap.servers{leader}"
    )
