"""The Raft replica: `on_input(input, clock) -> Ready`.

Decides: which handler an input goes to. Must not know: time, randomness, disks, networks (DESIGN 1).
"""

from __future__ import annotations

from metadata_log.errors import InvariantViolation
from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint, VoterSet
from quorum.raft.config import RaftConfig, StorageState
from quorum.raft.inputs import Clock, Input
from quorum.raft.quorum_description import QuorumDescription
from quorum.raft.ready import Destination, Ready


class RaftMachine:
    """One replica of the metadata log; voter or observer is looked up in the log's latest voter set."""

    def __init__(
        self,
        replica: ReplicaKey,
        config: RaftConfig,
        storage: StorageState,
        endpoints: tuple[Endpoint, ...] = (),
        bootstrap: tuple[Destination, ...] = (),
        *,
        can_vote: bool = True,
    ) -> None:
        self.replica = replica
        self.config = config
        self._storage = storage
        self._endpoints = endpoints
        self._bootstrap = bootstrap
        self._can_vote = can_vote

    epoch: Epoch
    leader_id: NodeId | None
    leader_endpoints: tuple[Endpoint, ...]
    role: str
    """`unattached`, `prospective`, `candidate`, `follower`, `leader` or `resigned`."""
    is_leader: bool
    log_end_offset: Offset
    flushed_offset: Offset
    high_watermark: Offset
    voters: VoterSet

    def on_input(self, received: Input, clock: Clock) -> Ready:
        """Take one input; the answer is what to write and what to send."""
        raise InvariantViolation(f"no handler for {received!r} at {clock!r}")

    def next_deadline_ms(self) -> int | None:
        """When `Elapsed` is due, in the clock's `monotonic_ms`; None when nothing is."""
        raise InvariantViolation("no handler")

    def describe(self) -> str:
        """One line of stable text."""
        raise InvariantViolation("no handler")

    def describe_quorum(self) -> QuorumDescription:
        """What DescribeQuorum answers."""
        raise InvariantViolation("no handler")
