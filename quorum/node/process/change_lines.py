"""Log lines about accepted changes of the metadata.

Decides: how many lines are written: at most a hundred in any second. After that, a second passes without lines, and one
line counts the omitted ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from metadata_log.offsets import Offset
from quorum.node.core.metadata_changes import Change
from quorum.node.process.change_words import is_told, request_name, resources, short

LINES_A_SECOND: Final = 100
_SECOND_S: Final = 1.0
_SELF: Final = "this node"
"""Replaces principal and address if the controller itself made the change."""


class ChangeLines:
    """The lines of one node, and the changes that were omitted since the last of them."""

    def __init__(
        self, log: Any, now_s: Callable[[], float], later: Callable[[float, Callable[[], object]], object]
    ) -> None:
        self._log = log
        self._now_s = now_s
        self._later = later
        self._written_at_s: deque[float] = deque(maxlen=LINES_A_SECOND)
        self._more = 0
        self._first = self._last = Offset(-1)

    def write(self, changes: Iterable[Change]) -> None:
        """Write a line for each change, or count it for the line of omitted changes."""
        now_s, written = self._now_s(), self._written_at_s
        for change in changes:
            if not is_told(change):
                continue
            if self._more or (len(written) == LINES_A_SECOND and now_s - written[0] < _SECOND_S):
                self._leave_out(change)
            else:
                written.append(now_s)
                self._write(change)

    def _write(self, change: Change) -> None:
        context = change.context
        self._log.info(
            "change" if change.is_committed else "change of unknown outcome",
            principal=short(context.principal) if context.client_host else _SELF,
            client=context.client_host or _SELF,
            forwarded_by=context.forwarded_by,
            request=request_name(change.request),
            resource=resources(change),
            offset=change.offset,
        )

    def _leave_out(self, change: Change) -> None:
        if not self._more:
            self._first = change.offset
            self._later(_SECOND_S, self._write_more)
        self._more += 1
        self._last = change.offset

    def _write_more(self) -> None:
        more, self._more = self._more, 0
        self._written_at_s.append(self._now_s())
        self._log.info(
            "changes not written",
            more=more,
            offsets=f"{self._first} to {self._last}",
            what="kraft log dump shows the records at these offsets",
        )
