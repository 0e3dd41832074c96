"""The purgatory, Kafka's word: items that wait until a position is reached, or their deadline passes.

Decides: which items are due, and which have expired. Must not know: what the items are, or what the positions count.
The owner bounds it: once `len()` has reached the bound, the owner rejects requests.
"""

from __future__ import annotations

from bisect import bisect_right, insort_right
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

import msgspec

T = TypeVar("T")


class _Entry(msgspec.Struct, Generic[T], frozen=True):
    until: int
    deadline_ms: int
    item: T


_BY_POSITION: Final[Callable[[_Entry[Any]], int]] = attrgetter("until")


class Purgatory(Generic[T]):
    """Items in the order of their positions; those of one position in the order of their arrival."""

    def __init__(self) -> None:
        self._waiting: list[_Entry[T]] = []
        self._earliest_deadline_ms: int | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, item: T, *, until: int, deadline_ms: int) -> None:
        """Keep an item. Adding in order of `until` costs O(1); an earlier one is inserted."""
        entry = _Entry(until, deadline_ms, item)
        if not self._waiting or self._waiting[-1].until <= until:
            self._waiting.append(entry)
        else:
            insort_right(self._waiting, entry, key=_BY_POSITION)
        earliest = self._earliest_deadline_ms
        if earliest is None or deadline_ms < earliest:
            self._earliest_deadline_ms = deadline_ms

    def take_reached(self, position: int) -> list[T]:
        """Return and remove the items whose position is reached."""
        if not self._waiting or self._waiting[0].until > position:
            return []
        count = bisect_right(self._waiting, position, key=_BY_POSITION)
        taken = [entry.item for entry in self._waiting[:count]]
        del self._waiting[:count]
        return taken

    def take_expired(self, now_ms: int) -> list[T]:
        """Return and remove the items whose deadline has passed. Scans all items, but only once the earliest
        deadline has passed."""
        if self._earliest_deadline_ms is None or now_ms < self._earliest_deadline_ms:
            return []
        expired = [entry.item for entry in self._waiting if entry.deadline_ms <= now_ms]
        self._waiting = [entry for entry in self._waiting if entry.deadline_ms > now_ms]
        self._earliest_deadline_ms = min((entry.deadline_ms for entry in self._waiting), default=None)
        return expired

    def take_all(self) -> list[T]:
        """Return and remove all items: this node will not reach their positions."""
        taken = [entry.item for entry in self._waiting]
        self._waiting.clear()
        self._earliest_deadline_ms = None
        return taken

    def next_deadline_ms(self) -> int | None:
        """Return when the next item may expire; it may be early."""
        return self._earliest_deadline_ms if self._waiting else None
