"""What the controller gives back: records to append and the answer to send when they are committed."""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.records import MetadataRecord
from quorum.api import Response


class ControllerResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Records in order, and the answer.

    The answer may be sent once the records are committed, and never before what the image that it was made from
    contains. `is_atomic` demands that the records stand in one batch; otherwise they may be split over several, in
    order, as with the many partition changes that go with a broker (each prefix of them is a state to live with).
    """

    records: tuple[MetadataRecord, ...] = ()
    response: Response | None = None
    is_atomic: bool = True


NOTHING: Final = ControllerResult()
"""Nothing to write, nobody to answer."""
