"""Changes of the voter set (KIP-853): finds the leader, sends the request, and retries while it had no effect.

If the leader's response is lost, the client watches the voter set until it shows the change or the time is over.

Decides: which request is safe to retry. Must not know: whether a change is wise (`voter_plan`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

import grpc

from kraft.v1 import quorum_pb2_grpc
from metadata_log.offsets import Epoch, Offset
from quorum.api.error_codes import Error
from quorum.api.voter_messages import (
    NOTHING_APPENDED,
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    VoterChange,
    VoterChangeResponse,
)
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
"""The longest time for one description of the quorum, or for a connection."""


class _NothingDone(Exception):
    """The request had no effect and may be sent again."""


async def ask_leader(
    addresses: Callable[[], Iterable[str]], request: VoterChange, cluster_id: str | None, timeout_s: float
) -> Offset:
    """Have the leader make the change. Return the offset of its record.

    The offset is -1 if no record was needed, or if only the voter set shows that the change was made.

    Raises:
        RefusedError: the leader rejects the change for good: DUPLICATE_VOTER, VOTER_NOT_FOUND, INVALID_REQUEST,
            UNSUPPORTED_VERSION, INVALID_UPDATE_VERSION, INCONSISTENT_CLUSTER_ID. With `validate_only` also
            REQUEST_TIMED_OUT, which is not final, by a leader that has committed in its epoch.
        UnavailableError: no leader accepted the request in time. It had no effect.
        OutcomeUnknownError: the change is or may be in the log, and was not seen committed in time.
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
        raise _NothingDone(f"node {status.answered_by} does not know the GRPC address of node {status.leader_id}")
    return status.leader_address


async def ask_at(address: str, request: VoterChange, cluster_id: str | None, timeout_s: float) -> Offset:
    """Send the request once, to the node at that address. Return the offset of the change's record.

    Raises:
        UnavailableError: the node cannot be reached. The request had no effect.
        WrongListenerError: the address is a CONTROLLER listener's. The request had no effect.
        RefusedError, OutcomeUnknownError: as `ask_leader`.
    """
    method = voters.METHODS[type(request)]
    channel = open_channel(address)
    try:
        if not await connects(channel, min(timeout_s, _LOOK_S)):
            raise UnavailableError(f"{address}: no connection")
        stub = quorum_pb2_grpc.QuorumStub(channel)
        message = await getattr(stub, method.name)(method.to(request, cluster_id), timeout=timeout_s)
        response = voters.change_response_from(type(request), message)
    except grpc.aio.AioRpcError as error:
        right = right_address(error.details())
        if right is not None:
            raise WrongListenerError(address, right) from error
        raise OutcomeUnknownError(
            f"{method.name} was sent to {address}, but its outcome is not known: describe the quorum. "
            f"({in_words(error.details() or error.code().name)})"
        ) from error
    except BadMessage as bad:
        raise UnavailableError(f"{address}: the answer cannot be understood: {bad.why}") from bad
    finally:
        await channel.close(None)
    return _outcome(request, address, response)


def _outcome(request: VoterChange, address: str, response: VoterChangeResponse) -> Offset:
    name = voters.METHODS[type(request)].name
    if response.error is Error.NONE:
        return Offset(response.voters_offset)
    why = response.error_message or response.error.name
    # The record is in the leader's log: it may still be committed, whatever the error says.
    if response.voters_offset != NOTHING_APPENDED:
        raise OutcomeUnknownError(f"{name} at {address}: {why}")
    is_dry = getattr(request, "validate_only", False)
    if response.error is Error.NOT_LEADER_OR_FOLLOWER or (response.error is Error.REQUEST_TIMED_OUT and not is_dry):
        raise _NothingDone(f"{address}: {why}")
    raise refused(response.error, response.error_message, name)


async def is_seen_made(
    addresses: Callable[[], Iterable[str]], request: VoterChange, asked_in: Epoch, deadline: float
) -> bool:
    """Return True once the voter set shows the change and that is committed; False at `deadline` of the loop's clock.

    `asked_in`: the epoch of the leader that received the request. Return False at once if a later leader has committed
    without the change. The voter set cannot show a dry run or a raised kraft.version: also False.
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
            pass  # the caller raises the OutcomeUnknownError; a failed look on the way to it is not its cause
        await asyncio.sleep(min(_PAUSE_S, max(0.0, deadline - loop.time())))
    return False


class _Watch:
    """Waits for a voter change to commit.

    The leader uses a change as soon as it appends it, so its voter set alone proves nothing. The change commits with
    every record up to the log end at which the client first saw it.
    """

    def __init__(self, request: AddRaftVoterRequest | RemoveRaftVoterRequest) -> None:
        self._key = request.voter
        self._is_to_vote = isinstance(request, AddRaftVoterRequest)
        self._since: tuple[Epoch, Offset] | None = None

    def is_lost(self, status: QuorumStatus, asked_in: Epoch) -> bool:
        """Return True if a later leader has committed in its own epoch without the change.

        From then on no replica whose log holds the change can win an election.
        """
        has_committed = status.is_from_leader and status.high_watermark >= 0
        return has_committed and status.leader_epoch > asked_in and not self._is_shown_by(status)

    def is_committed(self, status: QuorumStatus) -> bool:
        """Return True if this status, together with the earlier ones, shows that the change is committed."""
        leader = status.leader
        if not status.is_from_leader or not self._is_shown_by(status) or leader is None or leader.log_end_offset < 0:
            self._since = None
            return False
        if self._since is None or self._since[0] != status.leader_epoch:
            self._since = status.leader_epoch, leader.log_end_offset
        return status.high_watermark >= self._since[1]

    def _is_shown_by(self, status: QuorumStatus) -> bool:
        return any(each.replica == self._key for each in status.voters) == self._is_to_vote
