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
"""Those of scenarios that take snapshots, as often as they stand here."""

VOTER_FAULTS: Final = ("add voter", "remove voter", "remove leader", "replace disk")
"""Those of the scenarios in which the voters change, where the others come too."""

VOTER_PLANS: Final = ("two changes", "early change", "change unheard", "replaced and counted")
"""Changes of the voters at the worst moment; `faults_voters` does them."""

UPGRADE_FAULTS: Final = ("upgrade", "upgrade twice", "upgrade unheard")
"""Those of the scenarios that begin with static voters; `faults_upgrade` does them."""

LEADER_FAULTS: Final = (
    "hand over",
    "depose",
    "late proof",
    "rival leaders",
    "old tail",
    "rot ahead",
    "slow leader's disk",
)
"""What is done to leaders on purpose; `faults_leader` and `faults_rivals` do them."""

FOREIGN_FAULTS: Final = ("another quorum",)
"""Those of some scenarios with agents; `faults_foreign` does them."""

ALL: Final = frozenset(
    {
        *FAULTS,
        *SNAPSHOT_FAULTS,
        *VOTER_FAULTS,
        *VOTER_PLANS,
        *UPGRADE_FAULTS,
        *LEADER_FAULTS,
        *FOREIGN_FAULTS,
    }
)
"""Every name."""

ROT: Final = ("bit rot", "snapshot rot", "rot ahead")
"""Those that flip bits."""
