"""Transitions between epoch states: for each message and deadline, the next state and the content of quorum-state.

And the inputs that stop the node because they must never happen.
"""

from __future__ import annotations

import pytest

from metadata_log.errors import InvariantViolation
from metadata_log.ids import ReplicaKey
from metadata_log.offsets import Epoch
from quorum.api.error_codes import Error
from quorum.api.raft_messages import BeginQuorumEpochResponse, VoteResponse
from quorum.raft.leader_discovery import STRANGERS
from quorum.raft.ready import PeerRefused, PersistQuorumState
from quorum.raft.states import (
    Candidate,
    ElectionState,
    EpochState,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Tally,
    Unattached,
)
from quorum.raft.transitions import Role
from tests.support.raft_transcript import key_of
from tests.support.scenario import Scenario, candidate, leader

PROSPECTIVE = "node me=1 voters=1,2,3 epoch=5 log=4@4"
OBSERVER = "node me=9 voters=1,2,3 epoch=5 log=4@4"

SCENES: dict[str, list[str]] = {
    "unattached": [PROSPECTIVE, "start", "wait"],
    "unattached that voted": [PROSPECTIVE, "start", "vote id=1 from=3 epoch=5 end=9@4", "flush"],
    "unattached with a leader nowhere": [f"{PROSPECTIVE} leader=7", "start", "wait"],
    "follower": [f"{PROSPECTIVE} leader=2", "start"],
    "follower that voted": [f"{PROSPECTIVE} leader=2 voted=3", "start"],
    "prospective": [PROSPECTIVE, "start"],
    "prospective that voted": [f"{PROSPECTIVE} voted=3", "start"],
    "prospective with a leader": [f"{PROSPECTIVE} leader=2", "start", "wait ms=2000"],
    "prospective that voted, with a leader": [f"{PROSPECTIVE} leader=2 voted=3", "start", "wait ms=2000"],
    "candidate": [],
    "leader": [],
    "resigned": [f"{PROSPECTIVE} leader=1", "start"],
    "observer": [OBSERVER, "start"],
    "observer that voted": [f"{OBSERVER} voted=3", "start"],
    "observer that follows": [f"{OBSERVER} leader=2", "start"],
}
"""Each in epoch 5. The leader is 2, or 7 if its endpoint is unknown; the vote is for 3."""


def _in(scene: str) -> Scenario:
    elected = {"candidate": candidate, "leader": leader}
    scenario = Scenario(*SCENES[scene]) if SCENES[scene] else elected[scene](epoch=5, log="4@4")
    role = scene.split(maxsplit=1)[0]
    if role == "observer":
        role = "follower" if "follows" in scene else "unattached"
    assert (scenario.core.role, scenario.core.epoch) == (role, 5)
    return scenario


def _remembered(scenario: Scenario) -> tuple[int, int | None, ReplicaKey | None]:
    return scenario.stored.leader_epoch, scenario.stored.leader_id, scenario.stored.voted


def _vote_of(scene: str) -> ReplicaKey | None:
    """Return the vote of the replica in epoch 5."""
    return key_of(3) if "voted" in scene else key_of(1) if scene == "candidate" else None


# --- what must never happen


def _state(role: Role) -> EpochState:
    tally = Tally(voters=frozenset(), majority=2)
    return {
        Role.UNATTACHED: lambda: Unattached(election_deadline_ms=None),
        Role.PROSPECTIVE: lambda: Prospective(tally=tally, election_deadline_ms=0),
        Role.CANDIDATE: lambda: Candidate(tally=tally, election_deadline_ms=0),
        Role.FOLLOWER: lambda: Follower(fetch_deadline_ms=0),
        Role.LEADER: lambda: leader().core._core.state,
        Role.RESIGNED: lambda: Resigned(unacknowledged=set(), preferred_successors=(), election_deadline_ms=0),
    }[role]()


