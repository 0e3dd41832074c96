"""Only what a root can cause is folded into it."""

from __future__ import annotations

import pytest

from metadata_log.tools.findings.consequences import folded
from metadata_log.tools.findings.finding import finding

ROOT = finding("unknown_broker", "broker 99 is not registered", node_id=1, file="/log/0.log", offset=20)


def _count_beside(meaning: str, offset: int) -> int:
    other = finding("checkpoint_disagrees", meaning, node_id=1, file="/log/30-1.checkpoint", offset=offset)
    return len(folded([ROOT, other]))


@pytest.mark.parametrize(
    "meaning",
    [
        "of the quorum at its end, offset 30, it says otherwise: voter 3 has another directory",
        "it ends at offset 30, within a batch of the log",
        "its name says epoch 2, but the log has epoch 1 before it",
        "by its name it ends at offset 30 in epoch 1, and by its header at 40",
    ],
)
def test_what_no_metadata_record_changes_is_a_fault_of_its_own(meaning: str) -> None:
    assert _count_beside(meaning, 30) == 2


def test_a_record_left_out_explains_the_metadata_after_it_alone() -> None:
    assert _count_beside("broker 99 is in the checkpoint alone", 21) == 1
    assert _count_beside("broker 99 is in the checkpoint alone", 20) == 2
