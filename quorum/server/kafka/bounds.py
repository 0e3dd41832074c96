"""How much the connections of one listener may hold, and who has to go when it is too much.

Decides: which connection is closed for another one's sake, and when one has waited long enough. Must not know: what
they carry.

Every bound is over all connections: one on each alone would be ten thousand times as much. Who goes is who has held for
longest: a request that is understood leaves the buffers within milliseconds.
"""

from __future__ import annotations

import resource
from typing import Final, Protocol

import msgspec

_FILES_KEPT: Final = 1_000
"""Descriptors that the log, the checkpoints and the other listener may need: without one, a node has to stop."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The bounds. Times in seconds."""

    max_connections: int = 12_000
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


def limits_of_this_process() -> Limits:
    """The default limits, and no more connections than there may be files; raises the soft limit to the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    default = Limits()
    if soft == resource.RLIM_INFINITY:
        return default
    return Limits(max_connections=min(default.max_connections, soft - min(_FILES_KEPT, soft // 2)))


class Holder(Protocol):
    """A connection, as far as its bounds are concerned."""

    def evict(self, why: str) -> None:
        """Close it at once."""


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

    @property
    def received_bytes(self) -> int:
        """Of all requests that wait, whole or not."""
        return self._received.total

    @property
    def unsent_bytes(self) -> int:
        """Of all answers that wait to be read."""
        return self._unsent.total

    def on_open(self, holder: Holder, now_s: float) -> None:
        """A new connection; when it is one too many, the one that has been idle for longest goes, else itself."""
        self.open.add(holder)
        self._strangers[holder] = now_s
        if len(self.open) > self.limits.max_connections:
            others = (each for queue in (self._strangers, self._idle) for each in queue)
            next(others, holder).evict("there are too many connections")

    def on_closed(self, holder: Holder) -> None:
        """It is gone."""
        self.open.discard(holder)
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
            holder.evict(f"its request was not whole after {limits.frame_s:g} s")
        for holder in self._unsent.overdue(now_s - limits.frame_s):
            holder.evict(f"it did not read its answer for {limits.frame_s:g} s")
        for queue in (self._strangers, self._idle):
            for holder, since in list(queue.items()):
                if since > now_s - limits.idle_s:
                    break
                holder.evict(f"it was idle for {limits.idle_s:g} s")

    def _make_room(self, holder: Holder | None, why: str) -> None:
        if holder is not None:
            holder.evict(why)
