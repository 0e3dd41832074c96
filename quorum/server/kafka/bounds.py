"""How much the connections of one listener may hold, and who has to go when it is too much.

Decides: which connection is closed for another one's sake, and when one has waited long enough. Must not know: what
they carry.

Every bound is over all connections: one on each alone would be ten thousand times as much. Who goes is who has held for
longest: a request that is understood leaves the buffers within milliseconds.
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
    """Of requests that are not whole yet, or wait behind the one that is being answered."""
    max_unsent_bytes: int = 128 << 20
    """Of answers that were not taken yet."""
    frame_s: float = 30.0
    """A request must be whole so long after its first byte, an answer taken so long after it was given."""
    idle_s: float = 600.0
    """`connections.max.idle.ms` of Kafka."""
    sweep_s: float = 5.0
    held_s: float = 1.0
    """How long a Fetch is held at most while nobody is known to lead: a broker gives up after two seconds."""


def limits_of(configured: DoorLimits, shares: Shares) -> Limits:
    """Return the bounds of a listener with that configuration and share of the descriptors."""
    return Limits(
        max_connections=shares.kafka,
        max_connections_per_ip=configured.max_connections_per_ip,
        first_kept=shares.first_kept,
        max_frame_bytes=configured.max_frame_bytes,
        idle_s=configured.max_idle_ms / 1000,
    )


class Holder(Protocol):
    """A connection, as far as its bounds are concerned."""

    def evict(self, why: str, reason: str) -> None:
        """Close it at once; `reason` is `limit` or `slow`."""


class _Account:
    """Bytes by holder, in the order in which each began to hold."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[Holder, tuple[float, int]] = {}
        self.total = 0

    def set(self, holder: Holder, size: int, now_s: float) -> Holder | None:
        """It holds so much now. Returns who must go, when it is too much in all."""
        since, before = self._held.get(holder, (now_s, 0))
        self.total += size - before
        if size == 0:
            self._held.pop(holder, None)
        else:
            self._held[holder] = (since, size)
        return next(iter(self._held)) if self.total > self._most else None

    def restart(self, holder: Holder, now_s: float) -> None:
        """What it holds is of another request from now on."""
        held = self._held.pop(holder, None)
        if held is not None:
            self._held[holder] = (now_s, held[1])

    def overdue(self, since_s: float) -> list[Holder]:
        """Who has held since before that."""
        found = []
        for holder, (since, _) in self._held.items():
            if since >= since_s:
                break
            found.append(holder)
        return found


class Bounds:
    """Of one listener."""

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
        """Of all requests that wait, whole or not."""
        return self._received.total

    @property
    def unsent_bytes(self) -> int:
        """Of all answers that wait to be read."""
        return self._unsent.total

    def refusal_of(self, host: str, descriptor: int) -> str | None:
        """Return why a connection that was just accepted must be closed at once, or None.

        A connection without a descriptor of its own has -1.
        """
        if descriptor >= self.limits.first_kept:
            return f"descriptor {descriptor}: those from {self.limits.first_kept} on are kept for the log"
        if self._by_host[host] >= self.limits.max_connections_per_ip:
            return f"max.connections.per.ip={self.limits.max_connections_per_ip}"
        return None

    def on_open(self, holder: Holder, host: str, now_s: float) -> None:
        """A new connection; when it is one too many, the one that has been idle for longest goes, else itself."""
        self.open.add(holder)
        self._hosts[holder] = host
        self._by_host[host] += 1
        self._strangers[holder] = now_s
        if len(self.open) > self.limits.max_connections:
            others = (each for queue in (self._strangers, self._idle) for each in queue)
            next(others, holder).evict("there are too many connections", "limit")

    def on_closed(self, holder: Holder) -> None:
        """It is gone."""
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
        """A whole request came: what it holds beyond that is of the next one."""
        self._strangers.pop(holder, None)
        self._idle.pop(holder, None)
        self._received.restart(holder, now_s)

    def on_answered(self, holder: Holder, now_s: float) -> None:
        """Its request is answered."""
        if holder in self.open:
            self._idle[holder] = now_s

    def set_received(self, holder: Holder, size: int, now_s: float) -> None:
        """So many bytes of it wait."""
        self._make_room(self._received.set(holder, size, now_s), "too many bytes of requests wait")

    def set_unsent(self, holder: Holder, size: int, now_s: float) -> None:
        """So many bytes for it wait."""
        self._make_room(self._unsent.set(holder, size, now_s), "too many bytes of answers wait to be read")

    def sweep(self, now_s: float) -> None:
        """Close who has waited for too long."""
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
