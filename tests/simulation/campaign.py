"""Runs seeds: one, a range, or new ones for some time; reports the first failure with all that helps to explain it.

Must not know: how a scenario is run.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Final

import msgspec

from tests.simulation.scenario import Outcome, run_scenario
from tests.simulation.setup import Setup, scenario_of
from tests.simulation.shrink import Shrinker
from tests.simulation.timeline import draw, summary

_CHUNK: Final = 8
_CHANGEABLE: Final = ("clients", "observers", "paper_brokers", "drift", "topics")
_MS_PER_DAY: Final = 86_400_000


class Tally(msgspec.Struct, kw_only=True):
    """The result of a campaign. `failed` is the first outcome that is not clean."""

    seeds: int = 0
    events: int = 0
    virtual_ms: int = 0
    cpu_s: float = 0.0
    failed: Outcome | None = None
    happened: dict[str, int] = msgspec.field(default_factory=dict)
    """How often each fault was done, and each of `happened.EFFECTS` came of one."""

    def add(self, happened: dict[str, int]) -> None:
        """Add these counts."""
        for what, count in happened.items():
            self.happened[what] = self.happened.get(what, 0) + count

    def statistics(self) -> str:
        """Return a line for each count: effects first, then faults."""
        lines = [(what.startswith("fault: "), what, count) for what, count in self.happened.items()]
        return "\n".join(f"{count:9}  {what}" for _, what, count in sorted(lines))

    def __str__(self) -> str:
        rate = self.events / self.cpu_s if self.cpu_s else 0
        took = f"{self.cpu_s:.0f} s of a core, {rate:.0f} events/s a core"
        return f"{self.seeds} seeds, {self.events} events, {_time_text(self.virtual_ms)} of virtual time, {took}"


def _time_text(virtual_ms: int) -> str:
    """Return `1002 s`, and the same in a unit that shows its size."""
    seconds, days, years = virtual_ms / 1000, virtual_ms / _MS_PER_DAY, virtual_ms / _MS_PER_DAY / 365.25
    if days < 1:
        return f"{seconds:.0f} s ({seconds / 60:.0f} minutes)"
    return f"{seconds:.0f} s ({days:.1f} days)" if years < 1 else f"{seconds:.0f} s ({years:.2f} years)"


def keep(setup: Setup, kept: Iterable[int]) -> Setup:
    """Return the scenario with only these of its steps, by their numbers."""
    return msgspec.structs.replace(setup, steps=tuple(setup.steps[at] for at in kept))


def kept_of(setup: Setup, text: str) -> list[int]:
    """Return the numbers of steps in `3,17,40`, or `none`.

    Raises:
        ValueError: this scenario has no step of that number.
    """
    numbers = [] if text == "none" else text.split(",")
    for number in numbers:
        if not number.isdecimal() or int(number) >= len(setup.steps):
            raise ValueError(
                f"{number!r} is no fault of seed {setup.seed}: they are numbered 0 to {len(setup.steps) - 1}, or none"
            )
    return [int(number) for number in numbers]


def run_seeds(seeds: Iterable[int]) -> Tally:
    """Run seeds in order until one fails."""
    tally = Tally()
    for seed in seeds:
        begun = time.process_time()
        outcome = run_scenario(scenario_of(seed))
        tally.seeds += 1
        tally.events += outcome.events
        tally.virtual_ms += outcome.virtual_ms
        tally.add(outcome.happened)
        tally.cpu_s += time.process_time() - begun
        if not outcome.is_clean:
            tally.failed = outcome
            break
    return tally


def run_for(seconds: float, *, workers: int = 1, first: int | None = None) -> Tally:
    """Run new seeds for `seconds`, or until one fails; `first` is the first seed, by default a random one."""
    start = random.SystemRandom().randrange(1 << 40) if first is None else first
    deadline = time.monotonic() + seconds
    chunks = (range(start + at, start + at + _CHUNK) for at in range(0, 1 << 40, _CHUNK))
    if workers == 1:
        return _gather(_alone(chunks, deadline))
    return _gather(_together(chunks, deadline, workers))


def _gather(parts: Iterator[Tally]) -> Tally:
    whole = Tally()
    for part in parts:
        whole.seeds += part.seeds
        whole.events += part.events
        whole.virtual_ms += part.virtual_ms
        whole.cpu_s += part.cpu_s
        whole.add(part.happened)
        whole.failed = whole.failed or part.failed
    return whole


def _alone(chunks: Iterator[range], deadline: float) -> Iterator[Tally]:
    for chunk in chunks:
        part = run_seeds(chunk)
        yield part
        if part.failed is not None or time.monotonic() > deadline:
            return


def _together(chunks: Iterator[range], deadline: float, workers: int) -> Iterator[Tally]:
    with ProcessPoolExecutor(workers) as pool:
        running: set[Future[Tally]] = {pool.submit(run_seeds, next(chunks)) for _ in range(workers)}
        is_open = True
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                part = future.result()
                yield part
                is_open = is_open and part.failed is None and time.monotonic() < deadline
                if is_open:
                    running.add(pool.submit(run_seeds, next(chunks)))


def replay_command(setup: Setup) -> str:
    """Return the command that runs this scenario again, if it is a seed's own, whole or with steps left out."""
    seed = setup.seed
    steps = scenario_of(seed).steps
    at, kept = 0, []
    for step in setup.steps:
        at = steps.index(step, at) + 1
        kept.append(at - 1)
    same = msgspec.structs.replace(setup, steps=steps) == scenario_of(seed)
    extra = "" if len(kept) == len(steps) else f" KEEP={','.join(map(str, kept)) or 'none'}"
    changed = "" if same else f" CHANGE='{changes_of(setup)}'"
    return f"make sim SEED={seed}{extra}{changed}"


def changes_of(setup: Setup) -> str:
    """Return the differences from the seed's own scenario besides its steps, as `field=value,...`."""
    own = scenario_of(setup.seed)
    changed = (name for name in _CHANGEABLE if getattr(setup, name) != getattr(own, name))
    return ",".join(f"{name}={getattr(setup, name)}" for name in changed)


def with_changes(setup: Setup, text: str) -> Setup:
    """Return the scenario with `field=value,...` set.

    Raises:
        ValueError: there is no such field, or the value is no number.
    """
    wanted = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if part and (name not in _CHANGEABLE or not value.isdecimal()):
            raise ValueError(f"{part!r} is not NAME=NUMBER with one of {', '.join(_CHANGEABLE)}")
        if part:
            wanted[name] = int(value)
    return msgspec.structs.replace(setup, **wanted)


def report(failed: Outcome, *, shrink: bool = True) -> str:
    """Return the report on a scenario that failed."""
    lines = [
        f"seed {failed.setup.seed} fails after {failed.events} events, {failed.virtual_ms} ms: {failed.checker}: "
        f"{failed.what}",
        summary(failed.setup),
        f"replay: make sim SEED={failed.setup.seed}",
    ]
    smallest = Shrinker(failed).run() if shrink else failed
    if smallest is not failed:
        lines += [f"smaller: {replay_command(smallest.setup)}", summary(smallest.setup), ""]
    lines += [draw(smallest.setup), smallest.where]
    return "\n".join(lines)
