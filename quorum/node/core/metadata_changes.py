"""A change of the metadata, as a watcher of the node sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from metadata_log.offsets import Offset
from quorum.api.request import AnyRequest, Response
from quorum.api.voter_messages import VoterRequest, VoterResponse

if TYPE_CHECKING:
    from metadata_log.records import MetadataRecord
    from quorum.api.context import RequestContext


class SessionTimeout(msgspec.Struct, frozen=True):
    """A request of the controller to itself: it fences a broker that has stopped its heartbeats."""


SESSION_TIMEOUT: Final = SessionTimeout()
ChangeRequest: TypeAlias = AnyRequest | VoterRequest | SessionTimeout
ChangeResponse: TypeAlias = Response | VoterResponse | None
"""None for a change by the controller itself."""


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request has changed the metadata: its records are committed, or a leader was lost with them appended.

    It holds secrets, such as passwords in configs: a watcher shows names only.
    """

    request: ChangeRequest
    response: ChangeResponse
    context: RequestContext
    offset: Offset
    """The offset of the last record."""
    records: tuple[MetadataRecord, ...] = ()
    """The records that name what neither request nor response does."""
    is_committed: bool = True
    """False if another leader decides whether the change commits."""


class MetadataChanged(msgspec.Struct, frozen=True, gc=False):
    """Changes whose outcome is now known, in the order of their offsets."""

    changes: tuple[Change, ...]
