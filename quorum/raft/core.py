"""What all handlers of one replica share.

Decides: the present epoch state, and what of it is persisted when. Must not know: what any message means. Handlers
change the state through `roles` only, the log through `LogState`, the world through `Outbox`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import LAST_EPOCH, Epoch
from metadata_log.voters import Endpoint
from quorum.draws import NO_DRAWS, Draws
from quorum.raft.config import RaftConfig, StorageState
from quorum.raft.log_state import LogState
from quorum.raft.membership import Membership
from quorum.raft.outbox import Outbox
from quorum.raft.ready import Destination, MajorityFound, PeerRefused, QuorumStateData, Ready
from quorum.raft.states import ElectionState, EpochState, FetchLoop, Receiving, Suspicion, Transfer, Unattached
from quorum.raft.transitions import Role, check_transition

FAR_ABOVE: Final = 1 << 24
"""A request whose epoch is further above ours is worth a warning."""
MAX_EPOCH: Final = LAST_EPOCH
"""The last epoch that can be left again: epochs are int32 in every file and message."""
QUICK_ATTEMPTS: Final = 20
"""So many elections are asked for, and Fetches tried, at the short pace before each wait doubles."""
PATIENCE_FACTOR: Final = 10
"""An answer that decides an election is awaited so many times the longest suspicion backoff."""
STAGGER_FACTOR: Final = 5
"""Each place further down the list of successors waits so many times the longest suspicion backoff."""


class Core:
    """One replica's position. Times are taken from the input under way."""

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
        self.about: type[object] | None = None
        """The type of the request or response that is being handled."""
        self.is_shutting_down = False
        self.is_shut = False
        self.is_started = False
        self._written = ElectionState(epoch=self._persisted.leader_epoch, voted=_vote_in(self._persisted, me))
        self.standing = _election_state_at_start(self._persisted, self.log.last_epoch, me)
        self.leader_endpoints: tuple[Endpoint, ...] = ()
        self.state: EpochState = Unattached(election_deadline_ms=None, fetch=FetchLoop())

    @property
    def role(self) -> Role:
        """Of the present state."""
        return self.state.role

    @property
    def epoch(self) -> Epoch:
        """The present one; it never goes back."""
        return self.standing.epoch

    @property
    def current_receiving(self) -> Receiving | None:
        """The snapshot that is being fetched, if it is this epoch's leader's."""
        receiving = self.receiving
        return receiving if receiving is not None and receiving.leader_epoch == self.epoch else None

    @property
    def leader_id(self) -> NodeId | None:
        """The leader to tell others of: not this replica once it has resigned."""
        leader_id = self.standing.leader_id
        return None if leader_id == self.me.node_id and self.state.role is not Role.LEADER else leader_id

    @property
    def can_campaign(self) -> bool:
        """Whether this replica asks for elections: a voter, or one whose removal is not known to be committed.

        Where a leader that removed itself dies before anybody has the record, the others may need it: its log is the
        longest. Its own vote counts for nothing (Ongaro's thesis, 4.2.2). After a restart the high watermark is not
        known: quorum-state remembers a committed removal.
        """
        members = self.members
        if members.is_voter:
            return True
        if self._persisted.was_removed:
            return False
        return members.was_voter_before and members.history.latest_offset >= self.log.high_watermark

    def forget_loss(self) -> None:
        """A majority responds: report it, if its loss was reported."""
        if self.suspicion.is_majority_loss_reported:
            self.outbox.add(MajorityFound())
        self.suspicion.forget_alone()

    def trust_leader(self) -> None:
        """A leader of a majority lives: end the suspicion, and any loss of a majority."""
        self.forget_loss()
        self.suspicion.clear()

    def enter(self, state: EpochState, standing: ElectionState, leader_endpoints: tuple[Endpoint, ...]) -> None:
        """Change the state; whatever was asked in the old one no longer matters."""
        check_transition(self.state.role, self.epoch, state.role, standing.epoch, can_campaign=self.can_campaign)
        if standing.epoch == self.epoch and self.standing.voted not in (None, standing.voted):
            raise InvariantViolation(f"the vote for {self.standing.voted} in epoch {self.epoch} would be forgotten")
        self.state = state
        self.standing = standing
        self.leader_endpoints = leader_endpoints
        self.outbox.in_flight.clear()

    def finish(self) -> Ready:
        """The input is done: persist what of the standing is new, then all that the input caused."""
        if self.standing is not self._written:
            self._persist(self.standing)
        if self.members.history.latest_offset < self.log.high_watermark:
            self.remember_removal()
            self._forget_removal()
        return self.outbox.take()

    def remember_removal(self) -> None:
        """Persist that this replica's vote was taken from it, before a checkpoint stands for the log that shows it."""
        if self.members.was_removed and not self._persisted.was_removed:
            self._persisted = msgspec.structs.replace(self._persisted, was_removed=True)
            self._removal_token = self.outbox.persist(self._persisted, gates=False)

    def _forget_removal(self) -> None:
        """Persist that this replica is a voter again, by a committed set: a later removal may not be committed."""
        if self.members.is_voter and self._persisted.was_removed:
            self._persisted = msgspec.structs.replace(self._persisted, was_removed=False)
            self.outbox.persist(self._persisted, gates=False)

    @property
    def is_remembering_removal(self) -> bool:
        """Whether that is on its way to the disk: until it is there, the log alone shows it."""
        return self.outbox.is_persisting(self._removal_token)

    def _persist(self, standing: ElectionState) -> None:
        leads = standing.leader_id == self.me.node_id
        # A leader's own file names no vote (Kafka's do not either): that it led says for whom it voted.
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
        """Warn of a peer that raises the epoch by more than elections do: epochs end, and with them elections."""
        if epoch - self.epoch > FAR_ABOVE:
            self.refuse(
                node_id,
                f"it raises the epoch from {self.epoch} to {epoch}, which no elections do: a stranger may have sent "
                "this, or a quorum-state was changed. Once epochs end, `kraft recover epoch` brings them back",
            )

    def refuse(self, node_id: int, what: str) -> None:
        """Tell that a peer's message makes no sense."""
        request = "" if self.about is None else self.about.__name__.replace("Response", "Request")
        self.outbox.add(PeerRefused(node_id=node_id, what=what, request=request))

    def random_election_timeout_ms(self) -> int:
        """From one election timeout to two."""
        timeout = self.config.election_timeout_ms
        return self.draws.between(timeout, 2 * timeout - 1)

    def election_backoff_ms(self) -> int:
        """The wait before an election is asked for again: short at first, doubling once that has not helped."""
        config = self.config
        backoff = self.draws.between(config.suspicion_backoff_min_ms, config.suspicion_backoff_max_ms)
        return min(backoff << self._doublings, max(config.election_backoff_max_ms, config.suspicion_backoff_max_ms))

    def response_timeout_ms(self) -> int:
        """How long one answer is awaited while the leader is suspected: a silent peer holds up nobody."""
        config = self.config
        patience = PATIENCE_FACTOR * config.suspicion_backoff_max_ms + self.draws.between(
            0, config.suspicion_backoff_max_ms
        )
        return min(patience << self._doublings, config.election_timeout_ms)

    def successor_delay_ms(self, place: int) -> int:
        """How long after a resignation the successor at `place` of the list stands: the first, 0, at once."""
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
