"""The times of the active controller's periodic tasks: soft state, counted from its activation.

Decides: when each task is due, and when the controller has been idle for so long that a NoOp is due.
"""

from __future__ import annotations

import msgspec

from quorum.controller.config import ControllerConfig


class Due(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The tasks that are due."""

    balance: bool
    """Preferred elections are due."""
    leaderless: bool
    """Elections for leaderless partitions are due, including unclean ones."""
    tokens: bool
    """The removal of expired delegation tokens is due."""


class Rounds:
    """The next time of each task."""

    __slots__ = (
        "_balance_at_ms",
        "_balance_ms",
        "_idle_at_ms",
        "_idle_ms",
        "_last_append_ms",
        "_leaderless_at_ms",
        "_leaderless_ms",
        "_tokens_at_ms",
        "_tokens_ms",
    )

    def __init__(self, config: ControllerConfig, now_ms: int) -> None:
        self._balance_ms = config.leader_imbalance_check_interval_ms
        self._leaderless_ms = config.unclean_leader_election_interval_ms
        self._balance_at_ms = None if self._balance_ms is None else now_ms + self._balance_ms
        self._leaderless_at_ms = now_ms + self._leaderless_ms
        self._tokens_ms = None if config.tokens is None else config.tokens.expiry_check_interval_ms
        self._tokens_at_ms = None if self._tokens_ms is None else now_ms + self._tokens_ms
        self._idle_ms = config.max_idle_interval_ms
        self._idle_at_ms = None if self._idle_ms is None else now_ms + self._idle_ms
        self._last_append_ms = now_ms

    def on_append(self, now_ms: int) -> None:
        """Restart the idle time.

        The deadline does not move: otherwise each append would arm the node's timer again.
        """
        self._last_append_ms = now_ms

    def take_idle(self, now_ms: int, *, all_committed: bool) -> bool:
        """Return True if nothing was appended for the interval, and all records are committed.

        While commits are stuck, more NoOps would only make the log longer. The next check is an interval later.
        """
        if self._idle_ms is None or self._idle_at_ms is None or now_ms < self._idle_at_ms:
            return False
        is_idle = now_ms - self._last_append_ms >= self._idle_ms
        self._idle_at_ms = (now_ms if is_idle else self._last_append_ms) + self._idle_ms
        return is_idle and all_committed

    def take_due(self, now_ms: int) -> Due:
        """Return the due tasks; their next intervals begin now."""
        balance = self._balance_at_ms is not None and self._balance_at_ms <= now_ms
        if balance and self._balance_ms is not None:
            self._balance_at_ms = now_ms + self._balance_ms
        leaderless = self._leaderless_at_ms <= now_ms
        if leaderless:
            self._leaderless_at_ms = now_ms + self._leaderless_ms
        tokens = self._tokens_at_ms is not None and self._tokens_at_ms <= now_ms
        if tokens and self._tokens_ms is not None:
            self._tokens_at_ms = now_ms + self._tokens_ms
        return Due(balance=balance, leaderless=leaderless, tokens=tokens)

    def next_deadline_ms(self) -> int:
        """Return the next time at which a task is due (monotonic ms)."""
        moments = (self._leaderless_at_ms, self._balance_at_ms, self._tokens_at_ms, self._idle_at_ms)
        return min(at_ms for at_ms in moments if at_ms is not None)
