"""Waiting requests by the address that sent them: addresses take turns, one request each.

Decides: whose request is next. Must not know: when it is served, or its content.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """One queue for each address with waiting requests."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[T]] = {}
        """The queues by address; the first one's turn is next."""

    def __bool__(self) -> bool:
        """Return True if something waits."""
        return bool(self._queues)

    def add(self, address: str, waiting: T) -> None:
        """Append an item to the queue of this address."""
        self._queues.setdefault(address, deque()).append(waiting)

    def next(self) -> T:
        """Take the oldest item of the address whose turn it is; that address's next turn comes after all others'.

        Raises:
            StopIteration: nothing waits.
        """
        return self.next_of()[1]

    def next_of(self) -> tuple[str, T]:
        """Take the same item with its address.

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
        """Return the item that `next` would take.

        Raises:
            StopIteration: nothing waits.
        """
        return next(iter(self._queues.values()))[0]

    def take_newest(self, address: str) -> T:
        """Take the newest item of this address.

        Raises:
            KeyError: it has nothing waiting.
        """
        queue = self._queues[address]
        waiting = queue.pop()
        if not queue:
            del self._queues[address]
        return waiting

    def remove(self, address: str, waiting: T) -> bool:
        """Remove this item; return False if it no longer waits."""
        queue = self._queues.get(address)
        if queue is None or waiting not in queue:
            return False
        queue.remove(waiting)
        if not queue:
            del self._queues[address]
        return True

    def by_address(self) -> Iterator[tuple[str, deque[T]]]:
        """Yield each address with its queue."""
        yield from self._queues.items()


class TooManyWaitError(Exception):
    """Too many requests wait; this one is rejected."""
