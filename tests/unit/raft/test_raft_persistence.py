"""Nothing is promised before it is durable (DESIGN 1.5): each rule, and what is out if a replica crashes in between."""

from __future__ import annotations

from quorum.api.raft_messages import FetchRequest, VoteRequest, VoteResponse
from quorum.raft.ready import Effect, HighWatermarkAdvanced, Ready, SendRequest, SendResponse
from tests.support.raft_transcript import Transcript


def _told(lines: list[str]) -> Transcript:
    transcript = Transcript()
    for line in lines:
        transcript.run(line)
    return transcript


def _ready(transcript: Transcript) -> Ready:
    assert transcript.last_ready is not None
    return transcript.last_ready


def _sent(effects: tuple[Effect, ...], kind: type) -> list[Effect]:
    found: list[Effect] = [
        effect for effect in effects if isinstance(effect, SendRequest) and isinstance(effect.request, kind)
    ]
    return found + [
        effect for effect in effects if isinstance(effect, SendResponse) and isinstance(effect.response, kind)
    ]


def test_a_vote_given_leaves_once_it_is_durable() -> None:
    """If the voter crashes before that, no candidate has the vote, and the restarted voter may grant another one."""
    told = _told(["node me=1 voters=1,2,3 epoch=4 log=5@4", "start", "vote id=7 from=2 epoch=5 end=5@4"])
    ready = _ready(told)
    token = ready.writes[0].token
    assert not _sent(ready.at_once, VoteResponse)
    assert [at for at, effect in ready.after if isinstance(effect, SendResponse)] == [token]
    restarted = _told(["node me=1 voters=1,2,3 epoch=4 log=5@4", "start", "vote id=8 from=3 epoch=5 end=5@4"])
    assert "voted=3" in restarted.machine.describe() if restarted.machine else False


def test_the_same_vote_asked_for_again_waits_too() -> None:
    """The second question comes while the first vote is on its way to the disk."""
    told = _told(["node me=1 voters=1,2,3 epoch=4 log=5@4", "start", "vote id=7 from=2 epoch=5 end=5@4"])
    token = _ready(told).writes[0].token
    told.run("vote id=8 from=2 epoch=5 end=5@4")
    assert not _sent(_ready(told).at_once, VoteResponse)
    assert _ready(told).after[0][0] == token


def test_a_candidate_asks_once_its_own_vote_is_durable() -> None:
    """If it crashes before that, no voter knows of the candidate, and it may vote for another one in that epoch."""
    told = _told(["node me=1 voters=1,2,3 epoch=4 log=5@4", "start", "answer to=1 epoch=4 granted"])
    assert not _sent(_ready(told).at_once, VoteRequest)
    assert len(_ready(told).after) == 2


def test_the_own_vote_counts_once_it_is_durable() -> None:
    """The only voter leads after `Persisted`, not before."""
    told = _told(["node me=1 voters=1", "start"])
    assert told.machine is not None
    assert told.machine.role == "candidate"
    told.run("flush first")
    assert told.machine.is_leader


def test_an_epoch_is_named_to_others_once_it_is_durable() -> None:
    """Every message after the higher epoch waits for the write, also a rejection."""
    told = _told(["node me=1 voters=1,2,3 epoch=4 log=5@4", "start", "vote id=7 from=2 epoch=9 end=2@1"])
    assert not _sent(_ready(told).at_once, VoteResponse)
    told.run("fetch id=8 from=3 epoch=9 at=5@4")
    assert [type(effect) for _, effect in _ready(told).after] == [SendResponse]
    told.run("flush")
    told.run("fetch id=9 from=3 epoch=9 at=5@4")
    assert _ready(told).after == ()


def test_a_fetch_offset_is_stated_once_the_log_is_durable_up_to_it() -> None:
    """If the follower crashes before that, the leader does not count bytes that are lost."""
    told = _told(["node me=1 voters=1,2,3 epoch=4 leader=2 log=5@4", "start", "answer to=1 epoch=4 leader=2 records=2"])
    assert told.machine is not None
    assert not told.asked
    told.run("wait ms=500")
    assert not told.asked
    told.run("flush")
    (fetch,) = [asked.request for asked in told.asked.values()]
    assert isinstance(fetch, FetchRequest)
    assert fetch.fetch_offset == 7


def test_the_first_fetch_of_a_deposed_leader_waits_for_its_own_appends() -> None:
    """It appended, lost, and follows: its offset is stated when those bytes are durable, or truncated."""
    told = _told(
        [
            "node me=1 voters=1,2,3 epoch=4 log=5@4",
            "start",
            "answer to=1 epoch=4 granted",
            "flush",
            "answer to=3 epoch=5 granted",
            "begin id=9 from=2 epoch=6",
        ]
    )
    assert not _sent(tuple(effect for _, effect in _ready(told).after), FetchRequest)
    told.run("flush")
    assert any(isinstance(asked.request, FetchRequest) for asked in told.asked.values())


def test_the_leader_counts_its_own_log_once_it_is_durable() -> None:
    """One follower holds the record, the leader's own disk does not yet: one of three."""
    told = _told(
        [
            "node me=1 voters=1,2,3 epoch=4 log=5@4",
            "start",
            "answer to=1 epoch=4 granted",
            "flush",
            "answer to=3 epoch=5 granted",
            "fetch id=9 from=2 epoch=5 at=8@5 hw=0",
        ]
    )
    assert told.machine is not None
    assert told.machine.high_watermark == 0
    told.run("flush first")
    assert HighWatermarkAdvanced(offset=told.machine.log_end_offset) in _ready(told).at_once


def test_a_restarted_leader_never_leads_its_old_epoch() -> None:
    """It cannot know what of that epoch it had told to whom."""
    told = _told(["node me=1 voters=1,2,3 epoch=4 leader=1 log=5@4", "start"])
    assert told.machine is not None
    assert told.machine.role == "resigned"
    told.run("vote id=7 from=2 epoch=4 end=9@3")
    assert _ready(told).at_once == (SendResponse(request_id=7, response=VoteResponse(leader_epoch=told.machine.epoch)),)
    told.run("wait")
    assert told.machine.epoch == 5
