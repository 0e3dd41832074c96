"""What a log's control records say of its quorum, and where: elections, voter sets, levels of kraft.version.

Decides: how these are told to those who judge a log, or a quorum, by them. Must not know: which of them are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.records import VotersRecord


class Election(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A LeaderChange, and where it stands.

    `is_repairs`: `kraft recover` wrote it: nobody granted a vote, not even who leads; or it stands in one batch with
    the voters, which leaders write at offset 0 alone. `is_late`: records of its epoch, with which the log begins, stand
    before it (KAFKA-15345).
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
    """A voter set in the log, from `offset` on."""

    offset: int
    voters: tuple[ReplicaKey, ...]


class QuorumChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A record in the log that sets kraft.version or the voters: the other is None. `begins_log`: in the batch at 0."""

    offset: int
    begins_log: bool
    kraft_version: int | None = None
    voters: VotersRecord | None = None

    def told(self, *, of_voters: bool, before: int | None = None) -> Iterator[int | VotersRecord]:
        """What it sets, of the two the one asked for, and if it stands before that offset."""
        value = self.voters if of_voters else self.kraft_version
        if value is not None and (before is None or self.offset < before):
            yield value
