"""One request to one given controller, active or standby: for the state of that node itself."""

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
    """Return the response of the controller at `address` to a read, from an image of at least `at_least_offset`.

    Raises:
        UnavailableError: the controller does not respond; UnresolvableError: the host does not exist.
        WrongListenerError: the address is a CONTROLLER listener's.
        NotAControllerError: the address is an agent's, or another process's.
        RefusedError: the controller rejects the request as a whole.
        InvalidRequestError: the protocol cannot carry the value of a field.
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
    """Return the error that says which process is at `address`, if it is an agent."""
    try:
        agent = await describe_agent(address, _PATIENCE_S)
    except ClientError:
        return NotAControllerError(f"{address} is not a controller: give the GRPC address of one")
    leader = f"; it {who_leads(agent.leader_id)}" if agent.leader_id >= 0 else ""
    return NotAControllerError(
        f"{address} is the broker agent {agent.broker_id} of cluster {agent.cluster_id}, not a controller: give the "
        f"GRPC address of a controller, as in the agent's controller.quorum.bootstrap.servers{leader}"
    )
