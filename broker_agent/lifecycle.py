"""The life of a broker between registration and shutdown: the states of KIP-631, as a pure machine.

Decides: which request goes to the active controller next (a registration, or a heartbeat and its wishes), and when.
Must not know: how it is sent, what time it is, or what the broker stores.

    starting      sends registrations until one is accepted
    catching up   heartbeats with want_fence, until the controller reports that the broker has caught up
    recovering    heartbeats without want_fence, until the controller unfences the broker
    running       a heartbeat every `broker.heartbeat.interval.ms`
    leaving       heartbeats with want_shut_down, until the leaders are moved or no controller answers in time
    left          the process may exit
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from quorum.api.error_codes import Error

_FAST_INTERVAL_MS: Final = 20
"""The heartbeat interval while the broker waits for the controller to change its state."""
_RETRY_MS: Final = 100
"""The shortest wait after a rejected or failed registration or heartbeat."""
_DUPLICATE_RETRY_MS: Final = 1_000
"""The shortest wait after DUPLICATE_BROKER_REGISTRATION: the session of the last incarnation has not ended yet."""
_LONGEST_RETRY_MS: Final = 30_000
_RETRY_SHARE: Final = 8
"""A rejected registration waits for an eighth of the time since the first rejection."""
LEAVE_WITHIN_MS: Final = 10_000
"""A leaving broker exits if no controller responds for this long: the end of its session fences it anyway."""


class Phase(enum.Enum):
    """The phase of a broker's life; the module's docstring lists them."""

    STARTING = "starting"
    CATCHING_UP = "catching up"
    RECOVERING = "recovering"
    RUNNING = "running"
    LEAVING = "leaving"
    LEFT = "left"


class SendRegistration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A registration to send."""

    previous_broker_epoch: int


class SendHeartbeat(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A heartbeat to send (KIP-631's BrokerHeartbeat)."""

    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool
    want_shut_down: bool


class Lifecycle:
    """The state machine of one incarnation.

    The caller sends what `next_send` returns, then calls `on_registered`, `on_heartbeat` or `on_failed` with the
    outcome. One request is in flight at a time.
    """

    def __init__(self, *, heartbeat_interval_ms: int, previous_broker_epoch: int = -1) -> None:
        self.phase = Phase.STARTING
        self.broker_epoch = -1
        self.is_fenced = True
        self.last_refusal: Error | None = None
        self.refusal_text = ""
        """The error message that came with `last_refusal`; may be empty."""
        self._interval_ms = heartbeat_interval_ms
        self._previous_broker_epoch = previous_broker_epoch
        self._leave_by_ms: int | None = None
        self._due_ms = 0
        self._in_flight = False
        self._is_answer_void = False
        self._refused_since_ms: int | None = None

    def leaves_in_ms(self, now_ms: int) -> int | None:
        """Return ms until a leaving broker gives up on a response, or None if it is not leaving or has left.

        A request in flight is awaited even after that.
        """
        if self._leave_by_ms is None or self.phase is Phase.LEFT:
            return None
        return 0 if self.phase is Phase.STARTING else max(0, self._leave_by_ms - now_ms)

    def next_due_ms(self) -> int | None:
        """Return when `next_send` is due (monotonic ms), or None while a request is in flight or after leaving."""
        return None if self._in_flight or self.phase is Phase.LEFT else self._due_ms

    def next_send(self, now_ms: int, applied_offset: int) -> SendRegistration | SendHeartbeat | None:
        """Return the request to send now, or None. `applied_offset`: the last applied metadata offset, or -1."""
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
        """Handle the response to a registration. `text`: the error message of a rejection, if any."""
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
        """Handle the response to a heartbeat. `text`: the error message of a rejection, if any."""
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
        """Schedule the request again after no response came; a leaving broker past its limit leaves."""
        self._in_flight = self._is_answer_void = False
        self._due_ms = now_ms + _RETRY_MS
        if self._leave_by_ms is not None and (self.phase is Phase.STARTING or now_ms >= self._leave_by_ms):
            self.phase = Phase.LEFT

    def forget_registration(self, now_ms: int) -> None:
        """Register again, because another quorum may have assigned the broker epoch.

        The response to a request in flight is ignored. A leaving broker continues to leave.
        """
        if self._leave_by_ms is None:
            self._register_again(now_ms)
            self._is_answer_void = self._in_flight

    def stop(self, now_ms: int) -> None:
        """Begin a controlled shutdown: the controller moves leaders away first.

        A broker without a registration leaves at once, and so does a second call.
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
        """Start over: the controller no longer knows this registration. A leaving broker has left instead."""
        if self._leave_by_ms is not None:
            self.phase = Phase.LEFT
            return
        self.phase, self.broker_epoch, self.is_fenced = Phase.STARTING, -1, True
        self._previous_broker_epoch = -1
        self._due_ms = now_ms
