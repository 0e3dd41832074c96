"""Asks the leader to change who votes (KIP-853): finds it, asks, and asks again where nothing was done; looks at the
voters (`voter_outcome`) where it does not say what was.

Decides: what is safe to ask again. Must not know: whether a change is wise (`voter_plan`). A single call is enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

import grpc

from kraft.v1 import quorum_pb2_grpc
from metadata_log.offsets import Offset
from quorum.api.error_codes import Error
from quorum.api.voter_messages import NOTHING_APPENDED, VoterRequest
from quorum.client.errors import OutcomeUnknownError, UnavailableError, WrongListenerError, refused
from quorum.client.quorum_status import QuorumStatus, describe_best
from quorum.client.voter_outcome import is_seen_made
from quorum.transport.channel import connects, open_channel
from quorum.transport.grpc.convert import voters
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.misdirected import right_address

_PAUSE_S: Final = 0.2
_LOOK_S: Final = 2.0
"""How long one look at who leads may take."""


class _NothingDone(Exception):
    """It may be asked again."""


async def ask_leader(
    addresses: Callable[[], Iterable[str]], request: VoterRequest, cluster_id: str | None, timeout_s: float
) -> Offset:
    """Have the leader do it; the offset of the record of the change, -1 where there was nothing to change, or where the
    voters alone tell that it was done.

    Raises:
        RefusedError: it is refused for good: DUPLICATE_VOTER, VOTER_NOT_FOUND, INVALID_REQUEST, UNSUPPORTED_VERSION,
            INVALID_UPDATE_VERSION, INCONSISTENT_CLUSTER_ID; or for now (REQUEST_TIMED_OUT), where it is only validated.
        UnavailableError: no leader did it in time; nothing was done.
        OutcomeUnknownError: it is in the log, or may be, and was not seen committed in time.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    why = "no leader was found"
    while (left_s := deadline - loop.time()) > 0:
        try:
            status = await describe_best(addresses(), min(left_s, _LOOK_S))
            return await ask_at(_address_of_leader(status), request, cluster_id, max(deadline - loop.time(), 0.1))
        except (_NothingDone, UnavailableError, WrongListenerError) as nothing:
            why = str(nothing)
        except OutcomeUnknownError:
            if not await is_seen_made(addresses, request, status.leader_epoch, deadline):
                raise
            return NOTHING_APPENDED
        await asyncio.sleep(min(_PAUSE_S, max(0.0, deadline - loop.time())))
    raise UnavailableError(f"nothing was changed within {timeout_s:g} s. Last: {why}")


def _address_of_leader(status: QuorumStatus) -> str:
    if status.leader_id < 0:
        raise _NothingDone(f"node {status.answered_by} knows no leader")
    if status.leader_address is None:
        raise _NothingDone(f"node {status.answered_by} does not know where gRPC is spoken by node {status.leader_id}")
    return status.leader_address


async def ask_at(address: str, request: VoterRequest, cluster_id: str | None, timeout_s: float) -> Offset:
    """Ask the node at that address once.

    Raises:
        UnavailableError: it cannot be reached: nothing was done.
        WrongListenerError: the address is a CONTROLLER listener's: nothing was done either.
        As `ask_leader`, which asks again where nothing was done.
    """
    method = voters.METHODS[type(request)]
    channel = open_channel(address)
    try:
        if not await connects(channel, min(timeout_s, _LOOK_S)):
            raise UnavailableError(f"{address}: no connection")
        stub: Any = quorum_pb2_grpc.QuorumStub(channel)
        message = await getattr(stub, method.name)(method.to(request, cluster_id), timeout=timeout_s)
        response: Any = voters.response_from(type(request), message)
    except grpc.aio.AioRpcError as error:
        right = right_address(error.details())
        if right is not None:
            raise WrongListenerError(address, right) from error
        raise OutcomeUnknownError(
            f"{method.name} was sent to {address}, but whether it was done is not known: describe the quorum. "
            f"({error.details() or error.code().name})"
        ) from error
    except BadMessage as bad:
        raise UnavailableError(f"{address}: the answer cannot be understood: {bad.why}") from bad
    finally:
        await channel.close(None)
    return _outcome(request, address, response)


def _outcome(request: VoterRequest, address: str, response: Any) -> Offset:
    name = voters.METHODS[type(request)].name
    if response.error is Error.NONE:
        return Offset(response.voters_offset)
    why = response.error_message or response.error.name
    if response.voters_offset != NOTHING_APPENDED:
        raise OutcomeUnknownError(f"{name} at {address}: {why}")
    is_dry = getattr(request, "validate_only", False)
    if response.error is Error.NOT_LEADER_OR_FOLLOWER or (response.error is Error.REQUEST_TIMED_OUT and not is_dry):
        raise _NothingDone(f"{address}: {why}")
    raise refused(response.error, response.error_message, name)
