"""UpdateRaftVoter, and the way from static voters into the log (KIP-853, kraft.version 0 to 1)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from metadata_log.records import KRaftVersionRecord, VotersRecord
from metadata_log.voters import Endpoint, VoterSet
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchRequest
from quorum.api.voter_messages import UpdateRaftVoterRequest
from quorum.raft.inputs import RequestReceived
from tests.support.raft_transcript import key_of
from tests.support.scenario import Scenario
from tests.support.voter_scenario import (
    UPDATE,
    UPGRADE,
    answered,
    ask,
    committed_leader,
    control_records,
    fetch_up,
    static_leader,
)

# --- update


def test_a_voter_says_where_it_listens_and_is_answered_before_the_commit() -> None:
    scenario = committed_leader(1, 2)
    assert ask(scenario, "update from=2 epoch=5 port=9999", UPDATE) is Error.NONE
    reply = scenario.reply(7, UPDATE)
    assert (reply.leader_id, reply.leader_epoch) == (1, 5)
    known = scenario.core.voters.get(key_of(2).node_id)
    assert known is not None
    assert (known.key, [endpoint.port for endpoint in known.endpoints]) == (key_of(2), [9999])
    assert scenario.core.high_watermark < scenario.core.log_end_offset


def test_a_voter_that_says_what_is_known_changes_nothing() -> None:
    scenario = committed_leader(1, 2)
    assert ask(scenario, "update from=2 epoch=5", UPDATE) is Error.NONE
    assert not scenario.written


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("update from=2 dir=0 epoch=5", Error.INVALID_REQUEST),
        ("update from=2 epoch=4", Error.FENCED_LEADER_EPOCH),
        ("update from=2 epoch=6", Error.UNKNOWN_LEADER_EPOCH),
        ("update from=2 dir=9 epoch=5", Error.VOTER_NOT_FOUND),
        ("update from=3 epoch=5", Error.VOTER_NOT_FOUND),
        ("update from=2 epoch=5 max=0", Error.INVALID_REQUEST),
    ],
    ids=["no directory", "older epoch", "newer epoch", "another disk", "no voter", "kraft.version 0 alone"],
)
def test_an_update_that_cannot_be_is_refused_with_the_leader(line: str, error: Error) -> None:
    scenario = committed_leader(1, 2)
    assert ask(scenario, line, UPDATE) is error
    reply = scenario.reply(7, UPDATE)
    assert (reply.leader_id, reply.leader_epoch) == (1, 5)
    assert not scenario.written


@pytest.mark.parametrize(
    "changes",
    [
        {"endpoints": ()},
        {"endpoints": (Endpoint(name="GRPC", host="ä" * 20_000, port=1),)},
        {"endpoints": (Endpoint(name="GRPC", host="b", port=1), Endpoint(name="x" * 40_000, host="b", port=1))},
        {"endpoints": (Endpoint(name="GRPC", host="b", port=65_536),)},
        {"endpoints": (Endpoint(name="GRPC", host="b", port=-1),)},
        {"max_kraft_version": 32_768},
    ],
    ids=["nowhere", "a long host", "a long name", "no port", "a port below 0", "a version that no record holds"],
)
def test_an_update_that_no_record_can_hold_or_that_leads_nowhere_is_refused(changes: dict[str, Any]) -> None:
    scenario = committed_leader(1, 2)
    known = scenario.core.voters.get(key_of(2).node_id)
    assert known is not None
    odd = msgspec.structs.replace(known, **changes)
    request = UpdateRaftVoterRequest(current_leader_epoch=scenario.core.epoch, voter=odd)
    scenario.give(RequestReceived(request_id=7, request=request, draw=1))
    assert answered(scenario, UPDATE) is Error.INVALID_REQUEST
    assert not scenario.written


# --- a follower's own vote


def _follower(line: str) -> Scenario:
    """Return a follower of leader 2 in epoch 4 that fetches from it."""
    scenario = Scenario(f"node me=1 voters=1,2,3 epoch=4 leader=2 {line}", "start").answer(2, "epoch=4 leader=2 hw=0")
    assert not scenario.requests(UpdateRaftVoterRequest)
    return scenario


def _until_update(scenario: Scenario) -> dict[int, UpdateRaftVoterRequest]:
    """Respond to its Fetches for three fetch timeouts; return its first UpdateRaftVoter, if it sends one."""
    end_ms = scenario.now_ms + 6000
    while scenario.now_ms < end_ms:
        scenario.tell("wait ms=400")
        if asked := scenario.requests(UpdateRaftVoterRequest):
            return asked
        scenario.answer_fetch(2)
        if asked := scenario.requests(UpdateRaftVoterRequest):
            return asked
    return {}


@pytest.mark.parametrize("static", ["", "static"], ids=["dynamic", "static"])
def test_a_voter_that_listens_elsewhere_tells_the_leader_once_a_fetch_timeout(static: str) -> None:
    """A static voter sends it to every leader: so the leader learns its directory."""
    scenario = _follower(f"port=9999 {static}")
    ((who, asked),) = _until_update(scenario).items()
    assert (who, asked.current_leader_epoch, asked.voter.key) == (2, 4, key_of(1))
    assert asked.voter.endpoints == (Endpoint(name="GRPC", host="n1", port=9999),)
    assert (asked.voter.min_kraft_version, asked.voter.max_kraft_version) == (0, 1)
    assert scenario.now_ms >= 2000
    scenario.answer(2, "epoch=4 leader=2")
    assert scenario.position == ("follower", 4, 2)


@pytest.mark.parametrize("error", ["NONE", "UNSUPPORTED_VERSION"])
def test_a_static_voter_tells_each_leader_once(error: str) -> None:
    """This includes a leader that does not know the request: it will not know it later either."""
    scenario = _follower("port=9999 static")
    assert _until_update(scenario)
    scenario.answer(2, f"epoch=4 leader=2 error={error}")
    assert not _until_update(scenario)
    scenario.tell("begin id=8 from=2 epoch=5", "flush")
    ((who, asked),) = _until_update(scenario).items()
    assert (who, asked.current_leader_epoch) == (2, 5)


def test_the_leader_is_told_while_a_fetch_is_under_way() -> None:
    """Kafka's waits for the response to the Fetch: both use one connection."""
    scenario = _follower("port=9999")
    for _ in range(3):
        scenario.tell("wait ms=600").answer_fetch(2)
    scenario.tell("wait ms=199")
    assert not scenario.requests(UpdateRaftVoterRequest)
    scenario.tell("wait ms=1")
    assert list(scenario.requests(UpdateRaftVoterRequest)) == [2]
    assert [asked for asked in scenario.asked.values() if isinstance(asked.request, FetchRequest)]


