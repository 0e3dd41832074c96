"""The verdict of `kraft quorum health`."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.ids import METADATA_TOPIC_ID, DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from quorum.cli.quorum_health import HEARD_MS, health_of, line_of
from quorum.client.quorum_status import QuorumStatus, ReplicaStatus, Unreached

_NOW_MS = 1_700_000_000_000


def _voter(node_id: int, end: int, heard_ms: int) -> ReplicaStatus:
    return ReplicaStatus(
        replica=ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes([node_id]) * 16)),
        log_end_offset=Offset(end),
        last_fetch_timestamp_ms=heard_ms,
        last_caught_up_timestamp_ms=heard_ms,
    )


def _status(*fetched_ms: int, answered_by: int = 1) -> QuorumStatus:
    """Node 1 leads; the others fetched last at these times."""
    others = (_voter(node_id, 100 - node_id, at_ms) for node_id, at_ms in enumerate(fetched_ms, 2))
    return QuorumStatus(
        cluster_id="cluster",
        topic_id=METADATA_TOPIC_ID,
        address="host1:9094",
        answered_by=answered_by,
        leader_id=1,
        leader_epoch=Epoch(7),
        high_watermark=Offset(90),
        voters=(_voter(1, 100, _NOW_MS), *others),
        observers=(),
        nodes=(),
    )


def _line(found: QuorumStatus, *, every_voter: bool = False) -> str:
    return line_of(found, health_of(found, every_voter=every_voter))


def test_a_majority_that_follows_is_healthy() -> None:
    found = _status(_NOW_MS, _NOW_MS - HEARD_MS)
    assert health_of(found, every_voter=True) == {
        "healthy": True,
        "problem": None,
        "leader_id": 1,
        "leader_epoch": 7,
        "voters": 3,
        "voters_following": 3,
        "max_follower_lag": 3,
        "answered_by": 1,
        "unreached": [],
    }
    assert _line(found) == "Healthy: node 1 leads epoch 7; 3 of 3 voters follow, at most 3 records behind."


@pytest.mark.parametrize("heard_ms", [-1, _NOW_MS - HEARD_MS - 1])
def test_a_voter_that_does_not_follow_is_a_problem_if_it_is_asked_for(heard_ms: int) -> None:
    found = _status(_NOW_MS, heard_ms)
    assert _line(found) == (
        "Healthy: node 1 leads epoch 7; 2 of 3 voters follow, at most 2 records behind; voter 3 does not. If one more "
        "fails, no majority is left."
    )
    assert _line(found, every_voter=True) == (
        "Not healthy: voter 3 did not fetch within 10 s; 2 of 3 voters follow node 1."
    )


def test_of_five_voters_one_more_may_fail() -> None:
    line = _line(_status(_NOW_MS, _NOW_MS, _NOW_MS, -1))
    assert line.endswith("4 of 5 voters follow, at most 4 records behind; voter 5 does not.")
    line = _line(_status(_NOW_MS, _NOW_MS, -1, -1))
    assert line.endswith("voters 4, 5 do not. If one more fails, no majority is left.")


def test_a_peer_that_is_not_reached_is_named_for_programs() -> None:
    peer = Unreached(node_id=3, address="c3:9094", reason="connection-refused", what="node 3 at c3:9094")
    found = msgspec.structs.replace(_status(_NOW_MS, -1), unreached=(peer,))
    assert health_of(found, every_voter=False)["unreached"] == [msgspec.to_builtins(peer)]


def test_without_a_majority_it_is_not_healthy() -> None:
    assert _line(_status(-1, -1)) == "Not healthy: no majority: 1 of 3 voters follow node 1, without voters 2, 3."


def test_a_follower_alone_cannot_know() -> None:
    found = _status(-1, -1, answered_by=2)
    verdict = health_of(found, every_voter=False)
    assert (verdict["healthy"], verdict["leader_id"], verdict["voters_following"]) == (False, None, None)
    assert line_of(found, verdict).startswith("Not healthy: no leader answers: node 2 knows node 1 as the leader")


def test_a_leader_that_another_hears_is_there() -> None:
    found = msgspec.structs.replace(_status(-1, -1, answered_by=2), heard_age_ms=400)
    assert _line(found) == (
        "Healthy: node 1 leads epoch 7, which node 2 follows; the leader itself does not answer here."
    )
    assert _line(found, every_voter=True) == (
        "Unknown: the leader, node 1, does not answer here, and it alone knows of every voter."
    )
    assert health_of(found, every_voter=True)["healthy"] is None


def test_one_voter_alone_is_a_majority() -> None:
    found = msgspec.structs.replace(_status(), voters=_status().voters[:1])
    assert _line(found) == "Healthy: node 1 leads epoch 7; 1 of 1 voters follow, at most 0 records behind."
