"""How current a read has to be, on the wire (DESIGN 15): linearizable, or at least of an offset.

Decides: what the fields of a read mean together, and which messages have them.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import Message

from kraft.v1 import access_pb2, admin_pb2, common_pb2
from kraft.v1 import controller_pb2 as pb
from metadata_log.offsets import Offset
from quorum.api.calls import NO_OFFSET
from quorum.api.error_codes import Error
from quorum.transport.grpc.convert.common import BadMessage

LINEARIZABLE: Final = common_pb2.CONSISTENCY_LINEARIZABLE
AT_LEAST: Final = common_pb2.CONSISTENCY_AT_LEAST
_BY_THE_OFFSET: Final = common_pb2.CONSISTENCY_UNSPECIFIED
_READS: Final = (
    pb.DescribeTopicsRequest,
    pb.DescribeClusterRequest,
    admin_pb2.DescribeConfigsRequest,
    access_pb2.DescribeAclsRequest,
    access_pb2.DescribeClientQuotasRequest,
    access_pb2.DescribeUserScramCredentialsRequest,
)


def set_consistency(message: Any, at_least_offset: Offset) -> None:
    """Have a read be of at least that offset, or, by -1, linearizable; of what is no read, say nothing."""
    if not isinstance(message, _READS):
        return
    message.consistency = LINEARIZABLE if at_least_offset == NO_OFFSET else AT_LEAST
    if at_least_offset != NO_OFFSET:
        message.at_least_offset = at_least_offset


def at_least_offset_in(message: Message) -> Offset:
    """The offset that a read has to be of at the least; -1: that it be linearizable, and for what is no read.

    Raises:
        BadMessage: the offset is negative, does not go with the consistency, or that is none that this version knows.
    """
    if not isinstance(message, _READS):
        return NO_OFFSET
    has_offset, offset = message.HasField("at_least_offset"), message.at_least_offset
    if message.consistency not in (_BY_THE_OFFSET, LINEARIZABLE, AT_LEAST):
        raise BadMessage(Error.INVALID_REQUEST, f"there is no consistency {message.consistency}")
    if has_offset and offset < 0:
        raise BadMessage(Error.INVALID_REQUEST, f"at_least_offset is {offset}: it must not be negative")
    if has_offset and message.consistency == LINEARIZABLE:
        raise BadMessage(Error.INVALID_REQUEST, "a linearizable read takes no at_least_offset: leave one of them out")
    return Offset(offset) if has_offset or message.consistency == AT_LEAST else NO_OFFSET
