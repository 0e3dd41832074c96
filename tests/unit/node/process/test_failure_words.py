from __future__ import annotations

import msgspec
import pytest

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.voters import Endpoint
from quorum.node.core.peer_failures import FailureKind, PeerFailure, UnreachedPeer
from quorum.node.process.failure_words import reason_of, unreached_lines
from quorum.node.process.health import check_ready
from tests.support.node_view import FOLLOWER


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (PeerFailure(kind=FailureKind.NO_RESPONSE, after_ms=2000), "no response in 2 s"),
        (PeerFailure(kind=FailureKind.NO_CONNECTION, after_ms=1500), "no connection in 1.5 s"),
        (PeerFailure(kind=FailureKind.UNREACHABLE, detail="no route to host"), "no route to host"),
        (PeerFailure(kind=FailureKind.UNKNOWN_NAME), "name not known"),
        (
            PeerFailure(kind=FailureKind.REJECTED, detail="Vote with INVALID_VOTER_KEY"),
            "it rejects the request: Vote with INVALID_VOTER_KEY",
        ),
        (PeerFailure(kind=FailureKind.CLOSED, detail="before its first response"), "the connection was closed before"),
    ],
)
def test_a_reason_is_said_in_words(failure: PeerFailure, words: str) -> None:
    assert reason_of(failure).startswith(words)


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_has_words_with_and_without_detail(kind: FailureKind) -> None:
    if kind is not FailureKind.NOT_SENT:
        assert reason_of(PeerFailure(kind=kind, after_ms=1000))
        assert reason_of(PeerFailure(kind=kind, after_ms=1000, detail="of others"))


def test_a_line_is_bounded_and_shows_no_control_characters() -> None:
    detail = "\x1b[31m" + "x" * 1_000_000
    failure = PeerFailure(kind=FailureKind.BAD_RESPONSE, address="c2:9093", detail=detail)
    lines = unreached_lines([UnreachedPeer(peer=NodeId(number), failure=failure) for number in range(50)])
    assert lines[-1] == "and 42 more"
    assert max(map(len, lines)) < 300
    assert all(line.isprintable() for line in lines)


def test_a_voter_that_was_not_asked_yet_is_named_by_its_listeners() -> None:
    key = ReplicaKey(node_id=NodeId(2), directory_id=DirectoryId(bytes([2]) * 16))
    at = (Endpoint(name="CONTROLLER", host="c2", port=9093), Endpoint(name="GRPC", host="c2", port=9094))
    assert unreached_lines([UnreachedPeer(peer=key, endpoints=at)]) == [
        "2 at CONTROLLER://c2:9093, GRPC://c2:9094: no response yet"
    ]
    assert unreached_lines([UnreachedPeer(peer=key)]) == ["2: this node has no address for it"]


def test_readiness_without_a_leader_says_which_peers_do_not_respond_and_why() -> None:
    unreached = (
        UnreachedPeer(peer=NodeId(2), failure=PeerFailure(kind=FailureKind.REFUSED, address="c2:9093")),
        UnreachedPeer(peer=NodeId(-2), failure=PeerFailure(kind=FailureKind.NO_RESPONSE, address="b:1", after_ms=500)),
    )
    view = msgspec.structs.replace(FOLLOWER, leader_id=None, unreached=unreached)
    found = {check.name: check for check in check_ready(view)}["leader-known"]
    assert found.what == (
        "no leader is known in epoch 3 (follower); 2 at c2:9093: connection refused; "
        "bootstrap server 1 at b:1: no response in 0.5 s"
    )
