"""Waiting requests by the address that sent them: addresses take turns, one request each.

Decides: whose request is next. Must not know: when it is, and what is asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """Queues of one address each. Empty ones are forgotten."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[T]] = {}
        """The first one's turn is next."""

    def __bool__(self) -> bool:
        """Return True if something waits."""
        return bool(self._queues)

    def add(self, address: str, waiting: T) -> None:
        """Put something behind all that this address has waiting."""
        self._queues.setdefault(address, deque()).append(waiting)

    def next(self) -> T:
        """Take what waits longest of the address whose turn it is; its next turn is behind all others'.

        Raises:
            StopIteration: nothing waits.
        """
        return self.next_of()[1]

    def next_of(self) -> tuple[str, T]:
        """Take the same with its address.

        Raises:
            StopIteration: nothing waits.
        """
        address, queue = next(iter(self._queues.items()))
        del self._queues[address]
        waiting = queue.popleft()
        if queue:
            self._queues[address] = queue
        return address, waiting

    def first(self) -> T:
        """Return what `next` would take.

        Raises:
            StopIteration: nothing waits.
        """
        return next(iter(self._queues.values()))[0]

    def take_newest(self, address: str) -> T:
        """Take what came last of those that this address has waiting.

        Raises:
            KeyError: it has nothing waiting.
        """
        queue = self._queues[address]
        waiting = queue.pop()
        if not queue:
            del self._queues[address]
        return waiting

    def remove(self, address: str, waiting: T) -> bool:
        """Take this one out; return False if it does not wait any more."""
        queue = self._queues.get(address)
        if queue is None or waiting not in queue:
            return False
        queue.remove(waiting)
        if not queue:
            del self._queues[address]
        return True

    def by_address(self) -> Iterator[tuple[str, deque[T]]]:
        """Yield each address with what it has waiting."""
        yield from self._queues.items()


class TooManyWaitError(Exception):
    """Too many requests wait; this one is not served."""
