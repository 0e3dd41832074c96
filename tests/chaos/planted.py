"""Planted bugs, for the proof that they would be seen: `$KRAFT_PLANTED` names those that a controller is started with.

`python -m tests.chaos.planted PARENT COMMAND...`, as `quorum.cli.demo.child`. They live in this launcher only; nothing
of them is in what is shipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from metadata_log.offsets import Offset
from quorum.cli.demo import child
from quorum.node.controller.role import ControllerRole
from quorum.raft import replication

VARIABLE: Final = "KRAFT_PLANTED"


def _early_answer() -> None:
    """A write is answered before it is committed."""

    def answer_at_once(self: Any, call: Any, result: Any, offset: Offset) -> None:
        call.respond(self._answer(result.response, offset))

    ControllerRole._answer_after = answer_at_once  # type: ignore[method-assign]


def _stale_read() -> None:
    """A leader answers reads without asking whether it still leads."""
    as_it_should = ControllerRole._handle_read

    def read_at_once(self: Any, call: Any) -> None:
        if call.at_least_offset < 0 and self.active_epoch is not None:
            self._read(call)
        else:
            as_it_should(self, call)

    ControllerRole._handle_read = read_at_once  # type: ignore[method-assign]


def _no_check_quorum() -> None:
    """A leader without followers goes on: no fault of safety by itself, but it brings those out that are."""
    replication.CHECK_QUORUM_FACTOR = 1000


PLANTS: Final[dict[str, Callable[[], None]]] = {
    "early-answer": _early_answer,
    "stale-read": _stale_read,
    "no-check-quorum": _no_check_quorum,
}

if __name__ == "__main__":
    for name in os.environ[VARIABLE].split(","):
        PLANTS[name]()
    child.run()
