"""Looks at the voters where the leader did not tell what became of a change, until it is seen or the time is over.

Decides: what shows that a change is committed. Must not know: how one is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from metadata_log.offsets import Epoch, Offset
from quorum.api.voter_messages import AddRaftVoterRequest, RemoveRaftVoterRequest, VoterRequest
from quorum.client.errors import ClientError
from quorum.client.quorum_status import QuorumStatus, describe_best

_PAUSE_S: Final = 0.2
_LOOK_S: Final = 2.0
"""How long one look may take."""


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
