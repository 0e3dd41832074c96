"""How a broker comes, stays and goes: the states of KIP-631, as a pure machine.

Decides: what to send to the active controller next (a registration or a heartbeat, wanting what) and when. Must not
know: how it is sent, what time it is, or what the broker stores.

    starting      registers; asks again until it is let in
    catching up   heartbeats that want to stay fenced, until the controller says that it has caught up
    recovering    wants to be unfenced
    running       a heartbeat every `broker.heartbeat.interval.ms`
    leaving       wants to shut down, until the controller has moved its leaders away, or no controller answers in time
    left          may exit
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from quorum.api.error_codes import Error

_FAST_INTERVAL_MS: Final = 20
"""Between heartbeats that wait for something to change."""
_RETRY_MS: Final = 100
"""Before a refused or failed registration or heartbeat is sent again."""
_DUPLICATE_RETRY_MS: Final = 1_000
"""While the last incarnation still counts as alive."""
_LONGEST_RETRY_MS: Final = 30_000
_RETRY_SHARE: Final = 8
"""A refused registration waits for an eighth of the time since the first refusal."""
LEAVE_WITHIN_MS: Final = 10_000
"""A broker that no controller has answered for so long leaves all the same: it is fenced when its session ends."""


class Phase(enum.Enum):
    """Where in its life a broker is."""

    STARTING = "starting"
    CATCHING_UP = "catching up"
    RECOVERING = "recovering"
    RUNNING = "running"
    LEAVING = "leaving"
    LEFT = "left"


class SendRegistration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Register this incarnation."""

    previous_broker_epoch: int


