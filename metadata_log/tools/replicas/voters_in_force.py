"""The voters in force, by the given replicas: the latest set, and the set before it while that may be in force.

Decides: which sets may be in force, and which directory is a voter's. Must not know: how a log is read.

A VotersRecord counts from its append on, and a majority of the set that it names commits it (KIP-853). While no replica
proves that commit, the record may also have been truncated: the set before it elected a leader that lacks it.

Static voters are in no record. If the last leader was elected among other voters, the sidecar files are wrong, or the
static voters were changed since. Until the static voters have elected a leader, both sets may be in force.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from metadata_log.ids import ZERO_DIRECTORY_ID, NodeId, ReplicaKey
from metadata_log.voters import majority_of

VotersSource: TypeAlias = Literal["record", "static", "election", "none"]


class NamedVoters(msgspec.Struct, frozen=True, kw_only=True):
    """The voters that one replica names.

    Attributes:
        recorded: the latest set in its log or its newest checkpoint; None if it has no set, or other logs deny it.
        recorded_at: the offset from which that set counts; -1 for a checkpoint's set.
        is_newer: True if a later release wrote the latest set, in an unknown form.
        before: the set that it replaced; empty if it is unknown, or if a repair wrote the latest one without a vote.
        static: the static voters, by its sidecar files; empty if no file has them.
        electors: the node ids of the voters in its last election.
        is_repaired: True if a repair began an epoch in its log.
    """

    recorded: tuple[ReplicaKey, ...] | None = None
    recorded_at: int = -1
    is_newer: bool = False
    before: tuple[ReplicaKey, ...] = ()
    static: tuple[ReplicaKey, ...] = ()
    electors: tuple[NodeId, ...] = ()
    is_repaired: bool = False


class VotersInForce(msgspec.Struct, frozen=True, kw_only=True):
    """The voters in force.

    Attributes:
        keys: the latest set; static voters have no directory ids. Empty if it is unknown.
        before: the set that it replaced, while nothing proves that the change is committed: it may still be in force.
            With static voters, the voters of the log's last election if they differ.
        source: the kind of evidence that names `keys`.
    """

    keys: tuple[ReplicaKey, ...] = ()
    before: tuple[ReplicaKey, ...] = ()
    source: VotersSource = "none"

    @property
    def is_certain(self) -> bool:
        """True if a record or a configuration names the voters, not only an election."""
        return self.source in ("record", "static")

    @property
    def sets(self) -> tuple[tuple[ReplicaKey, ...], ...]:
        """All sets that may be in force; none if the voters are unknown."""
        return tuple(voters for voters in (self.keys, self.before) if voters)

    @property
    def ids(self) -> tuple[int, ...]:
        """The node ids of all voters in these sets, in order."""
        return tuple(sorted({int(voter.node_id) for voters in self.sets for voter in voters}))

    def has_majority(self, keys: Iterable[ReplicaKey | None]) -> bool:
        """Return True if these directories are of a majority of every set that may be in force."""
        present = tuple(keys)
        return bool(self.keys) and all(is_majority(present, voters) for voters in self.sets)


def is_voter(key: ReplicaKey | None, voters: Iterable[ReplicaKey]) -> bool:
    """Return True if a directory is one of these voters'. A static voter has only its node id.

    A directory without an id does not match a voter with an id (Kafka's `VoterSet.isVoter`). A node that starts with it
    gets a new id, and is an observer. See `may_be_voter`.
    """
    if key is None:
        return False
    ids = (ZERO_DIRECTORY_ID, key.directory_id)
    return any(voter.node_id == key.node_id and voter.directory_id in ids for voter in voters)


def may_be_voter(key: ReplicaKey | None, voters: Iterable[ReplicaKey]) -> bool:
    """Return True if a directory is one of these voters', or has a voter's node id but no directory id."""
    if key is None or key.directory_id != ZERO_DIRECTORY_ID:
        return is_voter(key, voters)
    return any(voter.node_id == key.node_id for voter in voters)


def voters_in_force(ranked: Sequence[NamedVoters], committed: int) -> VotersInForce:
    """Return the voters in force; the set before the latest is included unless the change is committed.

    Args:
        ranked: the voters that each replica names, the most advanced replica first.
        committed: all records before this offset are committed, counted by the latest set.
    """
    latest = latest_set(ranked)
    if latest.source == "static":
        return msgspec.structs.replace(latest, before=_electors_beside(ranked, latest.keys))
    named = next((one for one in ranked if one.recorded is not None), None)
    if named is None or committed > named.recorded_at or set(named.before) == set(latest.keys):
        return latest
    return msgspec.structs.replace(latest, before=named.before)


def latest_set(ranked: Sequence[NamedVoters]) -> VotersInForce:
    """Return the latest voters by these replicas, the most advanced first; `before` is left empty.

    A record has precedence over static voters, and these over the voters of the last election. Nothing but that
    election shows that these still vote, so a repair must not rely on them (see `VotersInForce.is_certain`).
    """
    for named in ranked:
        if named.recorded is not None:
            return VotersInForce(keys=named.recorded, source="record")
        if named.is_newer:
            return VotersInForce()
    static = [named for named in ranked if named.static]
    if static:
        return VotersInForce(keys=_static(static), source="static")
    for named in ranked:
        if named.electors:
            return VotersInForce(keys=tuple(ReplicaKey(node_id=one) for one in named.electors), source="election")
    return VotersInForce()


def _electors_beside(ranked: Sequence[NamedVoters], static: tuple[ReplicaKey, ...]) -> tuple[ReplicaKey, ...]:
    """Return the voters of the last election if they differ from the static voters; otherwise none.

    Only replicas that name these static voters count: another replica may be of another log. An epoch that a repair
    began does not count, since no voter elected its leader.
    """
    last = next((named for named in ranked if named.electors and named.static == static), None)
    if last is None or last.is_repaired or set(last.electors) == {voter.node_id for voter in static}:
        return ()
    return tuple(ReplicaKey(node_id=one) for one in last.electors)


def _static(ranked: Sequence[NamedVoters]) -> tuple[ReplicaKey, ...]:
    """Return the static voters that most replicas name; after a repair, those of the most advanced replica."""
    if ranked[0].is_repaired:
        return ranked[0].static
    return Counter(named.static for named in ranked).most_common(1)[0][0]


def is_majority(keys: Iterable[ReplicaKey | None], voters: Sequence[ReplicaKey]) -> bool:
    """Return True if these directories belong to more than half of the voters; two of one node count once."""
    present = {key.node_id for key in keys if key is not None and is_voter(key, voters)}
    return len(present) >= majority_of(len(voters))
