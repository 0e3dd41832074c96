"""DescribeQuorum at a leader (KIP-595, KIP-836): how far each replica is, and since when."""

from __future__ import annotations

import pytest

from metadata_log.ids import ZERO_DIRECTORY_ID, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from quorum.api.quorum_description import ReplicaDescription
from quorum.api.raft_messages import FetchRequest, FetchResponse
from quorum.raft.config import StorageState
from quorum.raft.inputs import RequestReceived
from tests.support.raft_transcript import WALL_MS, key_of
from tests.support.scenario import Scenario, dynamic_voters, elect, leader, static_voters

UNHEARD = (-1, -1, -1)


def _told(replica: ReplicaDescription) -> tuple[int, int, int]:
    """Return log end, last fetch and last caught up, in ms of the scenario's clock; -1 if unknown."""
    stamps = (replica.last_fetch_timestamp_ms, replica.last_caught_up_timestamp_ms)
    return (replica.log_end_offset, *(stamp if stamp < 0 else stamp - WALL_MS for stamp in stamps))  # type: ignore[return-value]


def _voters(scenario: Scenario) -> dict[int, tuple[int, int, int]]:
    return {replica.replica.node_id: _told(replica) for replica in scenario.core.describe_quorum().voters}


def _observers(scenario: Scenario) -> dict[int, tuple[int, int, int]]:
    return {replica.replica.node_id: _told(replica) for replica in scenario.core.describe_quorum().observers}


def _static_leader(*voters: int) -> Scenario:
    scenario = Scenario().load(StorageState(voters=static_voters(*voters))).tell("start")
    elect(scenario, 1)
    return scenario


@pytest.mark.parametrize("remembered", ["", "leader=2"])
def test_who_does_not_lead_names_the_leader_and_nobodys_progress(remembered: str) -> None:
    """Kafka's response has NOT_LEADER_OR_FOLLOWER alone; here a client finds the leader through any replica."""
    description = Scenario(f"node me=1 voters=1,2,3 epoch=2 {remembered}", "start").core.describe_quorum()
    assert (description.leader_id, description.leader_epoch) == (2 if remembered else None, 2)
    assert {_told(replica) for replica in description.voters} == {UNHEARD}
    assert description.observers == ()


def test_static_voters_have_no_directory_ids() -> None:
    description = _static_leader(1, 2).core.describe_quorum()
    assert {replica.replica.directory_id for replica in description.voters} == {ZERO_DIRECTORY_ID}
    assert [_told(replica) for replica in description.voters] == [(1, 0, 0), UNHEARD]
    assert (description.leader_id, description.leader_epoch, description.high_watermark) == (1, 1, -1)


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_followers_are_as_far_as_they_fetched(kind: str) -> None:
    scenario = _static_leader(1, 2, 3) if kind == "static" else leader(epoch=1)
    first = scenario.core.log_end_offset
    assert _voters(scenario) == {1: (first, 0, 0), 2: UNHEARD, 3: UNHEARD}
    assert scenario.core.describe_quorum().high_watermark == -1
    scenario.tell("wait ms=100", f"fetch id=1 from=2 epoch=1 at={first}@1 wait=0")
    scenario.tell("propose epoch=1", "propose epoch=1")
    assert _voters(scenario)[1] == (first + 2, 100, 100), "durable or not"
    scenario.tell("flush", "wait ms=100")
    assert scenario.core.describe_quorum().high_watermark == first
    assert _voters(scenario) == {1: (first + 2, 200, 200), 2: (first, 100, 100), 3: UNHEARD}
    scenario.tell("wait ms=100", f"fetch id=2 from=3 epoch=1 at={first + 2}@1 wait=0", "wait ms=100")
    assert scenario.core.describe_quorum().high_watermark == first + 2
    assert _voters(scenario) == {1: (first + 2, 400, 400), 2: (first, 100, 100), 3: (first + 2, 300, 300)}
    scenario.tell("wait ms=3000")
    assert scenario.core.role == "resigned"
    assert scenario.core.describe_quorum().leader_id is None
    assert set(_voters(scenario).values()) == {UNHEARD}


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_observers_are_told_apart_and_forgotten_after_five_minutes(kind: str) -> None:
    scenario = _static_leader(1, 2) if kind == "static" else leader(voters="1,2", epoch=1)
    first = scenario.core.log_end_offset
    scenario.tell("wait ms=100", f"fetch id=1 from=2 epoch=1 at={first}@1 wait=0")
    scenario.tell("wait ms=100", "fetch id=2 from=9 epoch=1 at=0@0 wait=0", "wait ms=100")
    assert _voters(scenario) == {1: (first, 300, 300), 2: (first, 100, 100)}
    assert _observers(scenario) == {9: (0, 200, -1)}
    scenario.tell("wait ms=100", f"fetch id=3 from=9 epoch=1 at={first}@1 wait=0", "wait ms=100")
    assert _observers(scenario) == {9: (first, 400, 400)}
    scenario.tell("propose epoch=1", "propose epoch=1", "flush")
    assert _voters(scenario)[1] == (first + 2, 500, 500)
    assert _observers(scenario) == {9: (first, 400, 400)}
    while scenario.now_ms < 300_400 - 2999:
        scenario.tell(f"fetch id=4 from=2 epoch=1 at={first}@1 wait=0", "wait ms=2999")
        assert list(_observers(scenario)) == [9]
    scenario.tell(f"fetch id=4 from=2 epoch=1 at={first}@1 wait=0", f"wait ms={300_400 - scenario.now_ms}")
    assert scenario.core.role == "leader"
    assert _observers(scenario) == {}


def test_a_reader_without_a_node_id_is_served_and_not_counted() -> None:
    scenario = leader(voters="1,2", epoch=1)
    request = FetchRequest(
        replica=ReplicaKey(node_id=NodeId(-1)),
        current_leader_epoch=Epoch(1),
        fetch_offset=Offset(0),
        last_fetched_epoch=Epoch(0),
        max_bytes=1 << 20,
        max_wait_ms=0,
    )
    scenario.give(RequestReceived(request_id=7, request=request, draw=1))
    assert scenario.reply(7, FetchResponse).leader_id == 1
    assert _observers(scenario) == {}


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_a_follower_that_starts_over_is_told_so_and_the_high_watermark_stays(kind: str) -> None:
    scenario = _static_leader(1, 2) if kind == "static" else leader(voters="1,2", epoch=1)
    end = scenario.core.log_end_offset + 2
    scenario.tell("propose epoch=1", "propose epoch=1", "flush", "wait ms=100")
    scenario.tell(f"fetch id=1 from=2 epoch=1 at={end}@1 wait=0", "wait ms=100")
    assert _voters(scenario) == {1: (end, 200, 200), 2: (end, 100, 100)}
    scenario.tell(f"fetch id=2 from=2 epoch=1 at={end - 1}@1 wait=0", "wait ms=100")
    assert scenario.core.describe_quorum().high_watermark == end
    assert _voters(scenario) == {1: (end, 300, 300), 2: (end - 1, 200, 100)}


def test_the_voters_of_the_checkpoint_are_described() -> None:
    """Their record is in the log: the epoch opens with one record."""
    scenario = Scenario().load(StorageState(voters=dynamic_voters(1, 2, 3))).tell("start")
    elect(scenario, 1)
    keys = [replica.replica for replica in scenario.core.describe_quorum().voters]
    assert keys == [key_of(1), key_of(2), key_of(3)]
    assert scenario.core.log_end_offset == 1
