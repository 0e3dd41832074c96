"""Asks the leader to change who votes (KIP-853): finds it, asks, and asks again where nothing was done; looks at the
voters where it does not say what was, until the change is seen or the time is over.

Decides: what is safe to ask again. Must not know: whether a change is wise (`voter_plan`). A single call is enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

import grpc

from kraft.v1 import quorum_pb2_grpc
from metadata_log.offsets import Epoch, Offset
from quorum.api.error_codes import Error
from quorum.api.voter_messages import NOTHING_APPENDED, AddRaftVoterRequest, RemoveRaftVoterRequest, VoterRequest
from quorum.client.errors import (
    ClientError,
    OutcomeUnknownError,
    RefusedError,
    UnavailableError,
    WrongListenerError,
    refused,
)
from quorum.client.quorum_status import QuorumStatus, describe_best
from quorum.transport.channel import connects, open_channel
from quorum.transport.grpc.convert import voters
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.misdirected import in_words, right_address

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
            INVALID_UPDATE_VERSION, INCONSISTENT_CLUSTER_ID; or for now (REQUEST_TIMED_OUT), where it is only validated,
            by a leader that has committed in its epoch.
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
        except RefusedError as refusal:
            # A leader that has committed nothing in its epoch allows no change yet, which says nothing of this one.
            if refusal.error is not Error.REQUEST_TIMED_OUT or (status.is_from_leader and status.high_watermark >= 0):
                raise
            why = str(refusal)
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
            f"({in_words(error.details() or error.code().name)})"
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


async def is_seen_made(
    addresses: Callable[[], Iterable[str]], request: VoterRequest, asked_in: Epoch, deadline: float
) -> bool:
    """Whether the voters are seen to be as asked for, and that to be committed, by `deadline` of the loop's clock.

    `asked_in`: the epoch of the leader that was asked. False at once where a later one goes on without the change, and
    of what the voters do not show: a dry run, and the raising of kraft.version.
    """
    if not isinstance(request, AddRaftVoterRequest | RemoveRaftVoterRequest) or request.validate_only:
        return False
    loop = asyncio.get_running_loop()
    watch = _Watch(request)
    while (left_s := deadline - loop.time()) > 0:
        try:
            status = await describe_best(addresses(), min(left_s, _LOOK_S))
            if watch.is_committed(status):
                return True
            if watch.is_lost(status, asked_in):
                return False
        except ClientError:
            pass  # whoever waits is told of the outcome that is unknown, not of who could not be asked meanwhile
        await asyncio.sleep(min(_PAUSE_S, max(0.0, deadline - loop.time())))
    return False


class _Watch:
    """A leader goes by a change as soon as that is in its log: it is committed once all is that was there then."""

    def __init__(self, request: AddRaftVoterRequest | RemoveRaftVoterRequest) -> None:
        self._key = request.voter
        self._is_to_vote = isinstance(request, AddRaftVoterRequest)
        self._since: tuple[Epoch, Offset] | None = None

    def is_lost(self, status: QuorumStatus, asked_in: Epoch) -> bool:
        """Whether a later leader has committed in its epoch without it: no log that has it can be elected any more."""
        has_committed = status.is_from_leader and status.high_watermark >= 0
        return has_committed and status.leader_epoch > asked_in and not self._is_shown_by(status)

    def is_committed(self, status: QuorumStatus) -> bool:
        """Whether this and what was told before show it."""
        leader = status.leader
        if not status.is_from_leader or not self._is_shown_by(status) or leader is None or leader.log_end_offset < 0:
            self._since = None
            return False
        if self._since is None or self._since[0] != status.leader_epoch:
            self._since = status.leader_epoch, leader.log_end_offset
        return status.high_watermark >= self._since[1]

    def _is_shown_by(self, status: QuorumStatus) -> bool:
        return any(each.replica == self._key for each in status.voters) == self._is_to_vote
