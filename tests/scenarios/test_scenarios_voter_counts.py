"""The high watermark, a leader's majority, and its observers, while the voters change."""

from __future__ import annotations

import pytest

from quorum.raft.ready import HighWatermarkAdvanced
from tests.support.scenario import Scenario, elect
from tests.support.voter_scenario import (
    ADD,
    answered,
    committed_leader,
    fetch_up,
    static_leader,
    voter_ids,
)


def _high_watermark(scenario: Scenario) -> int:
    return scenario.core.high_watermark


def test_a_new_voter_counts_from_the_record_on() -> None:
    """An observer does not move the high watermark; a voter counts at once."""
    scenario = committed_leader(1, 2, caught_up=3).tell("propose epoch=5", "flush")
    before = _high_watermark(scenario)
    fetch_up(scenario, 3)
    assert _high_watermark(scenario) == before
    scenario.tell("add voter=3 id=7").answer(3, "epoch=0 is=3")
    scenario.tell("flush")
    assert _high_watermark(scenario) == before + 1
    fetch_up(scenario, 3)
    assert _high_watermark(scenario) == scenario.core.log_end_offset


def test_a_new_voter_that_is_behind_by_now_does_not_take_the_high_watermark_back() -> None:
    scenario = committed_leader(1, 2, 3, caught_up=4)
    end = _high_watermark(scenario)
    scenario.tell("propose epoch=5", "flush")
    fetch_up(scenario, 2)
    assert _high_watermark(scenario) == end + 1
    scenario.tell("add voter=4 id=7").answer(4, "epoch=0 is=4").tell("flush")
    assert voter_ids(scenario) == [1, 2, 3, 4]
    assert _high_watermark(scenario) == end + 1
    for node_id in (3, 4):
        scenario.tell(f"fetch id=9 from={node_id} epoch=5 at={end}@5 wait=0")
        assert _high_watermark(scenario) == end + 1
    fetch_up(scenario, 2)
    assert _high_watermark(scenario) == end + 1
    fetch_up(scenario, 4)
    assert _high_watermark(scenario) == end + 2
    assert not [advanced for advanced in scenario.effects(HighWatermarkAdvanced) if advanced.offset <= end]


@pytest.mark.parametrize("removed", [2, 1], ids=["follower", "leader"])
def test_a_voter_that_goes_takes_nothing_back_and_the_rest_have_to_catch_up(removed: int) -> None:
    """The third of 1, 2, 3 is behind. What the first two committed stays committed, though the rest are too few for
    it."""
    scenario = committed_leader(1, 2, 3).tell("propose epoch=5", "flush")
    end = scenario.core.log_end_offset
    fetch_up(scenario, 2)
    assert _high_watermark(scenario) == end
    scenario.tell(f"remove voter={removed} id=7", "flush", "propose epoch=5", "flush")
    assert _high_watermark(scenario) == end
    fetch_up(scenario, 2)
    assert _high_watermark(scenario) == end
    for behind in (end - 1, end):
        scenario.tell(f"fetch id=9 from=3 epoch=5 at={behind}@5 wait=0")
        assert _high_watermark(scenario) == end
    scenario.tell(f"fetch id=9 from=3 epoch=5 at={end + 1}@5 wait=0")
    assert _high_watermark(scenario) == end + 1


def test_a_leader_has_to_hear_a_majority_of_the_voters_as_they_are() -> None:
    """One other voter of three is enough; of four two; of three that remain without the leader two."""
    scenario = committed_leader(1, 2, 3, caught_up=4).tell("wait ms=1500")
    state = scenario.core._core.state
    fetch_up(scenario, 2)
    assert state.check_quorum_deadline_ms == scenario.now_ms + 3000
    fetch_up(scenario, 4)
    scenario.tell("add voter=4 id=7").answer(4, "epoch=0 is=4").tell("flush", "wait ms=1500")
    before = state.check_quorum_deadline_ms
    fetch_up(scenario, 2)
    assert state.check_quorum_deadline_ms == before
    fetch_up(scenario, 3)
    assert state.check_quorum_deadline_ms == scenario.now_ms + 3000
    scenario.tell("remove voter=1 id=8", "wait ms=1500")
    before = state.check_quorum_deadline_ms
    scenario.tell("fetch id=9 from=3 epoch=5 at=3@5 wait=0")
    assert state.check_quorum_deadline_ms == before
    scenario.tell("fetch id=9 from=2 epoch=5 at=3@5 wait=0")
    assert state.check_quorum_deadline_ms == scenario.now_ms + 3000


def test_a_voter_that_was_removed_is_no_part_of_the_majority_that_was_heard() -> None:
    scenario = fetch_up(committed_leader(1, 2, 3, 4, 5, committed=False), 3, 4)
    assert scenario.core.high_watermark == scenario.core.log_end_offset
    scenario.tell("wait ms=500")
    fetch_up(scenario, 5)
    state = scenario.core._core.state
    before = state.check_quorum_deadline_ms
    scenario.tell("remove voter=5 id=7")
    scenario.tell("fetch id=9 from=2 epoch=5 at=3@5 wait=0")
    assert state.check_quorum_deadline_ms == before
    scenario.tell("fetch id=9 from=3 epoch=5 at=3@5 wait=0")
    assert state.check_quorum_deadline_ms == scenario.now_ms + 3000


def test_what_static_voters_fetched_counts_for_them_with_their_directories() -> None:
    scenario = static_leader(1, 2, 3).tell("update from=2 epoch=1 id=2", "update from=3 epoch=1 id=3")
    before = _high_watermark(scenario)
    scenario.tell("upgrade to=1 id=7", "flush")
    assert _high_watermark(scenario) == before
    fetch_up(scenario, 3)
    assert _high_watermark(scenario) == scenario.core.log_end_offset


def test_a_leader_begins_its_observers_and_changes_anew() -> None:
    scenario = committed_leader(1, 2, caught_up=3).tell("add voter=3 id=7")
    assert [each.replica.node_id for each in scenario.core.describe_quorum().observers] == [3]
    scenario.tell("wait ms=3000")
    assert answered(scenario, ADD) is not None
    assert scenario.core.role == "resigned"
    scenario.tell("wait", "flush", "wait")
    elect(scenario, 7)
    description = scenario.core.describe_quorum()
    assert [each.replica.node_id for each in description.voters] == [1, 2]
    assert description.observers == ()
