"""`python -m tests.chaos [--minutes M] [--seed N] ...`: one campaign of real faults, and the verdict on it.

The exit status is 0 if every invariant held, 1 if one failed, 2 if this machine cannot make real faults. A failed
invariant is printed, and the directory is kept.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.chaos import enter
from tests.chaos.campaign import run_campaign
from tests.chaos.clients import NAMES_LIVE_S
from tests.chaos.cluster import KRAFT
from tests.chaos.faults import ACTS, NETWORK
from tests.chaos.proof import complaints
from tests.support.fresh_seed import fresh_seed


def main() -> int:
    """Enter private namespaces, then run there."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--directory", type=Path, help="a new one; a temporary one if not given")
    parser.add_argument("--launcher", default=KRAFT, help="the module that starts a controller")
    parser.add_argument(
        "--round", action="append", default=[], metavar="NETWORK,ACT", help="these rounds only, instead of drawn ones"
    )
    parser.add_argument("--hold", type=float, metavar="S", help="how long each round lasts, instead of 1 to 6 s")
    parser.add_argument(
        "--names-live", type=float, default=NAMES_LIVE_S, metavar="S", help="after how long clients take other names"
    )
    parser.add_argument("--by-kafkas", action="store_true", help="controllers ask one another by Kafka's protocol")
    options = parser.parse_args()
    only = [(network, act) for network, _, act in (each.partition(",") for each in options.round)]
    for network, act in only:
        if network not in NETWORK or act not in ACTS:
            parser.error(f"--round {network},{act}: there are {', '.join(NETWORK)}; and {', '.join(ACTS)}")
    if not enter.is_inside():
        try:
            words = enter.command(["-m", "tests.chaos", *sys.argv[1:]])
        except enter.CannotEnterError as error:
            print(f"chaos: {error}", file=sys.stderr)
            return 2
        os.execvpe(words[0], words, enter.environment())
    enter.prepare()
    seed = fresh_seed("CHAOS_SEED") if options.seed is None else options.seed
    root = options.directory or Path(tempfile.mkdtemp(prefix="kraft-chaos-"))
    root.mkdir(parents=True, exist_ok=True)
    print(f"CHAOS_SEED={seed}, {options.minutes:g} minutes, in {root}", flush=True)
    summary = run_campaign(
        root, seed, options.minutes * 60,
        launcher=options.launcher, only=only, hold_s=options.hold, names_live_s=options.names_live,
        by_kafkas=options.by_kafkas,
    )  # fmt: skip
    found = complaints(root, summary)
    print(f"{len(summary.rounds)} rounds, {summary.writes} acknowledged writes, packets {summary.packets}")
    for complaint in found:
        print(f"WRONG: {complaint}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
