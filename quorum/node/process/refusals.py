"""Refused requests and closed connections: all are counted, and some of them are written to the log.

Decides: how many lines other hosts can cause. Clients choose their names and addresses, so no rule by name or address
bounds the log. One budget does: a burst of lines, then a few each second, then a line that counts the others.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import structlog

LINES_AT_ONCE: Final = 10
LINES_A_SECOND: Final = 3.0
"""At most half a megabyte in ten minutes, whatever other hosts do."""
_MORE_AFTER_S: Final = 1.0
_LONGEST_TEXT: Final = 300
"""The most characters of one field: names and reasons may come from clients."""


def call_later(delay_s: float, call: Callable[[], object]) -> None:
    """Schedule a call in the running loop."""
    asyncio.get_running_loop().call_later(delay_s, call)


class Refusals:
    """The refusals of one process: their counts, and the budget of their lines."""

    def __init__(
        self,
        node_id: int,
        now_s: Callable[[], float] = time.monotonic,
        later: Callable[[float, Callable[[], object]], object] = call_later,
    ) -> None:
        self.counts: Final = Counter[tuple[str, str]]()
        """The counts by listener and reason: `limit`, `slow`, `malformed` or `error`."""
        self.left_out = 0
        """The number of lines that were not written since the start."""
        self._log = structlog.get_logger().bind(node_id=node_id)
        self._now_s = now_s
        self._later = later
        self._lines = float(LINES_AT_ONCE)
        self._at_s = now_s()
        self._more = 0
        self._is_waiting = False

    def closed(self, listener: str, reason: str, client: str, why: str) -> None:
        """Count and log a connection that this side closed, or a call that a listener rejected."""
        self.counts[listener, reason] += 1
        self.write("warning", "connection closed", listener=listener, client=client, why=why)

    def write(self, level: str, event: str, **fields: Any) -> None:
        """Write a line if the budget allows it; otherwise count it for a later line."""
        now_s = self._now_s()
        self._lines = min(self._lines + (now_s - self._at_s) * LINES_A_SECOND, LINES_AT_ONCE)
        self._at_s = now_s
        if self._lines < 1.0:
            self._leave_out()
            return
        self._lines -= 1.0
        getattr(self._log, level)(event, **{name: _short(value) for name, value in fields.items()})

    def _leave_out(self) -> None:
        self.left_out += 1
        self._more += 1
        if not self._is_waiting:
            self._is_waiting = True
            self._later(_MORE_AFTER_S, self._write_more)

    def _write_more(self) -> None:
        self._is_waiting = False
        more, self._more = self._more, 0
        self._log.warning("refusals not written", more=more, what="each is counted in kraft_connections_refused_total")


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]}… ({len(value)} characters)"
    return value