NEVER: dict[str, list[tuple[Role, int]]] = {
    "unattached": [
        (Role.CANDIDATE, 0), (Role.CANDIDATE, 1), (Role.LEADER, 0), (Role.UNATTACHED, -1), (Role.FOLLOWER, -1),
    ],
    "unattached that voted": [
        (Role.UNATTACHED, 0), (Role.CANDIDATE, 0), (Role.CANDIDATE, 1), (Role.LEADER, 0), (Role.RESIGNED, 0),
        (Role.UNATTACHED, -1), (Role.FOLLOWER, -1),
    ],
    "follower": [
        (Role.UNATTACHED, 0), (Role.CANDIDATE, 1), (Role.LEADER, 0), (Role.RESIGNED, 0), (Role.UNATTACHED, -1),
        (Role.FOLLOWER, -1), (Role.LEADER, -1),
    ],
    "follower that voted": [(Role.UNATTACHED, 0), (Role.FOLLOWER, 0)],
    "prospective": [
        (Role.PROSPECTIVE, 0), (Role.LEADER, 0), (Role.LEADER, 1), (Role.RESIGNED, 0), (Role.CANDIDATE, 0),
        (Role.CANDIDATE, 2),
    ],
    "prospective that voted": [(Role.UNATTACHED, 0), (Role.FOLLOWER, 0)],
    "candidate": [
        (Role.UNATTACHED, 0), (Role.CANDIDATE, 0), (Role.CANDIDATE, 1), (Role.RESIGNED, 0), (Role.UNATTACHED, -1),
        (Role.FOLLOWER, -1),
    ],
    "leader": [
        (Role.UNATTACHED, 0), (Role.FOLLOWER, 0), (Role.PROSPECTIVE, 0), (Role.CANDIDATE, 1), (Role.LEADER, 0),
        (Role.UNATTACHED, -1), (Role.FOLLOWER, -1),
    ],
    "resigned": [(Role.LEADER, 0), (Role.FOLLOWER, 0), (Role.UNATTACHED, 0), (Role.CANDIDATE, 1)],
    "observer": [(Role.PROSPECTIVE, 0), (Role.CANDIDATE, 1), (Role.LEADER, 0), (Role.RESIGNED, 0)],
    "observer that voted": [(Role.PROSPECTIVE, 0), (Role.CANDIDATE, 1), (Role.LEADER, 0), (Role.RESIGNED, 0)],
    "observer that follows": [(Role.PROSPECTIVE, 0), (Role.CANDIDATE, 1), (Role.LEADER, 0), (Role.RESIGNED, 0)],
}  # fmt: skip
"""The state and its distance from epoch 5; a vote of epoch 5 is forgotten on the way."""


@pytest.mark.parametrize(
    ("scene", "target", "epochs"),
    [(scene, *step) for scene, steps in NEVER.items() for step in steps],
    ids=[f"{scene} to {role} {epochs:+}" for scene, steps in NEVER.items() for role, epochs in steps],
)
def test_a_step_that_may_not_be_stops_the_node_and_changes_nothing(scene: str, target: Role, epochs: int) -> None:
    scenario = _in(scene)
    before = scenario.core.describe()
    with pytest.raises(InvariantViolation):
        scenario.core._core.enter(_state(target), ElectionState(epoch=Epoch(5 + epochs)), ())
    assert scenario.core.describe() == before


# --- a higher epoch


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("end", ["end=2@1", "end=99@9 pre"], ids=["vote refused", "pre-vote"])
def test_a_higher_epoch_without_a_leader_leaves_a_replica_unattached_in_it(scene: str, end: str) -> None:
    """It starts pre-votes soon, since there is no leader; an observer never does."""
    scenario = _in(scene).tell(f"vote id=7 from=2 epoch=9 {end}")
    assert scenario.reply(7, VoteResponse).vote_granted == ("pre" in end)
    assert scenario.position == ("unattached", 9, None)
    assert _remembered(scenario) == (9, None, None)
    due_ms = scenario.core._core.state.election_deadline_ms
    if scene.startswith("observer"):
        assert due_ms is None
    else:
        assert 5 <= due_ms - scenario.now_ms <= 20


@pytest.mark.parametrize("scene", SCENES)
def test_a_vote_of_a_higher_epoch_is_written_with_it_and_leaves_time_to_win(scene: str) -> None:
    """One write: the epoch is never durable without the vote."""
    scenario = _in(scene).tell("flush", "vote id=7 from=2 epoch=9 end=99@8")
    assert scenario.reply(7, VoteResponse).vote_granted
    assert scenario.position == ("unattached", 9, None)
    assert [type(write) for write in scenario.written] == [PersistQuorumState]
    assert _remembered(scenario) == (9, None, key_of(2))
    due_ms = scenario.core._core.state.election_deadline_ms
    assert 1000 <= due_ms - scenario.now_ms < 2000


