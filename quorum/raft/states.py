"""The data of each epoch state, and nothing that outlives it.

Decides: nothing. Must not know: how states follow each other (`transitions`), what a message does. These structs change
in place: they belong to one core, and a new one is made at every transition. Times are monotonic ms.
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
    """One round of votes. `granted` stands in the order of granting; the unreachable may yet answer a later round."""

    voters: frozenset[NodeId]
    majority: int
    granted: list[NodeId] = []
    rejected: set[NodeId] = set()
    unreachable: set[NodeId] = set()

    @classmethod
    def of(cls, voters: VoterSet) -> Tally:
        """An empty tally of these voters."""
        return cls(voters=frozenset(voters.node_ids), majority=voters.majority)

    def grant(self, node_id: NodeId) -> None:
        """It gives its vote."""
        if node_id in self.voters and node_id not in self.granted:
            self.granted.append(node_id)

    @property
    def is_won(self) -> bool:
        """A majority has granted."""
        return len(self.granted) >= self.majority

    @property
    def is_lost(self) -> bool:
        """Without those that refused or cannot be reached there is no majority."""
        out = {node_id for node_id in self.rejected | self.unreachable if node_id not in self.granted}
        return len(self.voters) - len(out & self.voters) < self.majority


class FetchLoop(msgspec.Struct, kw_only=True, gc=False):
    """The one Fetch that a follower or observer has under way, or when it sends the next."""

    correlation: int | None = None
    retry_at_ms: int = 0
    turn: int = 0
    """Which of the other voters and bootstrap servers is asked next, while looking for the leader."""
    failures: int = 0
    """Fetches in a row that a leader did not serve."""
    is_id_taken: bool = False
    """Another process leads under this replica's id: no Fetch can be served before that has changed."""


class Unattached(msgspec.Struct, kw_only=True, gc=False):
    """Knows no leader. A voter waits for `election_deadline_ms`; an observer looks for the leader."""

    role: ClassVar[Role] = Role.UNATTACHED

    election_deadline_ms: int | None
    fetch: FetchLoop = msgspec.field(default_factory=FetchLoop)


class Prospective(msgspec.Struct, kw_only=True, gc=False):
    """Asks whether it would get the votes (KIP-996). `defer_until_ms`: it has granted one who should go first."""

    role: ClassVar[Role] = Role.PROSPECTIVE

    tally: Tally
    election_deadline_ms: int
    defer_until_ms: int | None = None


class Candidate(msgspec.Struct, kw_only=True, gc=False):
    """Asks for votes. Its own counts once it is durable. `retry_at_ms`: a voter refused, another round begins then."""

    role: ClassVar[Role] = Role.CANDIDATE

    tally: Tally
    election_deadline_ms: int
    retry_at_ms: int | None = None


class Follower(msgspec.Struct, kw_only=True, gc=False):
    """Fetches from the leader. `has_fetched`: it has answered since; `is_leader_out_of_reach`: observers only."""

    role: ClassVar[Role] = Role.FOLLOWER

    fetch_deadline_ms: int
    has_fetched: bool = False
    is_leader_out_of_reach: bool = False
    leaves_it_to_others: bool = False
    """The leader has resigned: until `fetch_deadline_ms` those may stand whom it names first, or is about to name."""
    awaits_end: bool = False
    """It has said so itself, and its EndQuorumEpoch, which names them, is still to come."""
    refused: set[NodeId] = msgspec.field(default_factory=set)
    """Voters whose pre-votes were refused, with no longer a log than here, since the leader served this replica."""
    voter_ask: int | None = None
    """The correlation of the one request about this replica's own vote that is under way."""
    voter_ask_due_ms: int = 0
    """Before then none is sent."""
    has_updated_leader: bool = False
    """At kraft.version 0: the leader has heard where this voter listens."""
    fetch: FetchLoop = msgspec.field(default_factory=FetchLoop)

    def note_served(self, fetch_deadline_ms: int) -> None:
        """The leader has answered with something to go on with."""
        self.has_fetched = True
        self.fetch.failures = 0
        self.refused.clear()
        self.is_leader_out_of_reach = False
        self.fetch_deadline_ms = fetch_deadline_ms


class Receiving(msgspec.Struct, kw_only=True, gc=False):
    """A snapshot that is being fetched from the leader of `leader_epoch`; of no use in any other epoch.

    Bytes before `position` are stored; those before `stored_next` will be once `is_busy` (being stored, or looked at)
    is over. `serial` tells apart what comes back from the disk.
    """

    serial: int
    snapshot_id: OffsetAndEpoch
    leader_epoch: Epoch
    position: int = 0
    stored_next: int = 0
    size: int | None = None
    is_busy: bool = False


class Progress(msgspec.Struct, kw_only=True, gc=False):
    """What the leader knows of one replica. Timestamps are wall ms, for showing; `fetched_at_ms` is monotonic."""

    key: ReplicaKey
    log_end_offset: Offset = Offset(-1)
    fetched_at_ms: int | None = None
    last_fetch_timestamp_ms: int = -1
    last_caught_up_timestamp_ms: int = -1
    caught_up_at_ms: int | None = None
    """Monotonic, of the same moment."""
    leader_end_at_last_fetch: Offset = Offset(0)

    def has_fetched_since(self, monotonic_ms: int) -> bool:
        """Whether a Fetch of it came after that moment."""
        return self.fetched_at_ms is not None and self.fetched_at_ms > monotonic_ms


