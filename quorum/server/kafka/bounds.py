"""The bounds on the buffers and the number of one listener's connections.

Decides: which connection is closed to make room for another, and which has waited too long. Must not know: requests.

Every bound is over all connections: a bound for each would add up ten-thousandfold. The connection that has held
bytes for longest is closed, since a request that can be served leaves the buffers within milliseconds.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

import msgspec

from quorum.node.config.door_limits import DEFAULT_FRAME_BYTES, LARGEST_INT32, DoorLimits, Shares


class Limits(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The bounds. Times in seconds."""

    max_connections: int = 12_000
    max_connections_per_ip: int = LARGEST_INT32
    first_kept: int = LARGEST_INT32
    """See `Shares`."""
    max_frame_bytes: int = DEFAULT_FRAME_BYTES
    max_received_bytes: int = 64 << 20
    """The total of requests that are incomplete, or wait behind the one in flight."""
    max_unsent_bytes: int = 128 << 20
    """The total of responses that their clients have not read yet."""
    frame_s: float = 30.0
    """The longest time from a request's first byte to its last, and for a client to read a response."""
    idle_s: float = 600.0
    """The default of Kafka's `connections.max.idle.ms`."""
    sweep_s: float = 5.0
    held_s: float = 1.0
    """The longest time that a Fetch is held while no leader is known: a broker gives up after two seconds."""


def limits_of(configured: DoorLimits, shares: Shares) -> Limits:
    """Return the bounds of a listener with this configuration and this share of the process's file descriptors."""
    return Limits(
        max_connections=shares.kafka,
        max_connections_per_ip=configured.max_connections_per_ip,
        first_kept=shares.first_kept,
        max_frame_bytes=configured.max_frame_bytes,
        idle_s=configured.max_idle_ms / 1000,
    )


class Holder(Protocol):
    """A connection, as the bounds see it."""

    def evict(self, why: str, reason: str) -> None:
        """Close the connection at once; `reason` is `limit` or `slow`."""


class _Account:
    """The bytes that each connection holds, in the order in which they began to hold any."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[Holder, tuple[float, int]] = {}
        self.total = 0

    def set(self, holder: Holder, size: int, now_s: float) -> Holder | None:
        """Note the bytes that `holder` holds now. If the total is too large, return the connection to close."""
        since, before = self._held.get(holder, (now_s, 0))
        self.total += size - before
        if size == 0:
            self._held.pop(holder, None)
        else:
            self._held[holder] = (since, size)
        return next(iter(self._held)) if self.total > self._most else None

    def restart(self, holder: Holder, now_s: float) -> None:
        """Count the bytes of `holder` from now on: they belong to its next request."""
        held = self._held.pop(holder, None)
        if held is not None:
            self._held[holder] = (now_s, held[1])

    def overdue(self, since_s: float) -> list[Holder]:
        """Return the connections that have held bytes since before `since_s`."""
        found = []
        for holder, (since, _) in self._held.items():
            if since >= since_s:
                break
            found.append(holder)
        return found


class Bounds:
    """The bounds of one listener, and its open connections."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.open: set[Holder] = set()
        self._received = _Account(limits.max_received_bytes)
        self._unsent = _Account(limits.max_unsent_bytes)
        self._strangers: dict[Holder, float] = {}
        self._idle: dict[Holder, float] = {}
        self._hosts: dict[Holder, str] = {}
        self._by_host = Counter[str]()

    @property
    def received_bytes(self) -> int:
        """The bytes of all waiting requests, complete or not."""
        return self._received.total

    @property
    def unsent_bytes(self) -> int:
        """The bytes of all responses that their clients have not read yet."""
        return self._unsent.total

    def refusal_of(self, host: str, descriptor: int) -> str | None:
        """Return why a connection that was just accepted must be closed at once, or None.

        `descriptor`: the connection's file descriptor, or -1 without one.
        """
        if descriptor >= self.limits.first_kept:
            return f"descriptor {descriptor}: those from {self.limits.first_kept} on are kept for the log"
        if self._by_host[host] >= self.limits.max_connections_per_ip:
            return f"max.connections.per.ip={self.limits.max_connections_per_ip}"
        return None

    def on_open(self, holder: Holder, host: str, now_s: float) -> None:
        """Note a new connection. If there are too many, close the one that has been idle for longest, or itself."""
        self.open.add(holder)
        self._hosts[holder] = host
        self._by_host[host] += 1
        self._strangers[holder] = now_s
        if len(self.open) > self.limits.max_connections:
            others = (each for queue in (self._strangers, self._idle) for each in queue)
            next(others, holder).evict("there are too many connections", "limit")

    def on_closed(self, holder: Holder) -> None:
        """Forget a closed connection."""
        self.open.discard(holder)
        host = self._hosts.pop(holder, None)
        if host is not None:
            self._by_host[host] -= 1
            if not self._by_host[host]:
                del self._by_host[host]
        self._strangers.pop(holder, None)
        self._idle.pop(holder, None)
        self._received.set(holder, 0, 0.0)
        self._unsent.set(holder, 0, 0.0)

    def on_request(self, holder: Holder, now_s: float) -> None:
        """Note a complete request. Further bytes of this connection belong to its next request."""
        self._strangers.pop(holder, None)
        self._idle.pop(holder, None)
        self._received.restart(holder, now_s)

    def on_answered(self, holder: Holder, now_s: float) -> None:
        """Note that the request of a connection is answered: from now on it is idle."""
        if holder in self.open:
            self._idle[holder] = now_s

    def set_received(self, holder: Holder, size: int, now_s: float) -> None:
        """Note the received bytes of a connection that wait."""
        self._make_room(self._received.set(holder, size, now_s), "too many bytes of requests wait")

    def set_unsent(self, holder: Holder, size: int, now_s: float) -> None:
        """Note the bytes of a response that the client has not read yet."""
        self._make_room(self._unsent.set(holder, size, now_s), "too many bytes of answers wait to be read")

    def sweep(self, now_s: float) -> None:
        """Close the connections that have waited for too long."""
        limits = self.limits
        for holder in self._received.overdue(now_s - limits.frame_s):
            holder.evict(f"its request was not whole after {limits.frame_s:g} s", "slow")
        for holder in self._unsent.overdue(now_s - limits.frame_s):
            holder.evict(f"it did not read its answer for {limits.frame_s:g} s", "slow")
        for queue in (self._strangers, self._idle):
            for holder, since in list(queue.items()):
                if since > now_s - limits.idle_s:
                    break
                holder.evict(f"it was idle for {limits.idle_s:g} s", "slow")

    def _make_room(self, holder: Holder | None, why: str) -> None:
        if holder is not None:
            holder.evict(why, "limit")
