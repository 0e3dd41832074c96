"""Scenarios: one replica of the pure core, driven by the commands of the transcripts, with its effects as objects."""

from __future__ import annotations

from typing import TypeVar

from metadata_log.ids import ZERO_DIRECTORY_ID, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Voter, VoterHistory, VoterSet
from quorum.api.raft_messages import FetchRequest, FetchResponse, Request, Response
from quorum.raft.config import RaftConfig, StorageState
from quorum.raft.inputs import Input, ResponseReceived
from quorum.raft.machine import RaftMachine
from quorum.raft.ready import (
    Effect,
    PersistQuorumState,
    QuorumStateData,
    SendRecords,
    SendRequest,
    SendResponse,
    Write,
)
from tests.support.raft_transcript import Transcript, endpoints_of, key_of

EffectT = TypeVar("EffectT", bound=Effect)
RequestT = TypeVar("RequestT", bound=Request)
ResponseT = TypeVar("ResponseT", bound=Response)


class Scenario(Transcript):
    """A transcript that remembers: `seen` and `written` are the effects and writes of the last commands."""

    def __init__(self, *lines: str) -> None:
        super().__init__()
        self.seen: list[Effect] = []
        self.written: list[Write] = []
        self.stored = QuorumStateData()
        """The content of quorum-state, now or once its last write is durable."""
        self.tell(*lines)

    @property
    def core(self) -> RaftMachine:
        """The replica."""
        assert self.machine is not None, "no `node` yet"
        return self.machine

    @property
    def position(self) -> tuple[str, int, int | None]:
        """Return its epoch state, its epoch, and the leader in its hints."""
        return str(self.core.role), self.core.epoch, self.core.leader_id

    def tell(self, *lines: str) -> Scenario:
        """Do these commands."""
        self.seen, self.written = [], []
        for line in lines:
            self.run(line)
        return self

    def give(self, *inputs: Input) -> Scenario:
        """Give it inputs for which the transcripts have no command."""
        self.seen, self.written = [], []
        for received in inputs:
            self.feed(received)
        return self

    def do_node(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Do the transcript's command; `stored` becomes the disk's quorum-state."""
        lines = super().do_node(named, flags)
        self.stored = QuorumStateData(
            leader_id=NodeId(int(named["leader"])) if "leader" in named else None,
            leader_epoch=Epoch(int(named.get("epoch", "0"))),
            voted=key_of(int(named["voted"])) if "voted" in named else None,
        )
        return lines

    def load(
        self, storage: StorageState, *, me: ReplicaKey | None = None, config: RaftConfig | None = None
    ) -> Scenario:
        """Make a replica, 1 by default, that reads this from its disk."""
        key = me or key_of(1)
        self.machine = RaftMachine(key, config or RaftConfig(), storage, endpoints_of(key.node_id))
        self.pending, self.asked = [], {}
        self.stored = storage.quorum_state or QuorumStateData()
        return self

    def feed(self, received: Input) -> list[str]:
        """Give it one input, and remember all effects."""
        lines = super().feed(received)
        assert self.last_ready is not None
        self.seen += [*self.last_ready.at_once, *(effect for _, effect in self.last_ready.after)]
        self.written += self.last_ready.writes
        for write in self.last_ready.writes:
            if isinstance(write, PersistQuorumState):
                self.stored = write.state
        return lines

    # --- its requests

    def answer(self, node_id: int, text: str) -> Scenario:
        """Let `node_id` respond to the last request that it got."""
        return self.tell(f"answer to={self.correlation(node_id)} {text}")

    def fail(self, node_id: int, text: str = "") -> Scenario:
        """Let the last request to `node_id` fail."""
        return self.tell(f"fail to={self.correlation(node_id)} {text}")

    def correlation(self, node_id: int) -> int:
        """Return the correlation id of the last open request to `node_id`."""
        return max(number for number, asked in self.asked.items() if asked.destination.node_id == node_id)

    def answer_fetch(self, node_id: int) -> Scenario:
        """Let `node_id`, as leader of this epoch, return an empty Fetch; do nothing if no Fetch is open."""
        for number, asked in self.asked.items():
            if asked.destination.node_id == node_id and isinstance(asked.request, FetchRequest):
                return self.tell(f"answer to={number} epoch={self.core.epoch} leader={node_id} hw=0")
        return self

    def answer_records(self, node_id: int, records: bytes, *, epoch: int, high_watermark: int) -> Scenario:
        """Let `node_id`, as leader of `epoch`, respond to the last Fetch with these bytes."""
        response = FetchResponse(
            leader_id=NodeId(node_id),
            leader_epoch=Epoch(epoch),
            leader_endpoints=endpoints_of(node_id),
            high_watermark=Offset(high_watermark),
            records=records,
        )
        return self.answer_late(node_id, self.correlation(node_id), response)

    def answer_late(self, node_id: int, correlation: int, response: Response) -> Scenario:
        """Deliver a response to a request that may have ended long ago."""
        late = ResponseReceived(destination_id=node_id, correlation=correlation, response=response, draw=self.draw())
        return self.give(late)

    # --- what came of it

    def effects(self, kind: type[EffectT]) -> list[EffectT]:
        """Return the effects of one kind."""
        return [effect for effect in self.seen if isinstance(effect, kind)]

    def requests(self, kind: type[RequestT]) -> dict[int, RequestT]:
        """Return the requests of one kind, by destination."""
        return {
            sent.destination.node_id: sent.request
            for sent in self.effects(SendRequest)
            if isinstance(sent.request, kind)
        }

    def reply(self, request_id: int, kind: type[ResponseT]) -> ResponseT:
        """Return the response to a peer's request, with or without records."""
        (response,) = [sent.response for sent in self.replies if sent.request_id == request_id]
        assert isinstance(response, kind)
        return response

    @property
    def replies(self) -> list[SendResponse | SendRecords]:
        """Return the responses to peers' requests."""
        return [effect for effect in self.seen if isinstance(effect, SendResponse | SendRecords)]


def leader(*, voters: str = "1,2,3", epoch: int = 5, log: str = "") -> Scenario:
    """Return replica 1 as the elected leader; its first batch is durable, and nothing is committed yet."""
    scenario = Scenario(f"node me=1 voters={voters} epoch={epoch - 1}{f' log={log}' if log else ''}", "start")
    elect(scenario, epoch)
    return scenario


def elect(scenario: Scenario, epoch: int) -> None:
    """Let a prospective of the epoch before become leader, by the fewest votes."""
    granting = [
        voter.key.node_id for voter in scenario.core.voters if voter.key.node_id != scenario.core.replica.node_id
    ]
    granting = granting[: scenario.core.voters.majority - 1]
    for node_id in granting:
        scenario.answer(node_id, f"epoch={epoch - 1} granted")
    scenario.tell("flush")
    for node_id in granting:
        scenario.answer(node_id, f"epoch={epoch} granted")
    scenario.tell("flush")
    assert scenario.position == ("leader", epoch, scenario.core.replica.node_id)


def candidate(*, voters: str = "1,2,3", epoch: int = 5, log: str = "") -> Scenario:
    """Return replica 1 as candidate of this epoch, its own vote durable."""
    scenario = Scenario(f"node me=1 voters={voters} epoch={epoch - 1}{f' log={log}' if log else ''}", "start")
    for voter in scenario.core.voters:
        if scenario.core.role == "prospective" and voter.key.node_id != 1:
            scenario.answer(voter.key.node_id, f"epoch={epoch - 1} granted")
    scenario.tell("flush")
    assert scenario.position == ("candidate", epoch, None)
    return scenario


def static_voters(*node_ids: int) -> VoterHistory:
    """Return voters of the configuration (kraft.version 0), without directory ids."""
    return VoterHistory.start(
        VoterSet.of(
            Voter(
                key=ReplicaKey(node_id=NodeId(node_id), directory_id=ZERO_DIRECTORY_ID), endpoints=endpoints_of(node_id)
            )
            for node_id in node_ids
        )
    )


def dynamic_voters(*node_ids: int, offset: int = 0) -> VoterHistory:
    """Return voters of a VotersRecord at `offset`."""
    return VoterHistory.start(
        VoterSet.of(Voter(key=key_of(node_id), endpoints=endpoints_of(node_id)) for node_id in node_ids), Offset(offset)
    )
