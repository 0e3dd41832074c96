"""Only what a root can cause is folded into it."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from metadata_log.tools.findings.consequences import folded
from metadata_log.tools.findings.epoch_facts import ChangedEpoch, EpochWentBack
from metadata_log.tools.findings.facts import (
    EndsWithinBatch,
    EpochDiffers,
    Facts,
    LongerThanElected,
    MisnamedOrNot,
    OtherLeader,
    QuorumDiffers,
)
from metadata_log.tools.findings.finding import Finding, Severity, finding

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


CHANGED = finding(
    ChangedEpoch(offset=253, epoch=67, right=3, where="of epoch 3 on node 1"),
    node_id=3,
    file="/log/0.log",
    offset=253,
    epoch=67,
)


@pytest.mark.parametrize(
    ("facts", "file", "offset", "epoch"),
    [
        (EpochWentBack(epoch=3, after=67), "/log/0.log", 254, 3),
        (EpochWentBack(epoch=67, after=70), "/log/0.log", 253, 67),
        (OtherLeader(epoch=67, named=1, elected=2, offset=253), "/log/quorum-state", 253, 67),
        (EpochDiffers(named=3, in_log=67), "/log/300-3.checkpoint", 300, 3),
        ("quorum_state_behind", "/log/quorum-state", 253, 67),
        ("epoch_file_wrong", "/log/leader-epoch-checkpoint", 253, 3),
        ("epoch_without_leader", "/log/0.log", 253, 67),
        ("epoch_without_leader", "/log/0.log", 254, 3),
        ("foreign_batch", "/log/0.log", 253, 67),
    ],
)
def test_a_changed_epoch_explains_what_the_files_beside_it_deny(
    facts: Facts | str, file: str, offset: int, epoch: int
) -> None:
    other = finding(facts, "it differs", node_id=3, file=file, offset=offset, epoch=epoch)

    (root,) = folded([other, CHANGED])

    assert (root.kind, root.consequences) == ("log_mismatch", (_as_consequence(other),))


def _as_consequence(other: Finding) -> str:
    place = "" if other.file == CHANGED.file else f", {other.file}"
    return f"{other.kind}{place}, offset {other.offset}: {other.meaning}"


@pytest.mark.parametrize(
    ("facts", "file", "offset", "epoch"),
    [
        (EpochWentBack(epoch=3, after=68), "/log/0.log", 254, 3),
        (EpochWentBack(epoch=3, after=67), "/other/0.log", 254, 3),
        ("epoch_without_leader", "/log/0.log", 254, 4),
        ("epoch_file_wrong", "/log/leader-epoch-checkpoint", 254, 3),
    ],
)
def test_a_changed_epoch_explains_nothing_else(facts: Facts | str, file: str, offset: int, epoch: int) -> None:
    other = finding(facts, "it differs", node_id=3, file=file, offset=offset, epoch=epoch)

    assert len(folded([other, CHANGED])) == 2


def _lost(kind: str, file: str = "/log/0.log", offset: int | None = 0, position: int | None = 0) -> Finding:
    return finding(kind, f"{kind} here", node_id=2, file=file, offset=offset, position=position)


def test_a_lost_log_is_one_fault() -> None:
    batch, cut, absent = _lost("corrupt_batch"), _lost("log_cut"), _lost("voter_without_log", position=None)
    (one,) = folded([absent, cut, batch])
    assert one.kind == "corrupt_batch"
    assert {said.partition(",")[0] for said in one.consequences or ()} == {"log_cut", "voter_without_log"}
    for root in ("log_missing", "log_cut", "committed_lost"):
        assert [found.kind for found in folded([_lost(root), absent])] == [root]


def test_the_root_of_a_lost_log_is_the_gravest_finding() -> None:
    absent = msgspec.structs.replace(_lost("voter_without_log"), severity=Severity.ERROR)
    cut = msgspec.structs.replace(_lost("log_cut"), severity=Severity.WARNING)
    (one,) = folded([cut, absent])
    assert one.kind == "voter_without_log"


def test_a_log_cut_elsewhere_or_a_voter_without_any_proof_is_a_fault_of_its_own() -> None:
    assert len(folded([_lost("corrupt_batch", offset=9, position=700), _lost("log_cut", offset=12, position=900)])) == 2
    other = _lost("voter_without_log", file="/other/0.log")
    assert len(folded([_lost("log_missing"), other])) == 2


def test_a_tail_that_begins_with_an_impossible_record_is_one_fault() -> None:
    record = finding("unknown_broker", "no", node_id=2, file="/log/0.log", offset=114, position=8521)
    tail = finding("uncommitted_tail", "later elsewhere", node_id=2, file="/log/0.log", offset=114, position=8521)
    facts = LongerThanElected(elected=3, epoch=4, offset=114, own_epoch=3, on="node 3")
    longer = finding(facts, node_id=2, file="/log/quorum-state", offset=114, epoch=4)
    (one,) = folded([record, longer, tail])
    assert one.kind == "unknown_broker"
    assert len(one.consequences or ()) == 2
    later = msgspec.structs.replace(record, offset=116, position=9000)
    assert len(folded([later, longer, tail])) == 3
