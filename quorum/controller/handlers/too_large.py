"""The bound on the items of one request: a larger request is rejected as a whole before any work.

Source: Kafka's controllers bound the records of one operation in the same way, with the same error.
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
    """Return the error response if the request names or needs more items than allowed, or None."""
    if count <= turn.config.max_records_per_batch:
        return None
    return ControllerResult(response=request.rejected(Error.POLICY_VIOLATION, TOO_LARGE))
