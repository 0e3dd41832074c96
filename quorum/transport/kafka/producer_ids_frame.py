"""The answer to AllocateProducerIds, put together by hand: five numbers.

Decides: the bytes of AllocateProducerIdsResponse, version 0. It is the smallest write that there is, and kio's entity
and its bytes took a tenth of all its work; a test compares the two.

Source: AllocateProducerIdsResponse.json of Kafka 4.3; KIP-730.
"""

from __future__ import annotations

import struct
from typing import Final

from quorum.api.producer_ids import AllocateProducerIdsResponse

_FRAME: Final = struct.Struct(">ix4xhqix")
"""Correlation id, the header's tags (none), no throttling, error, first id, how many, no tags."""


def producer_ids_frame(correlation_id: int, response: AllocateProducerIdsResponse) -> bytes:
    """The answer with its header, without its length."""
    return _FRAME.pack(correlation_id, response.error, response.first_producer_id, response.count)