class ParkedFetch(msgspec.Struct, kw_only=True, gc=False):
    """A Fetch that waits, for something to be answered with or because others go first."""

    request: FetchRequest
    deadline_ms: int

    def hurry(self, due_ms: int) -> None:
        """It is not to wait longer than this."""
        self.deadline_ms = min(self.deadline_ms, due_ms)


class AskedVoter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A BeginQuorumEpoch on its way to `key`: it left after round `round` of the read barrier had begun."""

    key: ReplicaKey
    round: int


class ReadBarrier(msgspec.Struct, kw_only=True, gc=False):
    """The rounds in which a leader proves that it leads, one at a time (`read_barrier`)."""

    round: int = 0
    """The newest that has begun."""
    asked: dict[int, AskedVoter] = {}
    """By correlation."""
    acknowledged: dict[ReplicaKey, int] = {}
    """The newest round in which that voter was asked, and has answered that it follows."""
    proving: int | None = None
    """The token that the round under way is for."""
    offset: Offset = Offset(0)
    """The high watermark when that round began."""
    waiting: int | None = None
    """The token that the next round is for."""
    retry_at_ms: int | None = None


class Leader(msgspec.Struct, kw_only=True, gc=False):
    """Serves the log. `answer` is what every Fetch is answered with, but for its records."""

    role: ClassVar[Role] = Role.LEADER

    epoch_start_offset: Offset
    began_at_ms: int
    voters: dict[NodeId, Progress]
    observers: dict[ReplicaKey, Progress]
    answer: FetchResponse
    has_committed: bool = False
    """A record of this epoch is committed: only now does it know how far the log is."""
    heard: set[NodeId]
    """The other voters that fetched since the check-quorum deadline was last moved."""
    check_quorum_deadline_ms: int | None
    begin_deadline_ms: int | None
    parked: dict[int, ParkedFetch]
    parked_deadline_ms: int | None = None
    """Not after the first deadline among `parked`."""
    serving: set[NodeId]
    """The voters that have been sent something of the newest batch."""
    barrier: ReadBarrier = msgspec.field(default_factory=ReadBarrier)
    change: PendingChange | None = None
    """The one change of who votes that is under way."""
    reported_voters: VoterSet | None = None
    """At kraft.version 0: the static voters, each with what it has told this leader of itself."""


class Resigned(msgspec.Struct, kw_only=True, gc=False):
    """Led this epoch and will not again. Tells the voters, then waits for one of them to win."""

    role: ClassVar[Role] = Role.RESIGNED

    unacknowledged: set[NodeId]
    preferred_successors: tuple[ReplicaKey, ...]
    election_deadline_ms: int
    retry_at_ms: int | None = None
    acknowledged: set[NodeId] = msgspec.field(default_factory=set)
    """The voters that know that this replica leads no more."""


EpochState = Unattached | Prospective | Candidate | Follower | Leader | Resigned


class Transfer(msgspec.Struct, kw_only=True, gc=False):
    """Leadership of `epoch` is to be handed to `to` (None: to any other voter); outlives the state of the leader."""

    request_id: int
    to: NodeId | None
    epoch: Epoch
    deadline_ms: int
    heard: set[NodeId]
    """The other voters that fetched since this was asked for: nobody else is known to live."""
    closing_deadline_ms: int | None = None
    """So long nothing new is appended; None while the successor is too far behind for that."""
    due_ms: int | None = None
    """The successor has everything: the epoch ends with the next input that brings a draw."""


class Suspicion(msgspec.Struct, kw_only=True, gc=False):
    """Suspicion of a dead leader, and the number of elections tried since (DESIGN 5).

    `majority_lost_since_ms`: since then no majority of the voters has responded, or None.
    `is_majority_loss_reported`: the node was informed of that (`majority_loss`).
    """

    is_active: bool = False
    attempts: int = 0
    majority_lost_since_ms: int | None = None
    is_majority_loss_reported: bool = False

    def clear(self) -> None:
        """End the suspicion: the leader lives."""
        self.is_active = False
        self.attempts = 0

    def forget_alone(self) -> None:
        """Begin again with no loss: a majority has answered."""
        self.majority_lost_since_ms = None
        self.is_majority_loss_reported = False


class ElectionState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The part of a replica's position that outlives the state: epoch, its leader, and the vote given in it."""

    epoch: Epoch
    leader_id: NodeId | None = None
    voted: ReplicaKey | None = None


class PendingChange(msgspec.Struct, kw_only=True, gc=False):
    """At most one a leader. Until `deadline_ms` its asker waits; an appended record stays in the log in any case."""

    request_id: int | None
    """None once it is answered, or nobody waits any more."""
    answer: type[AddRaftVoterResponse] | type[RemoveRaftVoterResponse] | type[UpgradeKRaftVersionResponse]
    deadline_ms: int
    offset: Offset = NOTHING_APPENDED
    """Of its VotersRecord."""
    joining: Voter | None = None
    """The replica that is to be added, while it is asked who it is; `correlation` is of that request."""
    correlation: int | None = None
    ack_when_committed: bool = True
    validate_only: bool = False
