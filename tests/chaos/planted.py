"""Planted bugs, which a campaign must notice: `$KRAFT_PLANTED` names those of a controller.

`python -m tests.chaos.planted PARENT COMMAND...`, as `quorum.cli.demo.child`. They exist in this launcher only; the
shipped code has none of them.
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
    """Respond to a write before it is committed."""

    def answer_at_once(self: Any, call: Any, result: Any, offset: Offset) -> None:
        call.respond(self._answer(result.response, offset))

    ControllerRole._answer_after = answer_at_once  # type: ignore[method-assign]


def _stale_read() -> None:
    """Let a leader serve reads without a read barrier."""
    as_it_should = ControllerRole._handle_read

    def read_at_once(self: Any, call: Any) -> None:
        if call.at_least_offset < 0 and self.active_epoch is not None:
            self._read(call)
        else:
            as_it_should(self, call)

    ControllerRole._handle_read = read_at_once  # type: ignore[method-assign]


def _no_check_quorum() -> None:
    """Let a leader without followers go on: not unsafe in itself, but it exposes the bugs that are."""
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
