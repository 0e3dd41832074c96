"""The kinds of fault that a seed may draw; `faults` has their code. A new one needs both."""

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
"""Faults of scenarios that take snapshots; a repeated name is drawn more often."""

VOTER_FAULTS: Final = ("add voter", "remove voter", "remove leader", "replace disk")
"""Faults of scenarios with changing voters, beside all others."""

VOTER_PLANS: Final = ("two changes", "early change", "change unheard", "replaced and counted")
"""Voter changes at the worst moment; see `faults_voters`."""

UPGRADE_FAULTS: Final = ("upgrade", "upgrade twice", "upgrade unheard")
"""Faults of scenarios that begin with static voters; see `faults_upgrade`."""

LEADER_FAULTS: Final = (
    "hand over",
    "depose",
    "late proof",
    "rival leaders",
    "old tail",
    "rot ahead",
    "slow leader's disk",
)
"""Faults of leaders; see `faults_leader` and `faults_rivals`."""

FOREIGN_FAULTS: Final = ("another quorum",)
"""Faults of some scenarios with agents; see `faults_foreign`."""

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
"""The faults that flip bits."""
