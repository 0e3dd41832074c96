"""`python -m tests.simulation --seed N [--keep 1,4,7] [--change clients=1]`, or `--minutes M`, or `--seeds FIRST
COUNT`.

`make sim SEED=N` and `make sim MINUTES=M` call it. The exit status is 1 if an invariant fails.
"""

from __future__ import annotations

import argparse
import math
import sys

from tests.simulation.campaign import keep, kept_of, report, run_for, run_seeds, with_changes
from tests.simulation.scenario import run_scenario
from tests.simulation.setup import Setup, scenario_of
from tests.simulation.timeline import draw, summary


def _minutes(text: str) -> float:
    minutes = float(text)
    if not 0 < minutes < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return minutes


def _count(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Simulate whole clusters.")
    parser.add_argument("--seed", type=int, help="run the scenario of this seed, and draw it")
    parser.add_argument("--keep", help="with these of its faults alone, by number: 3,17,40, or none")
    parser.add_argument("--change", default="", help="with other values: clients=1,observers=0")
    parser.add_argument("--seeds", type=int, nargs=2, metavar=("FIRST", "COUNT"), help="a range of seeds")
    parser.add_argument("--minutes", type=_minutes, default=1, help="fresh seeds for so long")
    parser.add_argument("--workers", type=_count, default=1, help="processes side by side")
    parser.add_argument("--first", type=int, help="where fresh seeds begin; anywhere by default")
    parser.add_argument("--statistics", action="store_true", help="how often each fault came, and what came of it")
    parser.add_argument("--quiet", action="store_true", help="no timeline of a seed that is clean")
    return parser


def _setup(seed: int, change: str, kept: str | None) -> Setup:
    setup = with_changes(scenario_of(seed), change)
    return setup if kept is None else keep(setup, kept_of(setup, kept))


def _one(arguments: argparse.Namespace, setup: Setup) -> int:
    outcome = run_scenario(setup)
    if not outcome.is_clean:
        print(report(outcome, shrink=arguments.keep is None))
        return 1
    if not arguments.quiet:
        print(draw(setup))
    print(f"seed {arguments.seed} holds: {summary(setup)}; {outcome.events} events, digest {outcome.digest}")
    return 0


def main() -> int:
    """See the module."""
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.seed is not None:
        try:
            setup = _setup(arguments.seed, arguments.change, arguments.keep)
        except ValueError as wrong:
            parser.error(str(wrong))
        return _one(arguments, setup)
    if arguments.keep is not None or arguments.change:
        parser.error("--keep and --change belong to the scenario of one --seed")
    if arguments.seeds is not None:
        first, count = arguments.seeds
        tally = run_seeds(range(first, first + count))
    else:
        tally = run_for(60 * arguments.minutes, workers=arguments.workers, first=arguments.first)
    if tally.failed is not None:
        print(report(tally.failed))
    if arguments.statistics:
        print(tally.statistics())
    print(tally)
    return tally.failed is not None


if __name__ == "__main__":
    sys.exit(main())
