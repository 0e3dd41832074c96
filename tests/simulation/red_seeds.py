"""Seeds whose scenario once broke an invariant: each runs in every run of the tests.

A change of `setup` changes the draws of a seed. If a seed lost its scenario, another seed has taken its place that
finds the same fault, shown with the mutant that removes the fix.
"""

from __future__ import annotations

from typing import Final

RED_SEEDS: Final[dict[int, str]] = {
    7: "the only other voter was removed during a read barrier, which was not counted again (`follow_voters`)",
    125: "a log was cut inside a batch, where it lacks the leader's epoch (`truncation_for`)",
    720_000_000_057: "bits were to flip in a segment that was removed, though not durably (the fault's own mistake)",
    720_000_000_585: "a leader's log began with a corrupt snapshot; a checker saw a log without a snapshot",
    481_930_728_040: "a replica that lagged by more than one response holds waited before each (`_was_cut_short`)",
    204_293_055_668: "an agent that lagged staged a directory that it had been given back (the checker's own mistake)",
    180_050_750_668: "a second voter's log was corrupted: no majority was left (the fault's own mistake)",
    704_519_973_734: "a checker read a leader's corrupt log, and failed at it (the checker's own mistake)",
    642_635_843_344: "each Fetch timed out before an idle leader's response: it waited longer (`longest_wait_ms`)",
    305: "the process after a kill promised records that no disk had yet (`log_recovery._make_durable`)",
    480_181_851_681: "a frozen candidate led an epoch that was over (the checker's own mistake)",
    701_601_519_482: "an agent that knew no committed batch accepted another history's records (`has_other_batch`)",
}
