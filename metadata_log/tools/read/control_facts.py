"""The facts in a log's control records, with their offsets: elections, voter sets, levels of kraft.version.

Must not know: which of them are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.records import VotersRecord


class Election(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A LeaderChange and its position in the log.

    `is_repairs`: `kraft recover` wrote it. Then no voter granted a vote, not even the leader, or the batch also holds
    the voters, which a leader writes only at offset 0. `is_late`: the log begins with records of the same epoch that
    precede the LeaderChange (KAFKA-15345).
    """

    epoch: int
    leader_id: int
    voters: tuple[NodeId, ...]
    granting: tuple[NodeId, ...]
    offset: int
    file: str
    position: int
    is_repairs: bool
    is_late: bool = False


class Voting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A voter set that applies from `offset` on."""

    offset: int
    voters: tuple[ReplicaKey, ...]


class QuorumChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A record that sets either kraft.version or the voters; the other field is unset. `begins_log`: it is in the batch
    at offset 0."""

    offset: int
    begins_log: bool
    kraft_version: int | None = None
    voters: VotersRecord | None = None

    def stated(self, *, of_voters: bool, before: int | None = None) -> Iterator[int | VotersRecord]:
        """Yield the voters if `of_voters`, otherwise the kraft.version, if the record sets it and lies before offset
        `before`."""
        value = self.voters if of_voters else self.kraft_version
        if value is not None and (before is None or self.offset < before):
            yield value
