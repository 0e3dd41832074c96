"""TransferLeadership: asks the leader to resign in favour of another voter.

Decides: which node to ask, and a retry if that node has already lost its leadership. Must not know: Sessions; this is
a unary call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

import grpc
import msgspec

from kraft.v1 import quorum_pb2_grpc
from metadata_log.offsets import Epoch
from quorum.api.error_codes import Error
from quorum.client.errors import OutcomeUnknownError, UnavailableError, refused
from quorum.client.quorum_status import QuorumStatus, describe_best, who_answers
from quorum.transport.channel import connects, open_channel
from quorum.transport.grpc.convert.transfer import transfer_request_to, transfer_response_from
from quorum.transport.misdirected import in_words

_PAUSE_S: Final = 0.05
_LOOK_S: Final = 1.0
"""The longest wait for a connection. The request is sent only over an established one, so a failure is no loss."""
_SLACK_S: Final = 0.5
"""The leader's timeout is this much shorter than the client's: its own error says why the transfer failed."""


class Transferred(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The leader before and after; the same node if it already was the one asked for."""

    old_leader_id: int
    old_epoch: Epoch
    leader_id: int
    leader_epoch: Epoch


async def transfer_leadership(addresses: Iterable[str], to: int | None, timeout_s: float) -> Transferred:
    """Have the leader transfer its leadership to voter `to`, or to any voter that has the whole log.

    Raises:
        UnavailableError: no leader is known, or it cannot be reached.
        RefusedError: the leader declines and still leads, or REQUEST_TIMED_OUT: no new leader is known yet.
        OutcomeUnknownError: the request was sent to the leader without a response.
        WrongListenerError, NotAControllerError: no address is a controller's GRPC listener.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    asked = tuple(addresses)
    has_answer = False
    while True:
        try:
            status = await describe_best(asked, max(0.1, deadline - loop.time()))
        except UnavailableError:
            if not has_answer:
                raise
            # A controller answered before, and has too little time left to do so again: who_answers gives it more.
        else:
            has_answer = True
            done = await _try(status, to, max(0.1, deadline - loop.time()))
            if done is not None:
                return done
        if loop.time() + _PAUSE_S >= deadline:
            raise UnavailableError(
                f"no leader was found within {timeout_s:g} s that could hand over: {await who_answers(asked)}"
            )
        await asyncio.sleep(_PAUSE_S)


async def _try(status: QuorumStatus, to: int | None, remaining_s: float) -> Transferred | None:
    """Ask the leader of `status` once. Return None if it is not, or no longer, the leader: search again."""
    if not status.is_from_leader:
        return None
    leader = status.address
    timeout_ms = max(1, int((remaining_s - min(_SLACK_S, remaining_s / 2)) * 1000))
    channel = open_channel(leader)
    stub: quorum_pb2_grpc.QuorumAsyncStub = quorum_pb2_grpc.QuorumStub(channel)
    try:
        if not await connects(channel, min(remaining_s, _LOOK_S)):
            return None
        message = await stub.TransferLeadership(transfer_request_to(to, timeout_ms), timeout=remaining_s)
    except grpc.aio.AioRpcError as error:
        why = in_words(error.details() or error.code().name)
        raise OutcomeUnknownError(
            f"{leader} was asked to hand over, but its response did not come: {why}. See kraft quorum describe"
        ) from error
    finally:
        await channel.close(None)
    answer = transfer_response_from(message)
    if answer.error is Error.NOT_LEADER_OR_FOLLOWER:
        return None
    if answer.error is not Error.NONE:
        raise refused(answer.error, answer.why, "transfer")
    return Transferred(
        old_leader_id=status.leader_id,
        old_epoch=status.leader_epoch,
        leader_id=answer.leader_id,
        leader_epoch=answer.leader_epoch,
    )
