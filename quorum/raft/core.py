"""The state of one replica that all handlers share.

Decides: the present epoch state, and what of it is persisted when. Must not know: the meaning of messages. Handlers
change the epoch state only through `roles`, the log through `LogState`, and cause effects through `Outbox`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import LAST_EPOCH, Epoch
from metadata_log.voters import Endpoint
from quorum.api.raft_messages import Request, Response
from quorum.draws import NO_DRAWS, Draws
from quorum.raft.config import RaftConfig, StorageState
from quorum.raft.log_state import LogState
from quorum.raft.membership import Membership
from quorum.raft.outbox import Outbox
from quorum.raft.ready import Destination, MajorityFound, PeerRefused, QuorumStateData, Ready
from quorum.raft.states import ElectionState, EpochState, FetchLoop, Receiving, Suspicion, Transfer, Unattached
from quorum.raft.transitions import Role, check_transition

FAR_ABOVE: Final = 1 << 24
"""A peer that raises the epoch by more than this causes a warning."""
MAX_EPOCH: Final = LAST_EPOCH
"""The last epoch in which an election can follow: epochs are int32 in every file and message."""
QUICK_ATTEMPTS: Final = 20
"""The number of elections, and of failed Fetches, at the short interval before each wait doubles."""
PATIENCE_FACTOR: Final = 10
"""The timeout of a vote's response, in longest suspicion backoffs."""
STAGGER_FACTOR: Final = 5
"""The delay between two successors on the list, in longest suspicion backoffs."""


