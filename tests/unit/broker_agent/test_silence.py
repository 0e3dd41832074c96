"""The agent logs a silence of the controllers once, then at growing intervals, and logs its end."""

from __future__ import annotations

from broker_agent.silence import Silence, Silent


def test_it_is_told_at_once_and_then_ever_less_often() -> None:
    silence = Silence()
    told = [now_s for now_s in range(0, 3_000, 2) if silence.on_failed(now_s * 1_000) is not None]
    assert told == [0, 10, 30, 70, 150, 310, 630, 1_230, 1_830, 2_430]


def test_what_is_told() -> None:
    silence = Silence()
    assert silence.on_failed(5_000) == Silent(attempts=1, for_ms=0, next_in_ms=10_000)
    assert silence.on_failed(14_999) is None
    assert silence.on_failed(15_000) == Silent(attempts=3, for_ms=10_000, next_in_ms=20_000)


def test_its_end_is_told_once_and_the_next_silence_at_once() -> None:
    silence = Silence()
    assert silence.on_answered(0) is None
    silence.on_failed(1_000)
    silence.on_failed(3_000)
    assert silence.on_answered(4_000) == Silent(attempts=2, for_ms=3_000, next_in_ms=0)
    assert silence.on_answered(5_000) is None
    assert silence.on_failed(6_000) == Silent(attempts=1, for_ms=0, next_in_ms=10_000)
