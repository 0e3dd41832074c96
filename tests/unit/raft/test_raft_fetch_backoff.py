"""A replica that finds no leader asks quickly at first, then less and less often; after a fetch, quickly again."""

from __future__ import annotations

from tests.support.raft_transcript import Transcript

LONGEST_MS = 500


def _observer() -> Transcript:
    transcript = Transcript()
    transcript.run("node me=9 voters=1,2,3 bootstrap=1,2 broker")
    transcript.run("start")
    return transcript


def _fail(transcript: Transcript, count: int) -> list[int]:
    """Let so many Fetches fail; for each the wait until the next, in ms."""
    waits = []
    for _ in range(count):
        before_ms = transcript.now_ms
        transcript.run(f"fail to={max(transcript.asked)} reset")
        transcript.run("wait")
        waits.append(transcript.now_ms - before_ms)
    return waits


def test_fetches_in_vain_become_rare() -> None:
    waits = _fail(_observer(), 40)
    assert waits[:21] == [20] * 21
    assert waits[21:26] == [40, 80, 160, 320, LONGEST_MS]
    assert waits[26:] == [LONGEST_MS] * 14


def test_an_answer_with_records_makes_them_quick_again() -> None:
    transcript = _observer()
    transcript.run(f"answer to={max(transcript.asked)} epoch=4 leader=2 error=FENCED_LEADER_EPOCH")
    transcript.run("flush")
    assert _fail(transcript, 40)[-1] == LONGEST_MS
    while transcript.asked[max(transcript.asked)].destination.node_id != 2:
        _fail(transcript, 1)
    transcript.run(f"answer to={max(transcript.asked)} epoch=4 leader=2 hw=3 records=3")
    transcript.run("flush")
    assert _fail(transcript, 3) == [20] * 3
