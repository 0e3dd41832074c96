"""The voters in force, by the replicas that are here: the latest set, and the one that it replaced.

Decides: which sets may be in force, and which directory is a voter's. Must not know: how a log is read.

A VotersRecord counts from its append on, and a majority of the set that it names commits it (KIP-853). Until that is
proven, it may also have been dropped: then the set before it elected a leader, and committed without it.

Static voters are no record. If the last leader was elected among others, the files beside the log are wrong, or they
were changed since. Until a leader is elected by them, both sets may be in force.
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
        recorded: the latest set in its log, or in its newest checkpoint; None if it has none, or other logs deny it.
        recorded_at: the offset from which that set counts; -1 if it is a checkpoint's.
        is_newer: a later release wrote the latest set, in a form that is not known.
        before: the set that it replaced; empty if none is known, or a repair wrote the latest one: nobody elects that.
        static: the voters of its configuration, by files beside the log; empty if none says.
        electors: the node ids of those who could vote in its last election.
        is_repaired: a repair began an epoch in its log.
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
        keys: the latest set; without directory ids if it is static. Empty if it is not known.
        before: the set that it replaced, while nothing proves that the change is committed: it may still be in force.
            Beside static voters, those among whom the log's last leader was elected, if these are others.
        source: what names `keys`.
    """

    keys: tuple[ReplicaKey, ...] = ()
    before: tuple[ReplicaKey, ...] = ()
    source: VotersSource = "none"

    @property
    def is_certain(self) -> bool:
        """Return True if a record or a configuration names the voters, and not only an election."""
        return self.source in ("record", "static")

    @property
    def sets(self) -> tuple[tuple[ReplicaKey, ...], ...]:
        """All sets that may be in force; none if the voters are not known."""
        return tuple(voters for voters in (self.keys, self.before) if voters)

    @property
    def ids(self) -> tuple[int, ...]:
        """The node ids of all who may vote."""
        return tuple(sorted({int(voter.node_id) for voters in self.sets for voter in voters}))

    def has_majority(self, keys: Iterable[ReplicaKey | None]) -> bool:
        """Return True if these directories are of a majority of every set that may be in force."""
        present = tuple(keys)
        return bool(self.keys) and all(is_majority(present, voters) for voters in self.sets)


def is_voter(key: ReplicaKey | None, voters: Iterable[ReplicaKey]) -> bool:
    """Return True if a directory is one of these voters'; a static voter is known by its node id alone.

    A directory without an id is no voter's that has one (Kafka's `VoterSet.isVoter`): a node that starts there gets a
    new id, and only observes. See `may_be_voter`.
    """
    if key is None:
        return False
    ids = (ZERO_DIRECTORY_ID, key.directory_id)
    return any(voter.node_id == key.node_id and voter.directory_id in ids for voter in voters)


def may_be_voter(key: ReplicaKey | None, voters: Iterable[ReplicaKey]) -> bool:
    """Return True if a directory is one of these voters', or has no id that says that it is another one."""
    if key is None or key.directory_id != ZERO_DIRECTORY_ID:
        return is_voter(key, voters)
    return any(voter.node_id == key.node_id for voter in voters)


def voters_in_force(ranked: Sequence[NamedVoters], committed: int) -> VotersInForce:
    """Return the voters by these replicas, the most advanced first; `committed`: up to where all is, by the latest set.

    The set before the latest one is among them unless the change is committed.
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

    A record goes before static voters, and these before the last electors. Nothing but that election says that the
    electors still vote: a repair must not rely on them (see `VotersInForce.is_certain`).
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
    """Return those among whom the last leader was elected, if they are others than the static voters, else none.

    No voter elects the leader of an epoch that a repair began. The replicas that name these voters are asked: another
    may be of another log.
    """
    last = next((named for named in ranked if named.electors and named.static == static), None)
    if last is None or last.is_repaired or set(last.electors) == {voter.node_id for voter in static}:
        return ()
    return tuple(ReplicaKey(node_id=one) for one in last.electors)


def _static(ranked: Sequence[NamedVoters]) -> tuple[ReplicaKey, ...]:
    """Return the static voters that most replicas name; those of the most advanced one if a repair set them there."""
    if ranked[0].is_repaired:
        return ranked[0].static
    return Counter(named.static for named in ranked).most_common(1)[0][0]


def is_majority(keys: Iterable[ReplicaKey | None], voters: Sequence[ReplicaKey]) -> bool:
    """Return True if these directories are of more than half of the voters; two of one node count once."""
    present = {key.node_id for key in keys if key is not None and is_voter(key, voters)}
    return len(present) >= majority_of(len(voters))
