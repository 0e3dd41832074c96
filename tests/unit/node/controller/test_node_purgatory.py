from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quorum.node.controller.purgatory import Purgatory
from quorum.node.controller.reads import ReadBarriers


def _of(*entries: tuple[int, int]) -> Purgatory[int]:
    """Items that are their positions, each with its deadline."""
    purgatory: Purgatory[int] = Purgatory()
    for until, deadline_ms in entries:
        purgatory.add(until, until=until, deadline_ms=deadline_ms)
    return purgatory


def test_items_leave_in_order_once_their_position_is_reached() -> None:
    purgatory = _of((3, 99), (5, 99), (5, 99), (9, 99))
    assert purgatory.take_reached(2) == []
    assert purgatory.take_reached(4) == [3]
    assert purgatory.take_reached(5) == [5, 5]
    assert purgatory.take_all() == [9]
    assert (len(purgatory), purgatory.next_deadline_ms()) == (0, None)


def test_what_waits_too_long_is_given_up_and_the_rest_stays() -> None:
    purgatory = _of((1, 50), (2, 20), (3, 90))
    assert purgatory.next_deadline_ms() == 20
    assert purgatory.take_expired(19) == []
    assert purgatory.take_expired(60) == [1, 2]
    assert purgatory.next_deadline_ms() == 90
    assert purgatory.take_reached(3) == [3]


def test_an_item_with_an_earlier_position_is_inserted() -> None:
    purgatory = _of((9, 100), (4, 100), (6, 100), (5, 30))
    assert purgatory.next_deadline_ms() == 30
    assert purgatory.take_reached(4) == [4]
    assert purgatory.take_expired(40) == [5]
    assert purgatory.take_reached(100) == [6, 9]
    assert (len(purgatory), purgatory.next_deadline_ms()) == (0, None)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12), st.integers(0, 5), st.integers(0, 5))
def test_every_item_leaves_once(entries: list[tuple[int, int]], position: int, now_ms: int) -> None:
    purgatory: Purgatory[tuple[int, int, int]] = Purgatory()
    for number, (until, deadline_ms) in enumerate(entries):
        purgatory.add((until, deadline_ms, number), until=until, deadline_ms=deadline_ms)
    reached = purgatory.take_reached(position)
    expired = purgatory.take_expired(now_ms)
    in_order = sorted(((*entry, number) for number, entry in enumerate(entries)), key=lambda item: item[0])
    assert reached == [item for item in in_order if item[0] <= position]
    assert expired == [item for item in in_order if item[0] > position and item[1] <= now_ms]
    assert reached + expired + purgatory.take_all() == sorted(
        in_order, key=lambda item: (item[0] > position, item[0] > position and item[1] > now_ms)
    )


def test_what_comes_after_a_barrier_was_asked_for_waits_for_the_next() -> None:
    barriers = ReadBarriers()
    assert barriers.take_due() is None
    assert (barriers.next_token(), barriers.next_token(), barriers.take_due(), barriers.take_due()) == (1, 1, 1, None)
    assert (barriers.next_token(), barriers.has_passed(1)) == (2, False)
    barriers.on_passed(1)
    assert (barriers.has_passed(1), barriers.has_passed(2)) == (True, False)
    barriers.on_refused()
    assert barriers.take_due() is None
