"""The data of each epoch state, and of what outlives it: suspicion, a transfer, a snapshot that is received.

Must not know: the order of states (`transitions`), or the effect of messages. These structs change in place: they
belong to one core, and every transition makes a new one. Times are monotonic ms.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Voter, VoterSet
from quorum.api.raft_messages import FetchRequest, FetchResponse
from quorum.api.voter_messages import (
    NOTHING_APPENDED,
    AddRaftVoterResponse,
    RemoveRaftVoterResponse,
    UpgradeKRaftVersionResponse,
)
from quorum.raft.transitions import Role


class Tally(msgspec.Struct, kw_only=True, gc=False):
    """One round of votes. `granted` is in the order of the grants. Unreachable voters are asked again next round."""

    voters: frozenset[NodeId]
    majority: int
    granted: list[NodeId] = []
    rejected: set[NodeId] = set()
    unreachable: set[NodeId] = set()

    @classmethod
    def of(cls, voters: VoterSet) -> Tally:
        """Return an empty tally of these voters."""
        return cls(voters=frozenset(voters.node_ids), majority=voters.majority)

    def grant(self, node_id: NodeId) -> None:
        """Count a voter's vote, once; ignore a node that is not a voter."""
        if node_id in self.voters and node_id not in self.granted:
            self.granted.append(node_id)

    @property
    def is_won(self) -> bool:
        """True if a majority has granted."""
        return len(self.granted) >= self.majority

    @property
    def is_lost(self) -> bool:
        """True if the voters that have neither rejected nor failed to respond are no majority."""
        out = {node_id for node_id in self.rejected | self.unreachable if node_id not in self.granted}
        return len(self.voters) - len(out & self.voters) < self.majority


class FetchLoop(msgspec.Struct, kw_only=True, gc=False):
    """The Fetch that a follower or observer has in flight, or the time of the next."""

    correlation: int | None = None
    retry_at_ms: int = 0
    turn: int = 0
    """Index of the next voter or bootstrap server to ask while looking for the leader."""
    failures: int = 0
    """The number of Fetches in a row that no leader served."""
    is_id_taken: bool = False
    """Another process leads with this replica's node id: no Fetch succeeds before an operator changes that."""


class Unattached(msgspec.Struct, kw_only=True, gc=False):
    """The replica knows no leader. A voter waits for `election_deadline_ms`; an observer looks for the leader."""

    role: ClassVar[Role] = Role.UNATTACHED

    election_deadline_ms: int | None
    fetch: FetchLoop = msgspec.field(default_factory=FetchLoop)


class Prospective(msgspec.Struct, kw_only=True, gc=False):
    """The replica asks for pre-votes (KIP-996). `defer_until_ms`: it lets a better candidate campaign until then."""

    role: ClassVar[Role] = Role.PROSPECTIVE

    tally: Tally
    election_deadline_ms: int
    defer_until_ms: int | None = None


class Candidate(msgspec.Struct, kw_only=True, gc=False):
    """The replica asks for votes; its own counts once durable. `retry_at_ms`: the next round after a rejected vote."""

    role: ClassVar[Role] = Role.CANDIDATE

    tally: Tally
    election_deadline_ms: int
    retry_at_ms: int | None = None


class Follower(msgspec.Struct, kw_only=True, gc=False):
    """The replica fetches from the leader. `has_fetched`: the leader has served it.

    `is_leader_out_of_reach`: an observer asks other replicas for the leader.
    """

    role: ClassVar[Role] = Role.FOLLOWER

    fetch_deadline_ms: int
    has_fetched: bool = False
    is_leader_out_of_reach: bool = False
    leaves_it_to_others: bool = False
    """The leader has resigned: until `fetch_deadline_ms` its other successors may campaign first."""
    awaits_end: bool = False
    """The leader has announced its resignation, but not yet its successors (EndQuorumEpoch)."""
    refused: set[NodeId] = msgspec.field(default_factory=set)
    """Voters whose pre-votes were rejected since the leader last served this replica, with logs no longer than here."""
    voter_ask: int | None = None
    """The correlation of the request about this replica's own vote that is in flight, or None."""
    voter_ask_due_ms: int = 0
    """Monotonic ms; before then no such request is sent."""
    has_updated_leader: bool = False
    """At kraft.version 0: this voter has sent the leader its endpoints."""
    fetch: FetchLoop = msgspec.field(default_factory=FetchLoop)

    def note_served(self, fetch_deadline_ms: int) -> None:
        """Note a useful Fetch response of the leader, and move the fetch deadline."""
        self.has_fetched = True
        self.fetch.failures = 0
        self.refused.clear()
        self.is_leader_out_of_reach = False
        self.fetch_deadline_ms = fetch_deadline_ms


class Receiving(msgspec.Struct, kw_only=True, gc=False):
    """A snapshot that is being fetched from the leader of `leader_epoch`; void in any other epoch.

    Bytes before `position` are stored, bytes before `stored_next` soon. `is_busy`: a chunk is being stored, or the
    snapshot is being checked. `serial` identifies completions of the disk.
    """

    serial: int
    snapshot_id: OffsetAndEpoch
    leader_epoch: Epoch
    position: int = 0
    stored_next: int = 0
    size: int | None = None
    is_busy: bool = False


