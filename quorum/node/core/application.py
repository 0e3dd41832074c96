"""What a controller adds to a replica: the port between the executor and `role`.

Decides: when the executor calls it. Must not know: what a controller does.
"""

from __future__ import annotations

from typing import Protocol

from metadata_log.offsets import Epoch, Offset
from quorum.api.calls import AnyCall
from quorum.node.core.ports import ControllerAnswered


class Application(Protocol):
    """What a controller adds to a replica; an observer has none."""

    @property
    def active_epoch(self) -> Epoch | None:
        """The epoch in which it is the active controller, or None."""

    @property
    def waiting(self) -> int:
        """How many answers wait."""

    @property
    def backlog(self) -> int:
        """How many requests were left for the next turn."""

    def on_turn(self, calls: list[AnyCall]) -> None:
        """The last step of a turn: its clients' requests, as far as there is time, timers, activation. May propose."""

    def before_voter_change(self) -> None:
        """The core may append a control batch next: what is staged for the log's end has to be proposed first."""

    def on_voter_change(self, batch: bytes) -> None:
        """The core has appended this control batch, as the leader that this is the controller of."""

    def on_published(self) -> None:
        """The published image moved: answers may be due. Must not propose."""

    def on_lost_leadership(self) -> None:
        """Whatever was appended and is not committed may be gone. Must not propose."""

    def on_controller_answer(self, answered: ControllerAnswered) -> None:
        """The active controller's door answered a call of ours. Must not propose."""

    def on_read_barrier(self, token: int, offset: Offset) -> None:
        """It was proven that this replica leads, for all reads up to `token`: they may be answered from an image that
        reaches `offset`. Must not propose."""

    def on_read_barrier_refused(self) -> None:
        """It does not lead. Must not propose."""

    def refuse_all(self, why: str) -> None:
        """There is no next turn: tell whoever waits for one."""

    def next_deadline_ms(self) -> int | None:
        """When `on_turn` must be called at the latest; monotonic ms."""
