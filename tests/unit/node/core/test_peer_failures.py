from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint, Voter, VoterSet
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchResponse, VoteResponse
from quorum.node.core.peer_failures import (
    NOT_SENT,
    FailureKind,
    LeaderUnreached,
    PeerFailure,
    PeerFailures,
    PeersReached,
    UnreachedPeer,
)
from quorum.node.core.peers import Peers
from quorum.node.core.ports import PeerAnswered, PeerFailed
from quorum.raft.inputs import Clock
from quorum.raft.ready import NOTHING

REFUSED = PeerFailure(kind=FailureKind.REFUSED, address="c2:9093", disconnected=True)


def test_a_failure_is_kept_until_the_peer_responds() -> None:
    failures = PeerFailures()
    failures.note(2, REFUSED)
    failures.note(2, NOT_SENT)
    assert failures.of(2) is REFUSED, "a request that was given up says nothing of the peer"
    failures.note_response(2, VoteResponse(error=Error.FENCED_LEADER_EPOCH, leader_epoch=Epoch(1)))
    assert failures.of(2) is None


def test_a_peer_that_rejects_everything_is_not_reached() -> None:
    failures = PeerFailures()
    cases = [
        (
            VoteResponse(error=Error.INCONSISTENT_CLUSTER_ID, leader_epoch=Epoch(1)),
            FailureKind.OTHER_CLUSTER,
            "INCONSISTENT_CLUSTER_ID",
        ),
        (
            VoteResponse(error=Error.UNSUPPORTED_VERSION, leader_epoch=Epoch(1)),
            FailureKind.UNSUPPORTED_VERSION,
            "Vote with UNSUPPORTED_VERSION",
        ),
        (
            FetchResponse(error=Error.INVALID_VOTER_KEY, leader_epoch=Epoch(1)),
            FailureKind.REJECTED,
            "Fetch with INVALID_VOTER_KEY",
        ),
    ]
    for response, kind, detail in cases:
        failures.note_response(2, response)
        assert failures.of(2) == PeerFailure(kind=kind, detail=detail)


def test_what_is_kept_is_bounded() -> None:
    failures = PeerFailures()
    for node_id in range(1000):
        failures.note(node_id, REFUSED)
    assert len(list(failures.all())) <= 64
    assert failures.of(999) is REFUSED


class _Observer:
    """The part of an executor that the reports of an observer need."""

    def __init__(self, voters: VoterSet, replica: ReplicaKey) -> None:
        self.events: list[object] = []
        self.replica = replica
        self.machine = SimpleNamespace(voters=voters, leader_id=NodeId(2))
        self.clock = Clock(monotonic_ms=0, wall_ms=0)
        self.ports = SimpleNamespace(entropy=SimpleNamespace(draw=lambda: 0))
        self.fence = SimpleNamespace(
            judge=lambda event: None, ask_for_proof=lambda event: False, on_taken=lambda event, end: None
        )
        self.machine.log_end_offset = Offset(0)
        self.topic_id_fence = SimpleNamespace(on_fetch_answered=lambda node_id: None)
        self.tell = self.events.append
        effects: Any = SimpleNamespace(take_by_own_id=lambda correlation: None)
        self.peers = Peers(self, effects, lambda received: NOTHING)  # type: ignore[arg-type]

    def fails_at(self, ms: int) -> None:
        self.clock = Clock(monotonic_ms=ms, wall_ms=ms)
        self.peers.on_failed(PeerFailed(destination_id=2, correlation=1, failure=REFUSED))

    def fetches_at(self, ms: int) -> None:
        self.clock = Clock(monotonic_ms=ms, wall_ms=ms)
        self.peers.on_answered(
            PeerAnswered(destination_id=2, correlation=1, response=FetchResponse(leader_epoch=Epoch(1)))
        )


def _key(node_id: int) -> ReplicaKey:
    return ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes([node_id]) * 16))


def test_an_observer_that_fetches_from_no_leader_says_so_once_and_when_it_is_over() -> None:
    voter = Voter(key=_key(2), endpoints=(Endpoint(name="GRPC", host="c2", port=9093),))
    node = _Observer(VoterSet.of([voter]), _key(9))
    for ms in (0, 2_000, 6_000, 7_000):
        node.fails_at(ms)
    peer = UnreachedPeer(peer=_key(2), endpoints=voter.endpoints, failure=REFUSED)
    assert node.events == [LeaderUnreached(unreached=(peer,))]
    node.fetches_at(8_000)
    assert node.events[1:] == [PeersReached(leader_id=NodeId(2))]
    node.fails_at(9_000)
    node.fetches_at(9_500)
    node.fails_at(14_000)
    assert len(node.events) == 2, "no 5 s without a Fetch"


def test_a_voter_leaves_that_report_to_the_core() -> None:
    node = _Observer(VoterSet.of([Voter(key=_key(2))]), _key(2))
    for ms in (0, 6_000):
        node.fails_at(ms)
    node.fetches_at(7_000)
    assert node.events == []
