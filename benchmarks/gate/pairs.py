"""Rounds of loads, one on each side in turn, and the ratios within a round.

The speed of a machine drifts within seconds. Only the loads of one round are compared with each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

import msgspec

from benchmarks.gate.verdict import Spread, is_failed, spread

BASE: Final = "base"
TREE: Final = "tree"
CONTROL: Final = "control"
_ORDERS: Final = (
    (BASE, TREE, CONTROL),
    (TREE, CONTROL, BASE),
    (CONTROL, BASE, TREE),
    (CONTROL, TREE, BASE),
    (BASE, CONTROL, TREE),
    (TREE, BASE, CONTROL),
)
"""All orders. In three rounds each side has each turn once; in six each side also follows each other equally often."""
_LOOP_STEPS: Final = 2_000_000
_LONG_S: Final = 20.0
_LONG_PAIRS: Final = 3


class OutOfTimeError(RuntimeError):
    """The gate has no time left for another round."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """One load on one side, as two speeds: more is faster.

    Attributes:
        judged: the speed by the measure that the row is judged by.
        beside: the speed by another measure, which is shown beside it.
        took_s: seconds of the whole load.
    """

    judged: float
    beside: float
    took_s: float


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One load on each side, and how long the fixed loop took before each."""

    loads: dict[str, Load]
    loop_ms: dict[str, float]


class Ratios(msgspec.Struct, frozen=True, kw_only=True):
    """Tree and control beside the base, by one measure."""

    tree: Spread
    control: Spread
    failed: bool


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Rounds of a row.

    Attributes:
        rounds_each: how many are measured before the row is prepared again.
        deadline: seconds of `time.monotonic()`; no round begins later.
    """

    pairs: int = 12
    rounds_each: int = 12
    deadline: float


LoadOn = Callable[[str], Load]
"""Puts the side of that name under load."""
Opened = Callable[[int], AbstractContextManager[LoadOn]]
"""Prepares a row, given how many of its rounds are done, and cleans up."""


def measure(opened: Opened, plan: Plan, loop: Callable[[], float]) -> list[Round]:
    """Return all rounds of a row: 3 at most if a load on the base takes longer than 20 s.

    `opened` is entered again after each `plan.rounds_each` rounds, with the number of rounds so far. `loop` returns the
    milliseconds of a fixed loop.

    Raises:
        OutOfTimeError: the deadline came before the last round.
    """
    rounds: list[Round] = []
    while len(rounds) < _wanted(rounds, plan):
        with opened(len(rounds)) as load:
            for _ in range(plan.rounds_each):
                wanted = _wanted(rounds, plan)
                if len(rounds) == wanted:
                    break
                if time.monotonic() > plan.deadline:
                    raise OutOfTimeError(f"the time was up after {len(rounds)} of {wanted} rounds")
                rounds.append(_round(load, _ORDERS[len(rounds) % len(_ORDERS)], loop))
    return rounds


def _wanted(rounds: Sequence[Round], plan: Plan) -> int:
    is_long = any(each.loads[BASE].took_s > _LONG_S for each in rounds)
    return min(plan.pairs, _LONG_PAIRS) if is_long else plan.pairs


def _round(load: LoadOn, order: Sequence[str], loop: Callable[[], float]) -> Round:
    loads, loops = {}, {}
    for side in order:
        loops[side] = loop()
        loads[side] = load(side)
    return Round(loads=loads, loop_ms=loops)


def ratios(rounds: list[Round], speed: Callable[[Load], float]) -> Ratios:
    """Return the ratios of tree and control to the base, within each round, by the measure `speed`."""
    tree, control = (
        spread([speed(each.loads[side]) / speed(each.loads[BASE]) for each in rounds]) for side in (TREE, CONTROL)
    )
    return Ratios(tree=tree, control=control, failed=is_failed(tree, control))


def loop_ms() -> float:
    """Return the milliseconds of a fixed loop of pure Python: the machine's speed now."""
    began = time.perf_counter()
    total = 0
    for step in range(_LOOP_STEPS):
        total += step & 7
    return (time.perf_counter() - began) * 1000
