"""The port between the executor and a controller's `role`.

Decides: when the executor calls it. Must not know: what a controller does.
"""

from __future__ import annotations

from typing import Protocol

from metadata_log.offsets import Epoch, Offset
from quorum.api.calls import AnyCall
from quorum.node.core.ports import ControllerAnswered


class Application(Protocol):
    """The controller's part of a replica; an observer has none."""

    @property
    def active_epoch(self) -> Epoch | None:
        """The epoch in which it is the active controller, or None."""

    @property
    def waiting(self) -> int:
        """The number of waiting responses."""

    @property
    def backlog(self) -> int:
        """The number of requests that were left for the next turn."""

    def on_turn(self, calls: list[AnyCall]) -> None:
        """The last step of a turn: handle clients' requests while time permits, then timers and activation. May
        propose."""

    def before_voter_change(self) -> None:
        """The core may append a control batch next. Propose first what is staged for the log's end."""

    def on_voter_change(self, batch: bytes) -> None:
        """The core, as leader, has appended this control batch."""

    def on_published(self) -> None:
        """The published image moved, so responses may be due. Must not propose."""

    def on_lost_leadership(self) -> None:
        """Appended but uncommitted records may be discarded. Must not propose."""

    def on_controller_answer(self, answered: ControllerAnswered) -> None:
        """The active controller answered a call of this node. Must not propose."""

    def on_read_barrier(self, token: int, offset: Offset) -> None:
        """A read barrier passed for all reads up to `token`. An image that reaches `offset` may answer them. Must
        not propose."""

    def on_read_barrier_refused(self) -> None:
        """This replica does not lead, so the barrier failed. Must not propose."""

    def refuse_all(self, why: str) -> None:
        """There is no next turn: reject every waiting request."""

    def next_deadline_ms(self) -> int | None:
        """Return when `on_turn` must be called at the latest; monotonic ms."""
