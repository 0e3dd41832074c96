"""A broker's life as its controller's answers lead it (KIP-631)."""

from __future__ import annotations

import pytest

from broker_agent.lifecycle import LEAVE_WITHIN_MS, Lifecycle, Phase, SendHeartbeat, SendRegistration
from quorum.api.error_codes import Error


def _registered(at_ms: int = 0) -> Lifecycle:
    life = Lifecycle(heartbeat_interval_ms=2_000)
    assert life.next_send(at_ms, -1) == SendRegistration(previous_broker_epoch=-1)
    life.on_registered(at_ms, Error.NONE, 7)
    return life


def _beat(
    life: Lifecycle, now: int, *, caught_up: bool = True, fenced: bool = False, down: bool = False
) -> SendHeartbeat:
    sent = life.next_send(now, 9)
    assert isinstance(sent, SendHeartbeat)
    life.on_heartbeat(now, Error.NONE, is_caught_up=caught_up, is_fenced=fenced, should_shut_down=down)
    return sent


def _running() -> Lifecycle:
    life = _registered()
    _beat(life, 0, fenced=True)
    _beat(life, 20)
    assert life.phase is Phase.RUNNING
    return life


def test_the_way_to_running() -> None:
    life = _registered()
    assert life.phase is Phase.CATCHING_UP
    assert _beat(life, 0, caught_up=False, fenced=True).want_fence
    assert life.phase is Phase.CATCHING_UP
    assert _beat(life, 20, fenced=True).want_fence
    assert life.phase is Phase.RECOVERING
    assert not _beat(life, 40, fenced=True).want_fence
    assert life.phase is Phase.RECOVERING
    _beat(life, 60)
    assert life.phase is Phase.RUNNING
    assert not life.is_fenced
    assert life.next_due_ms() == 2_060


def test_one_request_at_a_time() -> None:
    life = Lifecycle(heartbeat_interval_ms=2_000)
    assert life.next_send(0, -1) is not None
    assert life.next_send(10_000, -1) is None
    assert life.next_due_ms() is None


@pytest.mark.parametrize(
    ("error", "again_ms"), [(Error.DUPLICATE_BROKER_REGISTRATION, 1_000), (Error.INVALID_REGISTRATION, 100)]
)
def test_a_refused_registration_is_sent_again(error: Error, again_ms: int) -> None:
    life = Lifecycle(heartbeat_interval_ms=2_000)
    life.next_send(0, -1)
    life.on_registered(0, error, -1)
    assert (life.phase, life.next_due_ms(), life.last_refusal) == (Phase.STARTING, again_ms, error)


@pytest.mark.parametrize("error", [Error.DUPLICATE_BROKER_REGISTRATION, Error.INVALID_REGISTRATION])
def test_a_broker_that_stays_refused_asks_ever_more_rarely(error: Error) -> None:
    life = Lifecycle(heartbeat_interval_ms=2_000)
    waits, now_ms = [], 0
    for _ in range(120):
        assert life.next_send(now_ms, -1) is not None
        life.on_registered(now_ms, error, -1)
        due_ms = life.next_due_ms()
        assert due_ms is not None
        waits.append(due_ms - now_ms)
        now_ms = due_ms
    assert waits == sorted(waits)
    assert waits[-1] == 30_000
    assert sum(wait for wait in waits if wait == waits[0]) <= 9 * waits[0], "the short waits are over soon"
    assert life.next_send(now_ms, -1) is not None
    life.on_registered(now_ms, Error.NONE, 7)
    _beat(life, now_ms, fenced=True)
    assert life.next_send(now_ms + 20, 9) is not None
    life.on_heartbeat(now_ms + 20, Error.STALE_BROKER_EPOCH, is_caught_up=False, is_fenced=True, should_shut_down=False)
    assert life.next_send(now_ms + 20, 9) is not None
    life.on_registered(now_ms + 20, error, -1)
    assert life.next_due_ms() == now_ms + 20 + waits[0], "a new refusal begins with the short wait"


def test_no_answer_repeats_the_same() -> None:
    life = _running()
    assert life.next_send(2_020, 9) is not None
    life.on_failed(2_500)
    assert life.phase is Phase.RUNNING
    assert life.next_send(2_599, 9) is None
    assert isinstance(life.next_send(2_600, 9), SendHeartbeat)


@pytest.mark.parametrize("error", [Error.STALE_BROKER_EPOCH, Error.BROKER_ID_NOT_REGISTERED])
def test_a_broker_that_is_known_no_more_registers_again(error: Error) -> None:
    life = _running()
    life.next_send(2_020, 9)
    life.on_heartbeat(2_020, error, is_caught_up=False, is_fenced=True, should_shut_down=False)
    assert life.phase is Phase.STARTING
    assert life.is_fenced
    assert isinstance(life.next_send(2_020, 9), SendRegistration)


