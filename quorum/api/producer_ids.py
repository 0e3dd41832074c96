"""AllocateProducerIds and its response: a block of ids for a broker's idempotent producers (KIP-730)."""

from __future__ import annotations

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Request


class AllocateProducerIds(Request["AllocateProducerIdsResponse"], frozen=True, kw_only=True, gc=False):
    """A broker requests producer ids that no other broker has."""

    broker_id: int
    broker_epoch: int

    def rejected(self, error: Error, message: str | None = None) -> AllocateProducerIdsResponse:
        """Return the response that rejects the whole request."""
        return AllocateProducerIdsResponse(error=error, error_message=message)


class AllocateProducerIdsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The ids from `first_producer_id` on, `count` of them; -1 and 0 on error."""

    error: Error = Error.NONE
    first_producer_id: int = -1
    count: int = 0
    error_message: str | None = None