class Core:
    """The state of one replica. Times are those of the current input."""

    def __init__(
        self,
        me: ReplicaKey,
        config: RaftConfig,
        storage: StorageState,
        endpoints: tuple[Endpoint, ...],
        bootstrap: tuple[Destination, ...],
        *,
        can_vote: bool,
        auto_join: bool = False,
    ) -> None:
        self.me = me
        self.config = config
        self.endpoints = endpoints
        self.bootstrap = bootstrap
        self.can_vote = can_vote
        self.auto_join = auto_join
        self.log = LogState(storage)
        self._persisted = storage.quorum_state or QuorumStateData()
        self._removal_token: int | None = None
        self.members = Membership(
            me, storage.voters, endpoints, can_vote=can_vote, was_removed=self._persisted.was_removed
        )
        self.outbox = Outbox()
        self.suspicion = Suspicion()
        self.receiving: Receiving | None = None
        self.last_serial = 0
        self.transfer: Transfer | None = None
        self.now_ms = 0
        self.wall_ms = 0
        self.draws: Draws = NO_DRAWS
        self.about: type[Request | Response] | None = None
        """The type of the request or response of the current input, or None."""
        self.is_shutting_down = False
        self.is_shut = False
        self.is_started = False
        self._written = ElectionState(epoch=self._persisted.leader_epoch, voted=_vote_in(self._persisted, me))
        self.standing = _election_state_at_start(self._persisted, self.log.last_epoch, me)
        self.leader_endpoints: tuple[Endpoint, ...] = ()
        self.state: EpochState = Unattached(election_deadline_ms=None, fetch=FetchLoop())

    @property
    def role(self) -> Role:
        """The role of the present state."""
        return self.state.role

    @property
    def epoch(self) -> Epoch:
        """The present epoch; it never decreases."""
        return self.standing.epoch

    @property
    def current_receiving(self) -> Receiving | None:
        """The snapshot that is being fetched from this epoch's leader, or None."""
        receiving = self.receiving
        return receiving if receiving is not None and receiving.leader_epoch == self.epoch else None

    @property
    def leader_id(self) -> NodeId | None:
        """The leader for responses, or None; never this replica after it has resigned."""
        leader_id = self.standing.leader_id
        return None if leader_id == self.me.node_id and self.state.role is not Role.LEADER else leader_id

    @property
    def can_campaign(self) -> bool:
        """True for a voter, and for a removed voter whose removal is not known to be committed.

        If a leader removes itself and stops before another replica has the record, only it can win: its log is the
        longest. Its own vote does not count (Ongaro's thesis, 4.2.2). The high watermark is unknown after a restart,
        so quorum-state remembers a committed removal.
        """
        members = self.members
        if members.is_voter:
            return True
        if self._persisted.was_removed:
            return False
        return members.was_voter_before and members.history.latest_offset >= self.log.high_watermark

    def forget_loss(self) -> None:
        """Note that a majority responds, and report it if its loss was reported."""
        if self.suspicion.is_majority_loss_reported:
            self.outbox.add(MajorityFound())
        self.suspicion.forget_alone()

    def trust_leader(self) -> None:
        """End the suspicion, and any loss of a majority, because a leader with a majority lives."""
        self.forget_loss()
        self.suspicion.clear()

    def enter(self, state: EpochState, standing: ElectionState, leader_endpoints: tuple[Endpoint, ...]) -> None:
        """Change the epoch state and drop the requests in flight.

        Raises:
            InvariantViolation: the transition is not in the table, or a vote of this epoch would be forgotten.
        """
        check_transition(self.state.role, self.epoch, state.role, standing.epoch, can_campaign=self.can_campaign)
        if standing.epoch == self.epoch and self.standing.voted not in (None, standing.voted):
            raise InvariantViolation(f"the vote for {self.standing.voted} in epoch {self.epoch} would be forgotten")
        self.state = state
        self.standing = standing
        self.leader_endpoints = leader_endpoints
        self.outbox.in_flight.clear()

    def finish(self) -> Ready:
        """Persist a changed election state or removal, and return everything that the input caused."""
        if self.standing is not self._written:
            self._persist(self.standing)
        if self.members.history.latest_offset < self.log.high_watermark:
            self.remember_removal()
            self._forget_removal()
        return self.outbox.take()

    def remember_removal(self) -> None:
        """Persist that this replica was removed, before a checkpoint replaces the log records that show it."""
        if self.members.was_removed and not self._persisted.was_removed:
            self._persisted = msgspec.structs.replace(self._persisted, was_removed=True)
            self._removal_token = self.outbox.persist(self._persisted, gates=False)

    def _forget_removal(self) -> None:
        """Persist that this replica is a voter again by a committed set: a later removal may stay uncommitted."""
        if self.members.is_voter and self._persisted.was_removed:
            self._persisted = msgspec.structs.replace(self._persisted, was_removed=False)
            self.outbox.persist(self._persisted, gates=False)

    @property
    def is_remembering_removal(self) -> bool:
        """True while the removal is not durable in quorum-state: until then only the log shows it."""
        return self.outbox.is_persisting(self._removal_token)

    def _persist(self, standing: ElectionState) -> None:
        leads = standing.leader_id == self.me.node_id
        # As in Kafka, a leader's file names no vote: having led the epoch, it voted for itself.
        wanted = QuorumStateData(
            leader_id=standing.leader_id,
            leader_epoch=standing.epoch,
            voted=None if leads else standing.voted,
            was_removed=self._persisted.was_removed,
        )
        is_new = (standing.epoch, standing.voted) != (self._written.epoch, self._written.voted)
        self._written = standing
        if wanted != self._persisted:
            self._persisted = wanted
            self.outbox.persist(wanted, gates=is_new)

    def warn_of_leap(self, node_id: int, epoch: Epoch) -> None:
        """Warn if a peer raises the epoch further than elections do: after the last epoch no election is possible."""
        if epoch - self.epoch > FAR_ABOVE:
            self.refuse(
                node_id,
                f"it raises the epoch from {self.epoch} to {epoch}, which no elections do: a stranger may have sent "
                "this, or a quorum-state was changed. Once epochs end, `kraft recover epoch` brings them back",
            )

    def refuse(self, node_id: int, what: str) -> None:
        """Report that a peer's message is invalid."""
        request = "" if self.about is None else self.about.__name__.replace("Response", "Request")
        self.outbox.add(PeerRefused(node_id=node_id, what=what, request=request))

    def random_election_timeout_ms(self) -> int:
        """Return a random time of one to two election timeouts."""
        timeout = self.config.election_timeout_ms
        return self.draws.between(timeout, 2 * timeout - 1)

    def election_backoff_ms(self) -> int:
        """Return the wait before the next round of votes: short for `QUICK_ATTEMPTS` rounds, then doubling."""
        config = self.config
        backoff = self.draws.between(config.suspicion_backoff_min_ms, config.suspicion_backoff_max_ms)
        return min(backoff << self._doublings, max(config.election_backoff_max_ms, config.suspicion_backoff_max_ms))

    def response_timeout_ms(self) -> int:
        """Return how long to await one response while the leader is suspected: no silent peer may block a round."""
        config = self.config
        patience = PATIENCE_FACTOR * config.suspicion_backoff_max_ms + self.draws.between(
            0, config.suspicion_backoff_max_ms
        )
        return min(patience << self._doublings, config.election_timeout_ms)

    def successor_delay_ms(self, place: int) -> int:
        """Return the delay of the successor at `place` of a resigned leader's list; the first, 0, starts at once."""
        config = self.config
        return min(place * STAGGER_FACTOR * config.suspicion_backoff_max_ms, config.election_backoff_max_ms)

    @property
    def _doublings(self) -> int:
        return min(max(0, self.suspicion.attempts - QUICK_ATTEMPTS), 16)


def _vote_in(persisted: QuorumStateData, me: ReplicaKey) -> ReplicaKey | None:
    return me if persisted.leader_id == me.node_id else persisted.voted


def _election_state_at_start(persisted: QuorumStateData, last_epoch: Epoch, me: ReplicaKey) -> ElectionState:
    if last_epoch > persisted.leader_epoch:
        return ElectionState(epoch=last_epoch)
    return ElectionState(epoch=persisted.leader_epoch, leader_id=persisted.leader_id, voted=_vote_in(persisted, me))