def test_leaving_waits_for_the_controller() -> None:
    life = _running()
    life.stop(100)
    assert _beat(life, 100, down=False).want_shut_down
    assert life.phase is Phase.LEAVING
    assert _beat(life, 120, down=True).want_shut_down
    assert life.phase is Phase.LEFT
    assert life.next_send(10_000, 9) is None


def test_leaving_before_there_is_anything_to_leave() -> None:
    life = Lifecycle(heartbeat_interval_ms=2_000)
    life.stop(0)
    assert life.phase is Phase.LEFT


def test_a_registration_under_way_is_left_properly() -> None:
    life = Lifecycle(heartbeat_interval_ms=2_000)
    life.next_send(0, -1)
    life.stop(1)
    life.on_registered(2, Error.NONE, 7)
    assert life.phase is Phase.LEAVING


def test_who_was_removed_while_leaving_has_left() -> None:
    life = _running()
    life.stop(100)
    life.next_send(100, 9)
    life.on_heartbeat(100, Error.BROKER_ID_NOT_REGISTERED, is_caught_up=False, is_fenced=True, should_shut_down=False)
    assert life.phase is Phase.LEFT


def test_a_leaver_that_no_controller_answers_leaves_in_time() -> None:
    life = _running()
    life.stop(100)
    now = 100
    while life.phase is not Phase.LEFT:
        due = life.next_due_ms()
        assert due is not None
        now = max(now, due)
        assert isinstance(life.next_send(now, 9), SendHeartbeat)
        now += 2_000
        life.on_failed(now)
    assert LEAVE_WITHIN_MS < now <= LEAVE_WITHIN_MS + 2_200


def test_a_leaver_that_is_answered_waits_for_its_leaders_to_move() -> None:
    life = _running()
    life.stop(100)
    for now in range(100, LEAVE_WITHIN_MS * 3, 20):
        assert _beat(life, now).want_shut_down
    life.next_send(LEAVE_WITHIN_MS * 3 + 100, 9)
    life.on_failed(LEAVE_WITHIN_MS * 3 + 100)
    assert life.phase is Phase.LEAVING


def test_a_leaver_knows_how_long_it_waits_for_an_answer() -> None:
    life = _running()
    assert life.leaves_in_ms(50) is None
    life.stop(100)
    assert life.leaves_in_ms(1_100) == LEAVE_WITHIN_MS - 1_000
    _beat(life, 1_100)
    assert life.leaves_in_ms(1_100) == LEAVE_WITHIN_MS
    _beat(life, 1_120, down=True)
    assert life.leaves_in_ms(1_120) is None


def test_a_registration_under_way_that_nobody_answers_is_left_at_once() -> None:
    life = Lifecycle(heartbeat_interval_ms=2_000)
    life.next_send(0, -1)
    life.stop(1)
    life.on_failed(2_000)
    assert life.phase is Phase.LEFT


def test_asked_twice_to_leave_it_leaves_at_once() -> None:
    life = _running()
    life.stop(100)
    assert life.phase is Phase.LEAVING
    life.stop(200)
    assert life.phase is Phase.LEFT


def test_a_registration_that_may_be_another_quorums_is_made_again() -> None:
    life = _running()
    life.forget_registration(50)
    assert life.next_send(50, 9) == SendRegistration(previous_broker_epoch=-1)
    assert (life.broker_epoch, life.is_fenced) == (-1, True)


def test_an_answer_under_way_when_the_registration_is_forgotten_counts_for_nothing() -> None:
    life = _registered()
    assert isinstance(life.next_send(0, 9), SendHeartbeat)
    life.forget_registration(10)
    life.on_heartbeat(20, Error.NONE, is_caught_up=True, is_fenced=False, should_shut_down=False)
    assert life.phase is Phase.STARTING
    assert isinstance(life.next_send(1_000, 9), SendRegistration)
    life.forget_registration(1_010)
    life.on_registered(1_020, Error.NONE, 9)
    assert (life.phase, life.broker_epoch) == (Phase.STARTING, -1)
    assert isinstance(life.next_send(2_000, 9), SendRegistration)
    life.on_registered(2_010, Error.NONE, 11)
    assert (life.phase, life.broker_epoch) == (Phase.CATCHING_UP, 11)


def test_a_broker_that_leaves_goes_on_leaving_when_its_registration_is_forgotten() -> None:
    life = _running()
    life.stop(50)
    life.forget_registration(60)
    assert life.phase is Phase.LEAVING
