"""Who votes, as this replica knows it: the latest voter set in its log, committed or not (KIP-853).

Decides: whether this replica is a voter, and who the others are. Must not know: records, epochs, messages.
"""

from __future__ import annotations

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Offset
from metadata_log.voters import Endpoint, Voter, VoterHistory, VoterSet
from quorum.raft.ready import Destination


class Membership:
    """Derived from the history whenever that changes, so that asking is free."""

    __slots__ = (
        "_can_vote",
        "_own",
        "_voted_before",
        "history",
        "is_voter",
        "kraft_version",
        "latest",
        "majority",
        "needs_update",
        "peers",
        "was_removed",
        "was_voter_before",
    )

    def __init__(
        self,
        me: ReplicaKey,
        history: VoterHistory,
        endpoints: tuple[Endpoint, ...] = (),
        *,
        can_vote: bool,
        was_removed: bool = False,
    ) -> None:
        self._own = Voter(key=me, endpoints=endpoints)
        self._can_vote = can_vote
        self._voted_before = was_removed
        self.take(history)

    def take(self, history: VoterHistory) -> bool:
        """Go by `history` from now on; whether the latest set has changed."""
        changed = not hasattr(self, "latest") or history.latest != self.latest
        self.history: VoterHistory = history
        self.latest: VoterSet = history.latest
        self.majority: int = self.latest.majority
        self.kraft_version: int = history.kraft_version
        me = self._own.key
        self.is_voter: bool = self._can_vote and self.latest.is_voter(me)
        self.peers: tuple[Voter, ...] = tuple(
            voter for voter in self.latest if not (self.is_voter and voter.key.node_id == me.node_id)
        )
        """The voters that are not this replica; a former self with another directory is one of them."""
        entry = self.latest.get(me.node_id)
        self.needs_update: bool = (
            self.is_voter
            and self.kraft_version > 0
            and bool(self._own.endpoints)
            and entry is not None
            and not entry.says_the_same(self._own)
        )
        """Whether the log says something else of this voter than it says itself."""
        self.was_removed: bool = me not in self.latest.keys and (self._voted_before or history.holds_before_latest(me))
        """Whether its vote was taken from it; by a change that may yet be truncated, where that is not committed."""
        self.was_voter_before: bool = self._can_vote and history.before_latest.is_voter(me)
        return changed

    def begin_with(self, history: VoterHistory, committed: Offset) -> bool:
        """Go by a history without its beginning; that this replica voted then is not forgotten, if what said so in the
        history before lies below `committed` or is known to be committed by itself."""
        self._voted_before = self._voted_before or self.history.has_held(self._own.key, committed)
        return self.take(history)

    @property
    def own(self) -> Voter:
        """This replica as its voter set entry should be."""
        return self._own

    @property
    def is_only_voter(self) -> bool:
        """Whether this replica is the whole quorum."""
        return self.is_voter and len(self.latest) == 1

    def endpoints_of(self, node_id: NodeId) -> tuple[Endpoint, ...]:
        """Where the voter set says that node listens; nowhere for one that it does not hold."""
        voter = self.latest.get(node_id)
        return voter.endpoints if voter else ()


def destination_of(voter: Voter) -> Destination:
    """Where a request to that voter goes."""
    return Destination(node_id=voter.key.node_id, endpoints=voter.endpoints)
