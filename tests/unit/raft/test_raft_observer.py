"""An observer that has read nothing yet knows no voters, and replicas only by their places in its configuration."""

from __future__ import annotations

import pytest

from tests.support.raft_transcript import Transcript

LEADER = 2


def _asked(transcript: Transcript) -> int:
    """Return the node to which the pending Fetch was sent."""
    return transcript.asked[max(transcript.asked)].destination.node_id


@pytest.mark.parametrize("failure", ["reset", ""], ids=["refused", "deadline"])
def test_it_comes_back_to_a_leader_that_was_out_of_reach_once(failure: str) -> None:
    """The leader answers under the id of a bootstrap server, which says that it lives, and nothing to append."""
    transcript = Transcript()
    transcript.run("node me=9 voters= bootstrap=1,2,3 broker")
    transcript.run("start")
    transcript.run(f"answer to={max(transcript.asked)} epoch=4 leader={LEADER} error=FENCED_LEADER_EPOCH")
    transcript.run("flush")
    assert _asked(transcript) == LEADER
    transcript.run(f"fail to={max(transcript.asked)} {failure}")
    transcript.run("wait")
    assert _asked(transcript) < 0
    transcript.run(f"answer to={max(transcript.asked)} epoch=4 leader={LEADER} hw=3 records=3")
    transcript.run("wait")
    assert _asked(transcript) == LEADER
    transcript.run(f"answer to={max(transcript.asked)} epoch=4 leader={LEADER} hw=3 records=3")
    assert transcript.machine is not None
    assert transcript.machine.log_end_offset == 3


def test_who_is_behind_by_more_than_an_answer_holds_waits_for_none_of_them() -> None:
    """Else it would get one answer a wait, however far behind it is; who is behind by the newest batch alone waits."""
    transcript = Transcript()
    transcript.run("node me=1 voters=1")
    for line in ("start", "flush", "flush"):
        transcript.run(line)
    for _ in range(3):
        transcript.run("propose epoch=1")
        transcript.run("flush")
    assert transcript.machine is not None
    end = transcript.machine.log_end_offset

    def parked() -> bool:
        assert transcript.machine is not None
        return "parked=1" in transcript.machine.describe()

    transcript.run(f"fetch id=10 from=9 epoch=1 at={end - 3}@1 hw=0")
    assert parked(), "it may lack only the last append"
    transcript.run("wait")
    assert not parked()
    transcript.run(f"fetch id=11 from=9 epoch=1 at={end - 2}@1 hw=0")
    assert not parked(), "the answer was full"
    transcript.run(f"fetch id=12 from=9 epoch=1 at={end}@1 hw={end}")
    transcript.run("propose epoch=1")
    transcript.run("flush")
    assert parked()
