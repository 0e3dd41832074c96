"""Shrinks a failing scenario as long as the same checker fails.

It leaves out faults first (by halves, then one by one), then everything after the failure, then clients and agents.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tests.simulation.scenario import Outcome, run_scenario
from tests.simulation.setup import Setup

_TRIES = 150


class Shrinker:
    """Runs at most `tries` scenarios."""

    def __init__(
        self, failed: Outcome, *, tries: int = _TRIES, run_again: Callable[[Setup], Outcome] = run_scenario
    ) -> None:
        self._best = failed
        self._tries = tries
        self._run_again = run_again

    def run(self) -> Outcome:
        """Return the smallest failing scenario found."""
        self._cut_the_end()
        self._drop_steps()
        for change in ({"clients": 1}, {"observers": 0, "paper_brokers": 1}, {"drift": 0}, {"topics": 1}):
            self._try(msgspec.structs.replace(self._best.setup, **change))
        self._drop_steps()
        return self._best

    def _try(self, setup: Setup) -> bool:
        if self._tries <= 0 or setup == self._best.setup:
            return False
        self._tries -= 1
        outcome = self._run_again(setup)
        if outcome.checker != self._best.checker:
            return False
        self._best = outcome
        return True

    def _cut_the_end(self) -> None:
        """Remove the steps after the failure, which cannot have caused it."""
        setup, end_ms = self._best.setup, self._best.virtual_ms
        steps = tuple(step for step in setup.steps if step.at_ms <= end_ms)
        self._try(msgspec.structs.replace(setup, steps=steps))

    def _drop_steps(self) -> None:
        size = max(1, len(self._best.setup.steps) // 2)
        while size >= 1 and self._tries > 0:
            at = 0
            while at < len(self._best.setup.steps):
                steps = self._best.setup.steps
                fewer = steps[:at] + steps[at + size :]
                if not self._try(msgspec.structs.replace(self._best.setup, steps=fewer)):
                    at += size
            size //= 2
