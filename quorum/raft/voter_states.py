"""What a leader keeps of a change of the voters that is under way.

Decides: nothing. Must not know: how it goes on (`voter_changes`).
"""

from __future__ import annotations

import msgspec

from metadata_log.offsets import Offset
from metadata_log.voters import Voter
from quorum.raft.voter_messages import (
    NOTHING_APPENDED,
    AddRaftVoterResponse,
    RemoveRaftVoterResponse,
    UpgradeKRaftVersionResponse,
)


class PendingChange(msgspec.Struct, kw_only=True, gc=False):
    """At most one a leader. Until `deadline_ms` its asker waits; an appended record stays in the log in any case."""

    request_id: int | None
    """None once it is answered, or nobody waits any more."""
    answer: type[AddRaftVoterResponse] | type[RemoveRaftVoterResponse] | type[UpgradeKRaftVersionResponse]
    deadline_ms: int
    offset: Offset = NOTHING_APPENDED
    """Of its VotersRecord."""
    joining: Voter | None = None
    """The replica that is to be added, while it is asked who it is; `correlation` is of that request."""
    correlation: int | None = None
    ack_when_committed: bool = True
    validate_only: bool = False