class Progress(msgspec.Struct, kw_only=True, gc=False):
    """The leader's knowledge of one replica. Timestamps are wall-clock ms for output; `fetched_at_ms` is monotonic."""

    key: ReplicaKey
    log_end_offset: Offset = Offset(-1)
    fetched_at_ms: int | None = None
    last_fetch_timestamp_ms: int = -1
    last_caught_up_timestamp_ms: int = -1
    caught_up_at_ms: int | None = None
    """Monotonic ms of the moment of `last_caught_up_timestamp_ms`."""
    leader_end_at_last_fetch: Offset = Offset(0)

    def has_fetched_since(self, monotonic_ms: int) -> bool:
        """Return True if the replica has fetched after that moment."""
        return self.fetched_at_ms is not None and self.fetched_at_ms > monotonic_ms


class ParkedFetch(msgspec.Struct, kw_only=True, gc=False):
    """A Fetch that waits, for new records or because other voters get them first."""

    request: FetchRequest
    deadline_ms: int

    def hurry(self, due_ms: int) -> None:
        """Lower the deadline to `due_ms`."""
        self.deadline_ms = min(self.deadline_ms, due_ms)


class AskedVoter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A BeginQuorumEpoch in flight to `key`, sent after round `round` of the read barrier had begun."""

    key: ReplicaKey
    round: int


class ReadBarrier(msgspec.Struct, kw_only=True, gc=False):
    """The rounds in which a leader proves its leadership, one at a time (`read_barrier`)."""

    round: int = 0
    """The number of the newest round."""
    asked: dict[int, AskedVoter] = {}
    """Requests in flight, by correlation."""
    acknowledged: dict[ReplicaKey, int] = {}
    """The newest round for which each voter has acknowledged this leader."""
    proving: int | None = None
    """The token of the round in progress, or None."""
    offset: Offset = Offset(0)
    """The high watermark at the start of that round."""
    waiting: int | None = None
    """The token for the next round, or None if no read waits for it."""
    retry_at_ms: int | None = None


class Leader(msgspec.Struct, kw_only=True, gc=False):
    """The replica leads. `answer` is the response to every Fetch, without records."""

    role: ClassVar[Role] = Role.LEADER

    epoch_start_offset: Offset
    began_at_ms: int
    voters: dict[NodeId, Progress]
    observers: dict[ReplicaKey, Progress]
    answer: FetchResponse
    has_committed: bool = False
    """A record of this epoch is committed: only then does the leader know the high watermark."""
    heard: set[NodeId]
    """The other voters that have fetched since the check-quorum deadline was last moved."""
    check_quorum_deadline_ms: int | None
    begin_deadline_ms: int | None
    parked: dict[int, ParkedFetch]
    parked_deadline_ms: int | None = None
    """A time not after the first deadline among `parked`, or None."""
    serving: set[NodeId]
    """The voters to which records were sent since the last append."""
    barrier: ReadBarrier = msgspec.field(default_factory=ReadBarrier)
    change: PendingChange | None = None
    """The voter change in progress, or None; one at a time."""
    reported_voters: VoterSet | None = None
    """At kraft.version 0: the static voters, each with the directory id and endpoints that it reported."""


class Resigned(msgspec.Struct, kw_only=True, gc=False):
    """The replica led this epoch and will not again. It informs the voters, and waits for one of them to win."""

    role: ClassVar[Role] = Role.RESIGNED

    unacknowledged: set[NodeId]
    preferred_successors: tuple[ReplicaKey, ...]
    election_deadline_ms: int
    retry_at_ms: int | None = None
    acknowledged: set[NodeId] = msgspec.field(default_factory=set)
    """The voters that have acknowledged the resignation."""


EpochState = Unattached | Prospective | Candidate | Follower | Leader | Resigned


class Transfer(msgspec.Struct, kw_only=True, gc=False):
    """A transfer of the leadership of `epoch` to `to` (None: any other voter). It outlives the leader's state."""

    request_id: int
    to: NodeId | None
    epoch: Epoch
    deadline_ms: int
    heard: set[NodeId]
    """The other voters that have fetched since the request: no other voter is known to live."""
    closing_deadline_ms: int | None = None
    """Until then no record is appended; None while the successor is too far behind for that."""
    due_ms: int | None = None
    """The successor has the whole log: the epoch ends with the next input that has a draw."""


class Suspicion(msgspec.Struct, kw_only=True, gc=False):
    """Suspicion of a dead leader, and the number of elections tried since (DESIGN 1.2).

    `majority_lost_since_ms`: since then no majority of the voters has responded, or None.
    `is_majority_loss_reported`: the node was informed of that (`majority_loss`).
    """

    is_active: bool = False
    attempts: int = 0
    majority_lost_since_ms: int | None = None
    is_majority_loss_reported: bool = False

    def clear(self) -> None:
        """End the suspicion."""
        self.is_active = False
        self.attempts = 0

    def forget_alone(self) -> None:
        """Forget a loss of the majority, because a majority responds."""
        self.majority_lost_since_ms = None
        self.is_majority_loss_reported = False


class ElectionState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The epoch, its leader and the vote granted in it, as in Kafka's ElectionState; independent of the role."""

    epoch: Epoch
    leader_id: NodeId | None = None
    voted: ReplicaKey | None = None


class PendingChange(msgspec.Struct, kw_only=True, gc=False):
    """A voter change in progress. The client waits until `deadline_ms`; an appended record stays in the log anyway."""

    request_id: int | None
    """None once the response was sent, or the client no longer awaits it."""
    answer: type[AddRaftVoterResponse] | type[RemoveRaftVoterResponse] | type[UpgradeKRaftVersionResponse]
    deadline_ms: int
    offset: Offset = NOTHING_APPENDED
    """The offset of its VotersRecord, once appended."""
    joining: Voter | None = None
    """The replica to add, while an ApiVersions request verifies its key; `correlation` is that request's."""
    correlation: int | None = None
    ack_when_committed: bool = True
    validate_only: bool = False
