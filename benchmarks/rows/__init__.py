"""The rows of the comparison, a module each: NAME, TITLE, RUNS (of a full plan), and `measure`.

`measure(side, loadgen, plan)` starts the side, yields the figures of one or more runs, and stops it. It yields none if
the side has nothing to measure.
"""

from __future__ import annotations

from typing import Final

from benchmarks.rows import (
    broker_boot,
    cold_start,
    cold_start_large,
    cold_start_snapshot,
    frozen,
    killed,
    memory,
    producer_ids,
    rates,
    replay,
    replay_snapshot,
    snapshot_pause,
    terminated,
    wide_topics,
)

ROWS: Final = {
    row.NAME: row
    for row in (
        rates,
        producer_ids,
        wide_topics,
        broker_boot,
        killed,
        terminated,
        frozen,
        cold_start,
        cold_start_large,
        cold_start_snapshot,
        replay,
        replay_snapshot,
        memory,
        snapshot_pause,
    )
}
