"""The voters that this replica knows: the latest voter set in its log, committed or not (KIP-853).

Decides: whether this replica is a voter, and which other voters there are. Must not know: records, epochs, messages.
"""

from __future__ import annotations

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Offset
from metadata_log.voters import Endpoint, Voter, VoterHistory, VoterSet
from quorum.raft.ready import Destination


class Membership:
    """Values that are derived from the voter history when it changes, so that reading them costs nothing."""

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
        """Replace the history; return True if the latest voter set has changed."""
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
        """The voters but this replica, including this node with a former directory."""
        entry = self.latest.get(me.node_id)
        self.needs_update: bool = (
            self.is_voter
            and self.kraft_version > 0
            and bool(self._own.endpoints)
            and entry is not None
            and not entry.says_the_same(self._own)
        )
        """True if this voter's entry in the log differs from its configuration."""
        self.was_removed: bool = me not in self.latest.keys and (self._voted_before or history.holds_before_latest(me))
        """True if this replica was removed from the voters, possibly by a change that is not committed yet."""
        self.was_voter_before: bool = self._can_vote and history.before_latest.is_voter(me)
        return changed

    def begin_with(self, history: VoterHistory, committed: Offset) -> bool:
        """Replace the history by one with a later start; return True if the latest voter set has changed.

        If a set of the former history certainly took effect (`committed` bounds it) and held this replica, remember
        that it was a voter.
        """
        self._voted_before = self._voted_before or self.history.has_held(self._own.key, committed)
        return self.take(history)

    @property
    def own(self) -> Voter:
        """This replica's voter entry, by its configuration."""
        return self._own

    @property
    def is_only_voter(self) -> bool:
        """True if this replica is the only voter."""
        return self.is_voter and len(self.latest) == 1

    def endpoints_of(self, node_id: NodeId) -> tuple[Endpoint, ...]:
        """Return the endpoints of a voter; empty for a node that is not a voter."""
        voter = self.latest.get(node_id)
        return voter.endpoints if voter else ()


def destination_of(voter: Voter) -> Destination:
    """Return the destination of requests to that voter."""
    return Destination(node_id=voter.key.node_id, endpoints=voter.endpoints)