class SendHeartbeat(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Give a sign of life."""

    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool
    want_shut_down: bool


class Lifecycle:
    """One incarnation's way through the phases.

    `next_send` says what is due; each send is answered by `on_registered`, `on_heartbeat` or `on_failed`. One request
    is in flight at a time.
    """

    def __init__(self, *, heartbeat_interval_ms: int, previous_broker_epoch: int = -1) -> None:
        self.phase = Phase.STARTING
        self.broker_epoch = -1
        self.is_fenced = True
        self.last_refusal: Error | None = None
        self.refusal_text = ""
        """The controller's own words with `last_refusal`; it may have none."""
        self._interval_ms = heartbeat_interval_ms
        self._previous_broker_epoch = previous_broker_epoch
        self._leave_by_ms: int | None = None
        self._due_ms = 0
        self._in_flight = False
        self._is_answer_void = False
        self._refused_since_ms: int | None = None

    def leaves_in_ms(self, now_ms: int) -> int | None:
        """While it is leaving: after how long it goes if no controller answers; a request under way is waited for."""
        if self._leave_by_ms is None or self.phase is Phase.LEFT:
            return None
        return 0 if self.phase is Phase.STARTING else max(0, self._leave_by_ms - now_ms)

    def next_due_ms(self) -> int | None:
        """When `next_send` has something to send (monotonic clock); None while an answer is awaited, or for ever."""
        return None if self._in_flight or self.phase is Phase.LEFT else self._due_ms

    def next_send(self, now_ms: int, applied_offset: int) -> SendRegistration | SendHeartbeat | None:
        """What to send now, if anything; `applied_offset` is the last metadata offset that is applied, or -1."""
        due = self.next_due_ms()
        if due is None or now_ms < due:
            return None
        self._in_flight = True
        if self.phase is Phase.STARTING:
            return SendRegistration(previous_broker_epoch=self._previous_broker_epoch)
        return SendHeartbeat(
            broker_epoch=self.broker_epoch,
            current_metadata_offset=applied_offset,
            want_fence=self.phase is Phase.CATCHING_UP,
            want_shut_down=self.phase is Phase.LEAVING,
        )

    def on_registered(self, now_ms: int, error: Error, broker_epoch: int, text: str = "") -> None:
        """The controller has answered the registration, a refusal perhaps with a text."""
        if self._is_answer_void:
            self.on_failed(now_ms)
            return
        self._answered(now_ms, error, text)
        if error is not Error.NONE:
            self._due_ms = now_ms + self._wait_after_refusal_ms(now_ms, error)
            return
        self._refused_since_ms = None
        self.broker_epoch = broker_epoch
        self.phase = Phase.CATCHING_UP if self._leave_by_ms is None else Phase.LEAVING

    def _wait_after_refusal_ms(self, now_ms: int, error: Error) -> int:
        if self._refused_since_ms is None:
            self._refused_since_ms = now_ms
        least = _DUPLICATE_RETRY_MS if error is Error.DUPLICATE_BROKER_REGISTRATION else _RETRY_MS
        return min(max(least, (now_ms - self._refused_since_ms) // _RETRY_SHARE), _LONGEST_RETRY_MS)

    def on_heartbeat(
        self,
        now_ms: int,
        error: Error,
        *,
        is_caught_up: bool,
        is_fenced: bool,
        should_shut_down: bool,
        text: str = "",
    ) -> None:
        """The controller has answered a heartbeat, a refusal perhaps with a text."""
        if self._is_answer_void:
            self.on_failed(now_ms)
            return
        self._answered(now_ms, error, text)
        if error in (Error.STALE_BROKER_EPOCH, Error.BROKER_ID_NOT_REGISTERED):
            self._register_again(now_ms)
            return
        if error is not Error.NONE:
            self._due_ms = now_ms + _RETRY_MS
            return
        self.is_fenced = is_fenced
        if self._leave_by_ms is not None:
            self._leave_by_ms = now_ms + LEAVE_WITHIN_MS
        if self.phase is Phase.CATCHING_UP and is_caught_up:
            self.phase = Phase.RECOVERING
        elif self.phase is Phase.RECOVERING and not is_fenced:
            self.phase = Phase.RUNNING
        elif self.phase is Phase.LEAVING and should_shut_down:
            self.phase = Phase.LEFT
        waits = self.phase in (Phase.CATCHING_UP, Phase.RECOVERING, Phase.LEAVING)
        self._due_ms = now_ms + (_FAST_INTERVAL_MS if waits else self._interval_ms)

    def on_failed(self, now_ms: int) -> None:
        """No answer came: the controller is gone, or changes. The same is sent again, but a leaver has a limit."""
        self._in_flight = self._is_answer_void = False
        self._due_ms = now_ms + _RETRY_MS
        if self._leave_by_ms is not None and (self.phase is Phase.STARTING or now_ms >= self._leave_by_ms):
            self.phase = Phase.LEFT

    def forget_registration(self, now_ms: int) -> None:
        """Register again: another quorum may have given the broker epoch, and a number says not which.

        An answer that is under way counts for nothing. A broker that leaves goes on leaving.
        """
        if self._leave_by_ms is None:
            self._register_again(now_ms)
            self._is_answer_void = self._in_flight

    def stop(self, now_ms: int) -> None:
        """Leave: leaders are moved away first. Without a registration there is nothing to leave.

        Asked again, it leaves at once.
        """
        if self._leave_by_ms is not None:
            self.phase = Phase.LEFT
            return
        self._leave_by_ms = now_ms + LEAVE_WITHIN_MS
        if self.phase is Phase.STARTING and not self._in_flight:
            self.phase = Phase.LEFT
        elif self.phase not in (Phase.STARTING, Phase.LEFT):
            self.phase = Phase.LEAVING
            self._due_ms = min(self._due_ms, now_ms)

    def _answered(self, now_ms: int, error: Error, text: str) -> None:
        self._in_flight = False
        self._due_ms = now_ms
        self.last_refusal = None if error is Error.NONE else error
        self.refusal_text = text if self.last_refusal is not None else ""

    def _register_again(self, now_ms: int) -> None:
        """The controller no longer knows this registration: another took its place, or it was removed."""
        if self._leave_by_ms is not None:
            self.phase = Phase.LEFT
            return
        self.phase, self.broker_epoch, self.is_fenced = Phase.STARTING, -1, True
        self._previous_broker_epoch = -1
        self._due_ms = now_ms
