"""The consistency of a read on the wire (DESIGN 2.1): linearizable, or of at least an offset.

Decides: how the two fields of a read combine. `quorum.api.request.Read` decides which requests are reads.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import Message

from kraft.v1 import common_pb2
from metadata_log.offsets import Offset
from quorum.api.calls import NO_OFFSET
from quorum.api.error_codes import Error
from quorum.transport.grpc.convert.common import BadMessage

LINEARIZABLE: Final = common_pb2.CONSISTENCY_LINEARIZABLE
AT_LEAST: Final = common_pb2.CONSISTENCY_AT_LEAST
_BY_THE_OFFSET: Final = common_pb2.CONSISTENCY_UNSPECIFIED


def set_consistency(message: Any, at_least_offset: Offset) -> None:
    """Set a read's offset, or linearizable for -1. Other requests stay as they are."""
    if not _is_read(message):
        return
    message.consistency = LINEARIZABLE if at_least_offset == NO_OFFSET else AT_LEAST
    if at_least_offset != NO_OFFSET:
        message.at_least_offset = at_least_offset


def at_least_offset_in(message: Any) -> Offset:
    """Return the offset that a read's image must reach; -1 for a linearizable read and for other requests.

    Raises:
        BadMessage: the offset is negative or contradicts the consistency, or the consistency is unknown.
    """
    if not _is_read(message):
        return NO_OFFSET
    has_offset, offset = message.HasField("at_least_offset"), message.at_least_offset
    if message.consistency not in (_BY_THE_OFFSET, LINEARIZABLE, AT_LEAST):
        raise BadMessage(Error.INVALID_REQUEST, f"there is no consistency {message.consistency}")
    if has_offset and offset < 0:
        raise BadMessage(Error.INVALID_REQUEST, f"at_least_offset is {offset}: it must not be negative")
    if has_offset and message.consistency == LINEARIZABLE:
        raise BadMessage(Error.INVALID_REQUEST, "a linearizable read takes no at_least_offset: leave one of them out")
    return Offset(offset) if has_offset or message.consistency == AT_LEAST else NO_OFFSET


def _is_read(message: Message) -> bool:
    """Return True if the message has the two fields. A test compares this with the requests' classes."""
    return "at_least_offset" in message.DESCRIPTOR.fields_by_name
