"""The Raft replica: `on_input(input, clock) -> Ready`.

The only public interface to the core. Must not know: time, randomness, disks, networks (DESIGN 1).
"""

from __future__ import annotations

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Endpoint, VoterSet
from quorum.api.quorum_description import QuorumDescription
from quorum.raft import deadlines, description
from quorum.raft.config import RaftConfig, StorageState
from quorum.raft.core import Core
from quorum.raft.dispatch import dispatch
from quorum.raft.inputs import Clock, Input
from quorum.raft.ready import Destination, Ready
from quorum.raft.states import Leader
from quorum.raft.transfer import is_handing_over
from quorum.raft.transitions import Role


class RaftMachine:
    """One replica of the metadata log; voter or observer is looked up in the log's latest voter set.

    Raises:
        InvariantViolation: from `on_input`, if an input breaks its contract (a completion that is not due, a second
            Start) or the core has a bug. The node must stop. No message of a peer raises.
    """

    def __init__(
        self,
        replica: ReplicaKey,
        config: RaftConfig,
        storage: StorageState,
        endpoints: tuple[Endpoint, ...] = (),
        bootstrap: tuple[Destination, ...] = (),
        *,
        can_vote: bool = True,
        auto_join: bool = False,
    ) -> None:
        """`endpoints`: this replica's own. `bootstrap`: servers that may know the leader, in addition to the voters.

        `auto_join`: as an observer that can vote, it asks the leader to make it a voter."""
        self.replica = replica
        self.config = config
        self._core = Core(replica, config, storage, endpoints, bootstrap, can_vote=can_vote, auto_join=auto_join)

    def on_input(self, received: Input, clock: Clock) -> Ready:
        """Handle one input; return the resulting writes and effects."""
        core = self._core
        core.now_ms = clock.monotonic_ms
        core.wall_ms = clock.wall_ms
        dispatch(core, received)
        return core.finish()

    def next_deadline_ms(self) -> int | None:
        """Return when `Elapsed` is due, in the clock's `monotonic_ms`, or None."""
        return deadlines.next_deadline_ms(self._core)

    @property
    def epoch(self) -> Epoch:
        """The highest epoch that this replica knows."""
        return self._core.epoch

    @property
    def leader_id(self) -> NodeId | None:
        """The leader of the present epoch, or None; this replica's id only while it leads."""
        return self._core.leader_id

    @property
    def leader_endpoints(self) -> tuple[Endpoint, ...]:
        """The leader's endpoints, as far as they are known."""
        return self._core.leader_endpoints if self._core.leader_id is not None else ()

    @property
    def role(self) -> Role:
        """The epoch state; a string: `unattached`, `prospective`, `candidate`, `follower`, `leader`, `resigned`."""
        return self._core.role

    @property
    def is_leader(self) -> bool:
        """True if this replica leads its epoch."""
        return self._core.role is Role.LEADER

    @property
    def is_handing_over(self) -> bool:
        """True while a transfer is about to end this leader's epoch: new proposals should wait for its outcome."""
        return is_handing_over(self._core)

    @property
    def is_voter(self) -> bool:
        """True if this replica is in the latest voter set."""
        return self._core.members.is_voter

    @property
    def log_end_offset(self) -> Offset:
        """One past the last record, durable or not."""
        return self._core.log.end_offset

    @property
    def log_end(self) -> OffsetAndEpoch:
        """The log end offset with the epoch of the last record; 0 in an empty log."""
        return self._core.log.end

    @property
    def flushed_offset(self) -> Offset:
        """The offset up to which the log is durable, exclusive."""
        return self._core.log.flushed_offset

    @property
    def high_watermark(self) -> Offset:
        """The offset up to which the log is known to be committed, exclusive; it never decreases."""
        return self._core.log.high_watermark

    @property
    def voters(self) -> VoterSet:
        """The latest set in the log, committed or not."""
        return self._core.members.latest

    @property
    def voters_offset(self) -> Offset:
        """The offset of the latest voter set's record, or -1."""
        return self._core.members.history.latest_offset

    @property
    def kraft_version(self) -> int:
        """1 if the log has the voters, 0 if the configuration has."""
        return self._core.members.kraft_version

    def awaits(self, correlation: int) -> bool:
        """Return True if the response to that request still matters."""
        return correlation in self._core.outbox.in_flight

    def truncation_for(self, leader_end: OffsetAndEpoch) -> Offset:
        """Return the log's end after a truncation for this diverging epoch of a Fetch response."""
        return self._core.log.truncation_for(leader_end)

    def voters_at(self, end_offset: Offset) -> VoterSet | None:
        """Return the set in force before `end_offset` if a record holds it, or None (static voters)."""
        return self._core.members.history.carried_at(end_offset)

    @property
    def is_remembering_removal(self) -> bool:
        """True while the log shows that this replica was removed, but `quorum-state` does not yet."""
        return self._core.is_remembering_removal

    def heard_since(self, monotonic_ms: int) -> frozenset[NodeId]:
        """Return the ids of the voters, and of the observers that have fetched from this leader since that moment."""
        state = self._core.state
        observers = state.observers.values() if isinstance(state, Leader) else ()
        heard = (progress.key.node_id for progress in observers if progress.has_fetched_since(monotonic_ms))
        return frozenset((*self._core.members.latest.node_ids, *heard))

    def describe(self) -> str:
        """Return one line of stable text."""
        return description.describe(self._core)

    def describe_quorum(self) -> QuorumDescription:
        """Return the data of a DescribeQuorum response."""
        return description.describe_quorum(self._core)
