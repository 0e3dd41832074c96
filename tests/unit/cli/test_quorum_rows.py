"""The rows of `kraft quorum describe`, with and without a response of the leader."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from metadata_log.ids import METADATA_TOPIC_ID, ZERO_DIRECTORY_ID, DirectoryId, NodeId, ReplicaKey, id_text
from metadata_log.offsets import LAST_EPOCH, Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.cli.main import run as kraft
from quorum.cli.quorum_output import Parts, as_json, lines_of, problem_of, replication_of, status_of
from quorum.client.quorum_status import NodeListeners, QuorumStatus, ReplicaStatus, Unreached
from tests.support.loop import run
from tests.support.scripted_node import ScriptedNode, served


def _directory(node_id: int) -> DirectoryId:
    return DirectoryId(bytes(15) + bytes([100 + node_id]))


def _replica(node_id: int, end: int, at_ms: int = 1_700_000_000_123) -> ReplicaStatus:
    return ReplicaStatus(
        replica=ReplicaKey(node_id=NodeId(node_id), directory_id=_directory(node_id)),
        log_end_offset=Offset(end),
        last_fetch_timestamp_ms=at_ms,
        last_caught_up_timestamp_ms=at_ms,
    )


def _status(*, answered_by: int, known: bool = True) -> QuorumStatus:
    return QuorumStatus(
        cluster_id="cluster",
        topic_id=METADATA_TOPIC_ID,
        address="host1:9094",
        answered_by=answered_by,
        leader_id=2,
        leader_epoch=Epoch(7),
        high_watermark=Offset(90),
        voters=tuple(_replica(n, end, 1_700_000_000_123 if known else -1) for n, end in _ends(known)),
        observers=(_replica(11, 80),) if known else (),
        nodes=(
            NodeListeners(
                node_id=1,
                listeners=(
                    Endpoint(name="CONTROLLER", host="::1", port=9093),
                    Endpoint(name="GRPC", host="c1", port=9094),
                ),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("epoch", "words"),
    [
        (LAST_EPOCH, "No election is possible any more"),
        (LAST_EPOCH - 1, "Only 1 more election is possible"),
        (LAST_EPOCH - 45, "Only 45 more elections are possible"),
        (LAST_EPOCH - 1000, None),
    ],
)
def test_epochs_at_their_end_are_said(epoch: int, words: str | None) -> None:
    found = msgspec.structs.replace(_status(answered_by=1, known=False), leader_id=-1, leader_epoch=Epoch(epoch))

    for said in (lines_of(found, Parts(status=True, replication=False))[0], problem_of(found)):
        assert ("election" in said) is (words is not None)
        assert words is None or words in said
        assert ("`kraft recover epoch` (`kraft docs runbooks/epochs-ended`)" in said) is (words is not None)
    assert "no leader is known" in problem_of(found)


def test_under_a_live_leader_no_epoch_is_to_be_reset() -> None:
    found = msgspec.structs.replace(_status(answered_by=2), leader_epoch=Epoch(LAST_EPOCH - 45))

    said = lines_of(found, Parts(status=True, replication=False))[-1]

    assert "Only 45 more elections are possible" in said
    assert "keep the controllers running" in said
    assert "stop every controller" not in said


def _ends(known: bool) -> list[tuple[int, int]]:
    return [(1, 90 if known else -1), (2, 100 if known else -1), (3, 100 if known else -1)]


def test_the_leader_tells_the_lag_of_everybody() -> None:
    status = status_of(_status(answered_by=2))
    assert status["max_follower_lag"] == 10
    assert isinstance(status["max_follower_lag_time_ms"], int)
    assert status["max_follower_lag_time_ms"] > 0
    assert status["current_voters"] == [
        {
            "node_id": 1,
            "directory_id": id_text(_directory(1)),
            "endpoints": ["CONTROLLER://[::1]:9093", "GRPC://c1:9094"],
        },
        {"node_id": 2, "directory_id": id_text(_directory(2)), "endpoints": []},
        {"node_id": 3, "directory_id": id_text(_directory(3)), "endpoints": []},
    ]
    rows = replication_of(_status(answered_by=2))
    assert [(row["node_id"], row["status"], row["lag"]) for row in rows] == [
        (2, "Leader", 0),
        (1, "Follower", 10),
        (3, "Follower", 0),
        (11, "Observer", 20),
    ]
    assert rows[0]["last_fetch_timestamp"] == "2023-11-14T22:13:20.123Z"


def test_members_are_written_for_people_as_the_options_take_them() -> None:
    found = msgspec.structs.replace(_status(answered_by=2), observers=(_replica(12, 80), _replica(11, 80)))
    first, *others = lines_of(found, Parts(status=True, replication=False))[-5:]
    assert first == f"CurrentVoters:        1@[::1]:9093/9094:{id_text(_directory(1))}"
    assert [line.partition(":")[0].strip() for line in others] == ["2", "3", "CurrentObservers", "12"]
    assert [line[22:] for line in others] == [f"{each}:{id_text(_directory(each))}" for each in (2, 3, 11, 12)]
    assert [each["node_id"] for each in status_of(found)["current_observers"]] == [11, 12]  # type: ignore[attr-defined]


def test_static_voters_are_written_as_their_key_has_them() -> None:
    key = ReplicaKey(node_id=NodeId(1), directory_id=ZERO_DIRECTORY_ID)
    found = _status(answered_by=2)
    found = msgspec.structs.replace(
        found,
        voters=(msgspec.structs.replace(found.voters[0], replica=key),),
        observers=(),
        nodes=(NodeListeners(node_id=1, listeners=found.nodes[0].listeners[1:]),),
    )
    lines = lines_of(found, Parts(status=True, replication=False))
    assert lines[-2:] == ["CurrentVoters:        1@c1:9094", "CurrentObservers:     -"]


def test_without_the_leader_nothing_is_made_up() -> None:
    status = status_of(_status(answered_by=1, known=False))
    assert (status["max_follower_lag"], status["max_follower_lag_time_ms"]) == (None, None)
    assert status["current_observers"] is None
    for row in replication_of(_status(answered_by=1, known=False)):
        assert (row["log_end_offset"], row["lag"], row["last_fetch_timestamp_ms"]) == (None, None, None)
    heard = msgspec.structs.replace(_status(answered_by=1, known=False), heard_age_ms=400)
    rows = replication_of(heard)
    assert [(row["node_id"], row["status"]) for row in rows] == [(2, "Leader"), (1, "Follower"), (3, None)]


def test_where_no_leader_is_known_nobody_is_said_to_follow() -> None:
    nobody = msgspec.structs.replace(_status(answered_by=1, known=False), leader_id=-1)
    assert [row["status"] for row in replication_of(nobody)] == [None, None, None]
    lines = lines_of(nobody, Parts(status=True, replication=True))
    assert lines[0].startswith("No leader is known: node 1, which answered, knows none in epoch 7.")
    assert "LeaderId:             none known" in lines
    assert "CurrentObservers:     unknown" in lines
    assert lines[-1].split() == ["3", id_text(_directory(3)), *["unknown"] * 5]


def test_a_leader_that_does_not_answer_is_no_leader() -> None:
    found = msgspec.structs.replace(_status(answered_by=1, known=False), heard_age_ms=2_100)
    lines = lines_of(found, Parts(status=True, replication=True))
    assert lines[0] == (
        "No leader answers: node 1 knows node 2 as the leader of epoch 7, and has not heard of it for 2.1 s. "
        "Are a majority of the voters running, and do they reach each other?"
    )
    assert "LeaderId:             2 (does not answer)" in lines
    assert "MaxFollowerLag:       unknown" in lines
    assert [row["status"] for row in replication_of(found)] == [None, None, None]


def test_a_voter_that_never_fetched_is_not_called_up_to_date() -> None:
    found = _status(answered_by=2)
    found = msgspec.structs.replace(found, voters=(*found.voters[:2], _replica(3, -1, -1)))
    assert (status_of(found)["max_follower_lag"], status_of(found)["max_follower_lag_time_ms"]) == (None, None)
    lines = lines_of(found, Parts(status=True, replication=True))
    assert "MaxFollowerLag:       unknown" in lines
    assert lines[-2].split() == ["3", id_text(_directory(3)), *["unknown"] * 4, "Follower"]


def test_a_leader_that_hears_of_no_majority_is_none() -> None:
    found = msgspec.structs.replace(_status(answered_by=2), heard_age_ms=12_000)
    (first, *_) = lines_of(found, Parts(status=True, replication=False))
    assert first.startswith("No majority: node 2 leads epoch 7, and heard of no majority for 12.0 s.")


def test_without_a_leader_the_first_line_names_the_peers_that_do_not_respond() -> None:
    peer = Unreached(node_id=2, address="c2:9093", reason="connection-refused", what="2 at c2:9093: connection refused")
    found = msgspec.structs.replace(_status(answered_by=1, known=False), leader_id=-1, unreached=(peer,))
    (first, *_) = lines_of(found, Parts(status=True, replication=False))
    assert first.endswith("Node 1 does not reach 2 at c2:9093: connection refused.")
    assert as_json(found, Parts(status=False, replication=False))["unreached"] == [msgspec.to_builtins(peer)]


def test_a_leader_that_is_heard_is_shown_without_a_complaint() -> None:
    for answered_by, heard_age_ms in ((2, None), (2, 300), (1, 300)):
        found = msgspec.structs.replace(_status(answered_by=answered_by), heard_age_ms=heard_age_ms)
        lines = lines_of(found, Parts(status=True, replication=False))
        assert lines[0].startswith("ClusterId:")
        assert "LeaderId:             2" in lines
        assert (lines[-1].startswith("Answered by node 1: the leader, node 2, would know")) is (answered_by == 1)


def test_without_a_leader_the_command_fails(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        node = ScriptedNode()
        node.leader_id = None
        async with served(node) as address:
            words = ("quorum", "describe", "--bootstrap-controller", address)
            assert await asyncio.to_thread(kraft, words) == 1
            shown = capsys.readouterr()
            assert "none known" in shown.out
            complaint = "no leader is known: node 7, which answered, knows none in epoch 3."
            assert shown.out.startswith(complaint.replace("no", "No", 1))
            assert await asyncio.to_thread(kraft, (*words, "-o", "json")) == 1
            shown = capsys.readouterr()
            assert json.loads(shown.out)["status"]["leader_id"] is None
            assert shown.err.startswith(f"kraft: {complaint}")
            assert await asyncio.to_thread(kraft, ("quorum", "health", *words[2:])) == 1
            assert capsys.readouterr().out.startswith(f"Not healthy: {complaint}")

    run(main())
