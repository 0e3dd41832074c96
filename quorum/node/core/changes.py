"""Accepted changes of the metadata: each is reported once its last record commits.

Decides: when a change counts as accepted, and which records are kept until then. Must not know: how a change is written
to the log, or which changes an operator wants to see.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from metadata_log.offsets import Offset
from metadata_log.records import (
    BrokerRegistrationChangeRecord,
    DelegationTokenRecord,
    MetadataRecord,
    RemoveDelegationTokenRecord,
)
from quorum.api.brokers import BrokerHeartbeat
from quorum.api.calls import NO_CALLER, ClientCall, PeerResponse
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.request import Response
from quorum.api.tokens import CreateDelegationToken, ExpireDelegationToken, RenewDelegationToken
from quorum.api.voter_messages import (
    NOTHING_APPENDED,
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    UpgradeKRaftVersionRequest,
    UpgradeKRaftVersionResponse,
    VoterRequest,
)
from quorum.node.core.metadata_changes import SESSION_TIMEOUT, Change, MetadataChanged
from quorum.node.core.ports import NodeEvent, PeerRequested

MOST_PENDING: Final = 20_000
"""The most changes that wait. A leader without a majority resigns within seconds, so fewer wait in practice."""

_BY_RECORDS: Final = (BrokerHeartbeat, CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken)
"""Requests that, even with their responses, do not name all that changed."""
_NAMED: Final = (BrokerRegistrationChangeRecord, DelegationTokenRecord, RemoveDelegationTokenRecord)
_OF_VOTERS: Final = (AddRaftVoterRequest, RemoveRaftVoterRequest, UpdateRaftVoterRequest, UpgradeKRaftVersionRequest)
R = TypeVar("R", bound=Response)
AnsweredChange = AddRaftVoterResponse | RemoveRaftVoterResponse | UpdateRaftVoterResponse | UpgradeKRaftVersionResponse


class Changes:
    """The changes that this leader has staged or appended, in the order of their offsets."""

    def __init__(self, tell: Callable[[NodeEvent], None]) -> None:
        self._tell = tell
        self._committed_end = Offset(0)
        self._pending: deque[Change] = deque()

    def add(self, call: ClientCall[R], response: R, records: Sequence[MetadataRecord], last_offset: Offset) -> None:
        """Keep a request that led to records, until its outcome is known."""
        if not records:
            return
        if len(self._pending) >= MOST_PENDING:
            self._tell_unknown(self._pending.popleft())
        request = call.request
        named = tuple(record for record in records if type(record) in _NAMED) if type(request) in _BY_RECORDS else ()
        self._pending.append(
            Change(request=request, response=response, context=call.context, offset=last_offset, records=named)
        )

    def add_own(self, records: Sequence[MetadataRecord], last_offset: Offset) -> None:
        """Keep a change that the controller made itself, if it changed the registration of a broker."""
        named = tuple(record for record in records if isinstance(record, BrokerRegistrationChangeRecord))
        if named:
            self._pending.append(
                Change(request=SESSION_TIMEOUT, response=None, context=NO_CALLER, offset=last_offset, records=named)
            )

    def watch(self, event: PeerRequested) -> Callable[[PeerResponse], None]:
        """Return the function that answers that request, wrapped so that it also keeps a reconfiguration."""
        call, respond = event.call, event.respond
        request = call.request
        if not isinstance(request, _OF_VOTERS):
            return respond

        def watched(response: PeerResponse) -> None:
            if isinstance(response, AnsweredChange) and response.voters_offset > NOTHING_APPENDED:
                self._on_voters_changed(request, call.context, response)
            respond(response)

        return watched

    def _on_voters_changed(self, request: VoterRequest, context: RequestContext, response: AnsweredChange) -> None:
        change = Change(request=request, response=response, context=context, offset=response.voters_offset)
        if response.error is not Error.NONE:
            self._tell_unknown(change)
        elif change.offset < self._committed_end:
            self._tell(MetadataChanged((change,)))
        else:
            self._pending.append(change)

    def on_committed(self, end: Offset) -> None:
        """Report the changes below this offset."""
        pending, self._committed_end = self._pending, end
        changes: list[Change] = []
        while pending and pending[0].offset < end:
            changes.append(pending.popleft())
        if changes:
            self._tell(MetadataChanged(tuple(changes)))

    def drop_staged(self, end: Offset) -> None:
        """Discard the changes from this offset on: they were not appended, and other records will get their offsets."""
        while self._pending and self._pending[-1].offset >= end:
            self._pending.pop()

    def on_lost_leadership(self) -> None:
        """Report the appended changes with an unknown outcome: another leader decides whether they commit."""
        if self._pending:
            self._tell_unknown(*self._pending)
            self._pending.clear()

    def _tell_unknown(self, *changes: Change) -> None:
        unknown = (msgspec.structs.replace(change, is_committed=False) for change in changes)
        self._tell(MetadataChanged(tuple(unknown)))
