"""Answers that wait: for their records to be committed, or for the image to reach what a read asks for.

Decides: which answer is due, and which has waited too long. Must not know: what is asked. Bounded by its owner, who
refuses more when `len()` has reached its bound.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

from metadata_log.offsets import Offset
from quorum.api.calls import AnyCall, ClientCall
from quorum.api.request import Response

R = TypeVar("R", bound=Response)


class WaitingAnswer(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """An answer that is true once everything before `offset` is committed."""

    call: ClientCall[R]
    response: R
    offset: Offset
    deadline_ms: int
    writes_from: Offset | None
    """Where its own records begin; None when it has none. Once they are appended, losing the leadership leaves the
    outcome unknown."""
    token: int | None = None
    """The read barrier that it also waits for (`unproven`), where it has no records to prove it."""


class CommitPurgatory:
    """Answers in the order of their offsets, which never falls."""

    def __init__(self) -> None:
        self._waiting: deque[WaitingAnswer[Any]] = deque()
        self._earliest_deadline_ms: int | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, answer: WaitingAnswer[R]) -> None:
        """Keep it until `take_committed` or `take_expired` or `take_all` gives it back."""
        self._waiting.append(answer)
        earliest = self._earliest_deadline_ms
        if earliest is None or answer.deadline_ms < earliest:
            self._earliest_deadline_ms = answer.deadline_ms

    def take_committed(self, offset: Offset) -> Iterator[WaitingAnswer[Any]]:
        """Those that are true now."""
        waiting = self._waiting
        while waiting and waiting[0].offset <= offset:
            yield waiting.popleft()

    def take_all(self) -> list[WaitingAnswer[Any]]:
        """All of them: they will not become true here."""
        taken = list(self._waiting)
        self._waiting.clear()
        self._earliest_deadline_ms = None
        return taken

    def take_expired(self, now_ms: int) -> list[WaitingAnswer[Any]]:
        """Those whose deadline has come. Looks through all, but only when the earliest deadline has passed."""
        earliest = self._earliest_deadline_ms
        if earliest is None or now_ms < earliest:
            return []
        expired = [answer for answer in self._waiting if answer.deadline_ms <= now_ms]
        self._waiting = deque(answer for answer in self._waiting if answer.deadline_ms > now_ms)
        self._earliest_deadline_ms = min((answer.deadline_ms for answer in self._waiting), default=None)
        return expired

    def next_deadline_ms(self) -> int | None:
        """When the next may expire; may be early."""
        return self._earliest_deadline_ms if self._waiting else None


class ReadPurgatory:
    """Reads that wait for the image to reach an offset, by that offset."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Offset, int, AnyCall, int]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, call: AnyCall, offset: Offset, deadline_ms: int) -> None:
        """Keep it until the image has reached `offset`."""
        self._count += 1
        heapq.heappush(self._waiting, (offset, self._count, call, deadline_ms))

    def take_reached(self, offset: Offset) -> Iterator[AnyCall]:
        """Those that an image ending at `offset` may answer."""
        while self._waiting and self._waiting[0][0] <= offset:
            yield heapq.heappop(self._waiting)[2]

    def take_expired(self, now_ms: int) -> list[AnyCall]:
        """Those whose deadline has come."""
        if not self._waiting:
            return []
        expired = [entry for entry in self._waiting if entry[3] <= now_ms]
        if expired:
            self._waiting = [entry for entry in self._waiting if entry[3] > now_ms]
            heapq.heapify(self._waiting)
        return [entry[2] for entry in expired]

    def next_deadline_ms(self) -> int | None:
        """When the next expires."""
        return min(entry[3] for entry in self._waiting) if self._waiting else None


class Unproven(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """One. `response` is None for a read, which is made from the image once it may be; otherwise it is true of all
    before `offset`, which is committed."""

    call: ClientCall[R]
    token: int
    deadline_ms: int
    response: R | None = None
    offset: Offset = Offset(0)


def unproven_of(answer: WaitingAnswer[R], token: int) -> Unproven[R]:
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
        self._waiting: deque[Unproven[Any]] = deque()
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

    def add(self, unproven: Unproven[R]) -> None:
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

    def take_proven(self, token: int) -> Iterator[Unproven[Any]]:
        """The barrier has passed for everything up to `token`."""
        self._proven = max(self._proven, token)
        kept: deque[Unproven[Any]] = deque()
        waiting, self._waiting = self._waiting, kept
        for each in waiting:
            if each.token <= token:
                yield each
            else:
                kept.append(each)

    def take_all(self) -> list[Unproven[Any]]:
        """All of them: nothing will be proven here."""
        taken = list(self._waiting)
        self._waiting.clear()
        self._is_due = False
        self._earliest_deadline_ms = None
        return taken

    def take_expired(self, now_ms: int) -> list[Unproven[Any]]:
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
