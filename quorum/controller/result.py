"""The controller's result: records to append and the response to send when they are committed."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import msgspec

from metadata_log.records import MetadataRecord

T = TypeVar("T")


class ControllerResult(msgspec.Struct, Generic[T], frozen=True, kw_only=True, gc=False):
    """Records in order, and the response; `ControllerResult[None]` is of what no client requested.

    The response may be sent once the records are committed, and never before what the image that it was made from
    contains. `is_atomic`: the records belong in one batch. Otherwise they may be split over several, in order, as with
    the many partition changes that go with a broker: each prefix of them is a state to live with.
    """

    records: tuple[MetadataRecord, ...] = ()
    response: T
    is_atomic: bool = True


NOTHING: Final[ControllerResult[None]] = ControllerResult(response=None)
"""Nothing to write, and no client waits."""
