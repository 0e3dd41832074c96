"""Only what a root can cause is folded into it."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from metadata_log.tools.findings.consequences import folded
from metadata_log.tools.findings.facts import EndsWithinBatch, EpochDiffers, Facts, MisnamedOrNot, QuorumDiffers
from metadata_log.tools.findings.finding import finding

ROOT = finding("unknown_broker", "broker 99 is not registered", node_id=1, file="/log/0.log", offset=20)


def _count_beside(facts: Facts | UnsetType, offset: int) -> int:
    other = finding("checkpoint_disagrees", "it differs", node_id=1, file="/log/30-1.checkpoint", offset=offset)
    return len(folded([ROOT, msgspec.structs.replace(other, facts=facts)]))


@pytest.mark.parametrize(
    "facts",
    [
        QuorumDiffers(at=30, faults=("voter 3 has another directory",)),
        EndsWithinBatch(end=30),
        EpochDiffers(named=2, in_log=1),
        MisnamedOrNot(end=30, epoch=1, time_ms=1, there="no batch ends there"),
    ],
)
def test_what_no_metadata_record_changes_is_a_fault_of_its_own(facts: Facts) -> None:
    assert _count_beside(facts, 30) == 2


def test_a_record_left_out_explains_the_metadata_after_it_alone() -> None:
    assert _count_beside(UNSET, 21) == 1
    assert _count_beside(UNSET, 20) == 2
