"""A planted bug, for the proof that it would be seen: a controller that answers a write before it is committed.

`python -m tests.chaos.planted_early_answer PARENT COMMAND...`, as `quorum.cli.demo.child`. It lives in this launcher
only; nothing of it is in what is shipped.
"""

from __future__ import annotations

from typing import Any

from metadata_log.offsets import Offset
from quorum.cli.demo import child
from quorum.node import controller_role


def _answer_at_once(self: Any, call: Any, result: Any, offset: Offset) -> None:
    call.respond(self._answer(result.response, offset))


if __name__ == "__main__":
    controller_role.ControllerRole._answer_after = _answer_at_once  # type: ignore[method-assign]
    child.run()
