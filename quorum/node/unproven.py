"""What must not be told before it is proven that this node still leads: linearizable reads, and answers that wrote
nothing but tell how things are (`TOPIC_ALREADY_EXISTS`, say).

Decides: which of them a passed read barrier lets go. Must not know: how leadership is proven
(`quorum.raft.read_barrier`). Bounded by its owner, who refuses more when `len()` has reached its bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from metadata_log.offsets import Offset
from quorum.node.ports import ClientCall
from quorum.node.purgatory import WaitingAnswer


class Unproven(msgspec.Struct, frozen=True, kw_only=True):
    """One. `response` is None for a read, which is made from the image once it may be; otherwise it is true of all
    before `offset`, which is committed."""

    call: ClientCall
    token: int
    deadline_ms: int
    response: object | None = None
    offset: Offset = Offset(0)


def unproven_of(answer: WaitingAnswer, token: int) -> Unproven:
    """An answer that is true, as far as its offset goes, and waits for that barrier."""
    return Unproven(
        call=answer.call,
        token=token,
        deadline_ms=answer.deadline_ms,
        response=answer.response,
        offset=answer.offset,
    )


class UnprovenAnswers:
    """All of one node, by the token of the barrier that each waits for. Tokens rise by one with every barrier."""

    def __init__(self) -> None:
        self._waiting: deque[Unproven] = deque()
        self._asked = 0
        self._proven = 0
        self._is_due = False
        self._earliest_deadline_ms: int | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def next_token(self) -> int:
        """The barrier that whatever comes now waits for: one that is not asked for yet."""
        self._is_due = True
        return self._asked + 1

    def is_proven(self, token: int) -> bool:
        """Whether that barrier has passed."""
        return token <= self._proven

    def add(self, unproven: Unproven) -> None:
        """Keep it until `take_proven`, `take_expired` or `take_all` gives it back."""
        self._waiting.append(unproven)
        earliest = self._earliest_deadline_ms
        if earliest is None or unproven.deadline_ms < earliest:
            self._earliest_deadline_ms = unproven.deadline_ms

    def take_due(self) -> int | None:
        """The token of the barrier to ask for now; None when nobody needs one."""
        if not self._is_due:
            return None
        self._is_due = False
        self._asked += 1
        return self._asked

    def take_proven(self, token: int) -> Iterator[Unproven]:
        """The barrier has passed for everything up to `token`."""
        self._proven = max(self._proven, token)
        kept: deque[Unproven] = deque()
        waiting, self._waiting = self._waiting, kept
        for each in waiting:
            if each.token <= token:
                yield each
            else:
                kept.append(each)

    def take_all(self) -> list[Unproven]:
        """All of them: nothing will be proven here."""
        taken = list(self._waiting)
        self._waiting.clear()
        self._is_due = False
        self._earliest_deadline_ms = None
        return taken

    def take_expired(self, now_ms: int) -> list[Unproven]:
        """Those whose deadline has come. Looks through all, but only when the earliest deadline has passed."""
        earliest = self._earliest_deadline_ms
        if earliest is None or now_ms < earliest:
            return []
        expired = [each for each in self._waiting if each.deadline_ms <= now_ms]
        self._waiting = deque(each for each in self._waiting if each.deadline_ms > now_ms)
        self._earliest_deadline_ms = min((each.deadline_ms for each in self._waiting), default=None)
        return expired

    def next_deadline_ms(self) -> int | None:
        """When the next may expire; may be early."""
        return self._earliest_deadline_ms if self._waiting else None
