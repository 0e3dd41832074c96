"""The bound on what one request may be about: more is refused as a whole, before anything is made of it.

Decides nothing else. Source: Kafka's controllers bound the records of one operation so, and refuse with this code.
"""

from __future__ import annotations

from typing import TypeVar

from quorum.api.error_codes import Error
from quorum.api.request import Request, Response
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn

TOO_LARGE = "Unable to perform excessively large batch operation."


R = TypeVar("R", bound=Response)


def refusal_of_too_many(request: Request[R], count: int, turn: Turn) -> ControllerResult[R] | None:
    """The refusal where the request names, or needs, `count` of something, and so many are too many; else None."""
    if count <= turn.config.max_records_per_batch:
        return None
    return ControllerResult(response=request.rejected(Error.POLICY_VIOLATION, TOO_LARGE))
