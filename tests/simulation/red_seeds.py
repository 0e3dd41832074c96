"""Stories that once did not hold: each is told in every run of the tests.

What a seed draws changes with `setup`; where a seed lost its story by that, a seed that finds the same fault again
(with the mutant that takes the mending away) has taken its place.
"""

from __future__ import annotations

from typing import Final

RED_SEEDS: Final[dict[int, str]] = {
    7: "a read barrier was out when the only other voter was removed, and nobody counted it again (`follow_voters`)",
    125: "a log was cut inside a batch, where it lacks the leader's epoch (`truncation_for`)",
    305: "a process was killed; the next one promised what it read and no disk had yet (`recovery._make_durable`)",
}
