"""Seeds whose scenario once broke an invariant: each runs in every run of the tests.

A change of `setup` changes the draws of a seed. If a seed lost its scenario, another seed has taken its place that
finds the same fault, shown with the mutant that removes the fix.
"""

from __future__ import annotations

from typing import Final

RED_SEEDS: Final[dict[int, str]] = {
    7: "a read barrier was out when the only other voter was removed, and nobody counted it again (`follow_voters`)",
    125: "a log was cut inside a batch, where it lacks the leader's epoch (`truncation_for`)",
    720_000_000_057: "bits were to rot in a segment that was removed, though not durably (the fault's own mistake)",
    720_000_000_585: "a leader's log began with a snapshot that had rotted; a checker took it for one that lacks it",
    481_930_728_040: "who was behind by more than an answer holds waited before each answer (`_was_cut_short`)",
    204_293_055_668: "an agent that lagged staged what it was since given back (the checker's own mistake)",
    180_050_750_668: "a second voter rotted while a leader waited to: no majority was left (the fault's own mistake)",
    704_519_973_734: "a rotten leader's log was read by a checker, which failed at it (the checker's own mistake)",
    642_635_843_344: "each Fetch was given up before an idle leader's answer: it waited longer (`longest_wait_ms`)",
    305: "a process was killed; the next one promised what it read and no disk had yet (`log_recovery._make_durable`)",
    480_181_851_681: "a candidate that was frozen led an epoch that was over (the checker's own mistake)",
    701_601_519_482: "an agent that knew of no committed batch took another history's records (`has_other_batch`)",
}