@pytest.mark.parametrize("scene", SCENES)
def test_a_leader_of_a_higher_epoch_is_followed_and_the_old_vote_is_over(scene: str) -> None:
    scenario = _in(scene).tell("begin id=7 from=3 epoch=8")
    assert scenario.reply(7, BeginQuorumEpochResponse).error is Error.NONE
    assert scenario.position == ("follower", 8, 3)
    assert _remembered(scenario) == (8, 3, None)
    assert scenario.core._core.state.fetch_deadline_ms == scenario.now_ms + 2000


@pytest.mark.parametrize("scene", ["prospective", "prospective with a leader", "candidate"])
def test_a_leader_of_a_higher_epoch_that_nobody_knows_the_place_of_is_not_followed(scene: str) -> None:
    """Kafka remembers its id; here only the epoch, in which this replica has granted no vote."""
    scenario = _in(scene)
    answer = VoteResponse(error=Error.FENCED_LEADER_EPOCH, leader_id=7, leader_epoch=10)
    scenario.answer_late(2, scenario.correlation(2), answer)
    assert scenario.position == ("unattached", 10, None)
    assert _remembered(scenario) == (10, None, None)


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize(
    "line", ["vote id=7 from=2 epoch=4 end=99@3", "vote id=7 from=2 epoch=4 end=99@4 pre", "begin id=7 from=2 epoch=4"]
)
def test_an_older_epoch_moves_nobody(scene: str, line: str) -> None:
    scenario = _in(scene)
    before = scenario.core.describe()
    scenario.tell(line)
    (sent,) = scenario.replies
    assert sent.response.error is Error.FENCED_LEADER_EPOCH
    assert scenario.core.describe() == before


@pytest.mark.parametrize("scene", ["prospective", "candidate", "follower", "leader", "resigned", "observer"])
@pytest.mark.parametrize("error", sorted(STRANGERS), ids=lambda error: error.name)
def test_a_refusal_by_who_may_be_of_another_quorum_tells_nothing_of_epochs(scene: str, error: Error) -> None:
    """It is of another cluster, or not authorised: reported, and asked again later; Kafka's client stops on the
    second."""
    scenario = _in(scene)
    if scene == "leader":
        scenario.fail(2).tell("wait ms=1000")
    before = _remembered(scenario)
    role = scenario.core.role
    scenario.answer(2, f"epoch=9 leader=3 error={error.name}")
    assert [refused.node_id for refused in scenario.effects(PeerRefused)] == [2]
    assert (scenario.core.role, scenario.core.epoch) == (role, 5)
    assert _remembered(scenario) == before
    assert not scenario.written


# --- the same epoch


@pytest.mark.parametrize(
    "scene",
    ["unattached", "unattached that voted", "prospective", "prospective that voted", "candidate", "observer",
     "observer that voted"],
)  # fmt: skip
def test_the_leader_of_the_epoch_is_followed_and_the_vote_stays(scene: str) -> None:
    vote = _vote_of(scene)
    scenario = _in(scene).tell("begin id=7 from=2 epoch=5")
    assert scenario.position == ("follower", 5, 2)
    assert _remembered(scenario) == (5, 2, vote)
    assert [endpoint.host for endpoint in scenario.core.leader_endpoints] == ["n2"]
    assert scenario.core._core.state.fetch_deadline_ms == scenario.now_ms + 2000


@pytest.mark.parametrize("scene", [scene for scene in SCENES if "follow" in scene or "with a leader" in scene])
def test_a_second_leader_of_the_epoch_is_refused(scene: str) -> None:
    """Kafka's state machine follows it from prospective; two leaders of an epoch can never both be right."""
    scenario = _in(scene)
    before = scenario.core.describe()
    scenario.tell("begin id=7 from=3 epoch=5")
    assert scenario.reply(7, BeginQuorumEpochResponse).error is Error.INVALID_REQUEST
    assert scenario.core.describe() == before


@pytest.mark.parametrize("scene", ["prospective with a leader", "prospective that voted, with a leader"])
def test_a_prospective_follows_its_leader_again_once_that_shows(scene: str) -> None:
    vote = _vote_of(scene)
    scenario = _in(scene).tell("begin id=7 from=2 epoch=5")
    assert scenario.position == ("follower", 5, 2)
    assert _remembered(scenario) == (5, 2, vote)
    scenario.tell("wait ms=2000")
    assert scenario.position == ("prospective", 5, 2)
    assert _remembered(scenario) == (5, 2, vote)


