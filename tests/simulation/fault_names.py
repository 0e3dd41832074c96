"""The kinds of fault that a seed may draw; `faults` does them. New ones go here and there."""

from __future__ import annotations

from typing import Final

FAULTS: Final = (
    "kill",
    "power cut",
    "kill leader",
    "power cut leader",
    "dead at an effect",
    "dead in a file call",
    "blink",
    "storm",
    "clean stop",
    "freeze",
    "cut off",
    "one way",
    "split",
    "bridge",
    "flaky",
    "slow network",
    "slow disk",
    "stalled disk",
    "failing sync",
    "failing call",
    "full disk",
    "bit rot",
    "clock rate",
    "clock leap",
    "wall clock set",
)

SNAPSHOT_FAULTS: Final = ("snapshot", "left behind", "left behind", "left behind", "dead in a snapshot", "snapshot rot")
"""Those of stories that take snapshots, as often as they stand here."""

VOTER_FAULTS: Final = ("add voter", "remove voter", "remove leader", "replace disk")
"""Those of the stories in which the voters change (`setup.story_of`), where the others come too."""

FIRST_OF_CHANGING_VOTERS: Final = 10_000
LAST_OF_CHANGING_VOTERS: Final = 19_999
"""Among these seeds one story in three changes its voters; all others are as they were."""

LEADER_FAULTS: Final = ("hand over", "depose", "rival leaders", "rot ahead")
"""What is done to leaders on purpose; `faults_leader` does them, and `setup` draws them from chance of their own."""

FIRST_WITH_PLANS: Final = 20_000
"""From this seed on every second story has them; those before are as they were."""