def test_a_voter_that_listens_where_the_log_says_tells_nobody() -> None:
    scenario = _follower("")
    assert not _until_update(scenario)
    due_ms = scenario.core.next_deadline_ms()
    assert due_ms is not None
    assert due_ms > scenario.now_ms or scenario.requests(FetchRequest)


def test_the_answer_to_an_update_may_tell_of_a_new_leader() -> None:
    scenario = _follower("port=9999")
    assert _until_update(scenario)
    scenario.answer(2, "epoch=5 leader=3")
    assert scenario.position == ("follower", 5, 3)
    assert list(scenario.requests(FetchRequest)) == [3]


# --- kraft.version 0 to 1


def test_the_voters_move_into_the_log_once_each_has_told_its_directory() -> None:
    scenario = static_leader(1, 2, 3)
    assert ask(scenario, "upgrade to=1", UPGRADE) is Error.INVALID_UPDATE_VERSION
    scenario.tell("update from=2 epoch=1 id=2")
    assert ask(scenario, "upgrade to=1", UPGRADE) is Error.INVALID_UPDATE_VERSION
    assert scenario.core.kraft_version == 0
    scenario.tell("update from=3 epoch=1 id=3")
    assert ask(scenario, "upgrade to=1", UPGRADE) is None
    version, voters = control_records(scenario)
    assert version == KRaftVersionRecord(kraft_version=1)
    assert isinstance(voters, VotersRecord)
    assert VoterSet.from_record(voters).keys == (key_of(1), key_of(2), key_of(3))
    assert scenario.core.kraft_version == 1
    fetch_up(scenario.tell("flush"), 2)
    assert answered(scenario, UPGRADE) is Error.NONE
    assert ask(scenario, "upgrade to=1", UPGRADE) is Error.NONE
    assert not scenario.written


def test_an_upgrade_that_is_not_committed_is_nobodys() -> None:
    """A repeated request gets the same response as the one that timed out: the next leader may not have the upgrade."""
    scenario = static_leader(1, 2, 3).tell("update from=2 epoch=1 id=2", "update from=3 epoch=1 id=3")
    assert ask(scenario, "upgrade to=1", UPGRADE) is None
    scenario.tell("flush")
    told: list[Error | None] = []
    for n in range(21):
        told.append(answered(scenario.tell("wait ms=100"), UPGRADE))
        scenario.tell(f"fetch id={100 + n} from=2 epoch=1 at=1@1 wait=0")
    assert told == [*[None] * 19, Error.REQUEST_TIMED_OUT, None]
    assert (scenario.core.kraft_version, scenario.core.high_watermark) == (1, 1)
    assert ask(scenario, "upgrade to=1", UPGRADE) is Error.REQUEST_TIMED_OUT
    fetch_up(scenario, 2)
    assert ask(scenario, "upgrade to=1", UPGRADE) is Error.NONE


def test_a_voter_that_supports_kraft_version_0_alone_keeps_the_voters_where_they_are() -> None:
    scenario = static_leader(1, 2, 3).tell("update from=2 epoch=1 id=2", "update from=3 epoch=1 max=0 id=3")
    assert ask(scenario, "upgrade to=1", UPGRADE) is Error.INVALID_UPDATE_VERSION
    assert scenario.core.kraft_version == 0


def test_an_upgrade_is_for_the_leader_and_never_down_or_beyond() -> None:
    scenario = committed_leader(1, 2)
    assert ask(scenario, "upgrade to=0", UPGRADE) is Error.INVALID_UPDATE_VERSION
    assert ask(scenario, "upgrade to=2", UPGRADE) is Error.INVALID_UPDATE_VERSION
    assert (
        ask(Scenario("node me=1 voters=1,2 static", "start"), "upgrade to=1", UPGRADE) is Error.NOT_LEADER_OR_FOLLOWER
    )


def test_after_the_upgrade_a_voter_updates_the_log() -> None:
    scenario = static_leader(1, 2).tell("update from=2 epoch=1 id=2", "upgrade to=1 id=3", "flush")
    fetch_up(scenario, 2)
    assert ask(scenario, "update from=2 epoch=1 port=9999", UPDATE) is Error.NONE
    (voters,) = control_records(scenario)
    assert isinstance(voters, VotersRecord)