@pytest.mark.parametrize(
    "scene",
    ["unattached", "unattached that voted", "unattached with a leader nowhere", "follower", "follower that voted",
     "candidate"],
)  # fmt: skip
def test_a_voter_that_waited_long_enough_is_prospective_and_keeps_vote_and_leader(scene: str) -> None:
    scenario = _in(scene)
    before = _remembered(scenario)
    scenario.tell("wait ms=2000")
    assert (scenario.core.role, scenario.core.epoch) == ("prospective", 5)
    assert _remembered(scenario) == before
    due_ms = scenario.core.next_deadline_ms()
    assert due_ms is not None
    assert 200 <= due_ms - scenario.now_ms <= 220


@pytest.mark.parametrize("scene", ["prospective", "prospective that voted"])
def test_a_prospective_without_a_leader_gives_up_in_the_same_epoch_and_keeps_its_vote(scene: str) -> None:
    scenario = _in(scene).tell("wait")
    assert scenario.position == ("unattached", 5, None)
    assert _remembered(scenario) == (5, None, _vote_of(scene))


def test_a_prospective_whose_leader_is_nowhere_gives_up_and_keeps_both() -> None:
    scenario = Scenario(f"{PROSPECTIVE} leader=7 voted=3", "start")
    assert scenario.position == ("prospective", 5, 7)
    scenario.tell("wait")
    assert scenario.position == ("unattached", 5, 7)
    assert _remembered(scenario) == (5, 7, key_of(3))


@pytest.mark.parametrize("scene", [scene for scene in SCENES if scene.startswith("prospective")])
def test_a_prospective_stands_for_the_next_epoch_and_votes_for_itself(scene: str) -> None:
    scenario = _in(scene).answer(3, "epoch=5 granted")
    assert scenario.position == ("candidate", 6, None)
    assert _remembered(scenario) == (6, None, key_of(1))
    due_ms = scenario.core.next_deadline_ms()
    assert due_ms is not None
    assert 1000 <= due_ms - scenario.now_ms < 2000


def test_a_vote_in_the_same_epoch_leaves_time_to_win() -> None:
    """A prospective grants it, too, and ends its own campaign: Kafka's stays prospective."""
    for scene in ("unattached", "prospective"):
        scenario = _in(scene).tell("vote id=7 from=2 epoch=5 end=9@4")
        assert scenario.position == ("unattached", 5, None)
        assert _remembered(scenario) == (5, None, key_of(2))
        due_ms = scenario.core.next_deadline_ms()
        assert due_ms is not None
        assert 1000 <= due_ms - scenario.now_ms < 2000


@pytest.mark.parametrize("scene", [scene for scene in SCENES if "voted" in scene])
def test_a_vote_is_not_given_twice_in_an_epoch(scene: str) -> None:
    scenario = _in(scene)
    scenario.tell("vote id=7 from=2 epoch=5 end=99@4")
    assert not scenario.reply(7, VoteResponse).vote_granted
    assert scenario.stored.voted == key_of(3)


@pytest.mark.parametrize("scene", SCENES)
def test_nobody_votes_for_itself_or_follows_itself_because_it_is_asked_to(scene: str) -> None:
    scenario = _in(scene)
    me = scenario.core.replica.node_id
    before = scenario.core.describe()
    for line in (f"vote id=7 from={me} epoch=9 end=99@8", f"begin id=7 from={me} epoch=9"):
        scenario.tell(line)
        (sent,) = scenario.replies
        assert sent.response.error is Error.INVALID_REQUEST
        assert scenario.core.describe() == before


def test_another_is_known_to_lead_by_a_follower_only() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=0", "start")
    known = []
    for node_id, text in ((2, "epoch=0 granted"), (2, "epoch=1 granted")):
        known.append(scenario.position)
        scenario.answer(node_id, text).tell("flush")
    known.append(scenario.position)
    for line in ("vote id=1 from=2 epoch=2 end=0@0", "vote id=2 from=2 epoch=2 end=9@1", "begin id=3 from=2 epoch=2"):
        known.append(scenario.tell(line, "flush").position)
    assert known == [
        ("prospective", 0, None), ("candidate", 1, None), ("leader", 1, 1), ("unattached", 2, None),
        ("unattached", 2, None), ("follower", 2, 2),
    ]  # fmt: skip


def test_the_scenes_hold_every_state() -> None:
    seen = {_in(scene).core.role for scene in SCENES}
    assert seen == set(Role)
    assert type(_state(Role.LEADER)) is Leader
