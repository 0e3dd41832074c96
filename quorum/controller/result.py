"""The result of the controller: records to append, and the response to send after their commit."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import msgspec

from metadata_log.records import MetadataRecord

T = TypeVar("T")


class ControllerResult(msgspec.Struct, Generic[T], frozen=True, kw_only=True, gc=False):
    """Records in order, and the response; `ControllerResult[None]` is the result of due work, without a client.

    The response may leave once the records, and all records in the image from which it was made, are committed.
    `is_atomic` requires one batch for the records. Otherwise several batches may have them, in order, as with the many
    partition changes for a broker: each prefix of them is a valid state.
    """

    records: tuple[MetadataRecord, ...] = ()
    response: T
    is_atomic: bool = True


NOTHING: Final[ControllerResult[None]] = ControllerResult(response=None)
"""Nothing to write, and no client waits."""
