"""Faults of records, and faults with consequences: `kraft log diff` gives the findings that `kraft check` gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.replicas.diff_paths import diff_paths
from quorum.cli.main import run
from tests.support.all_damage import ALL_DAMAGE
from tests.support.damage import copy_cluster
from tests.support.one_fault import with_one_fault

_PLANTED = {damage.name: damage for damage in ALL_DAMAGE}
_UNCOMMITTED = 5036
"""A seed: an impossible record on a follower of an older epoch."""


def said(findings: tuple[Finding, ...]) -> list[tuple[str, int | None, str, object]]:
    return [(one.kind, one.node_id, one.meaning, one.consequences) for one in findings]


def kinds(findings: tuple[Finding, ...]) -> list[tuple[str, int | None]]:
    return [(one.kind, one.node_id) for one in findings]


def test_a_record_above_the_level_accuses_no_sound_node(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = copy_cluster(clusters / "static-3.9", tmp_path / "static-3.9")
    _PLANTED["above_level"].plant(cluster)

    report = diff_paths([cluster.root])

    assert report.findings == ()
    assert report.bounds == check_paths([cluster.root]).bounds
    assert (report.bounds.lower, report.bounds.upper) == (114, 114)
    assert run(["log", "diff", str(cluster.root)]) == 0
    assert "The logs' records agree in 5 replicas. kraft check judges the rest." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("epoch_without_leader", [("log_mismatch", 2)]),
        ("epoch_back", [("log_mismatch", 1)]),
        ("unreadable_checkpoint", [("unreadable_file", 1)]),
        ("only_checkpoint_named_later", [("checkpoint_misnamed", 1)]),
        ("segment_and_indexes_gone", [("log_missing", 2)]),
        ("log_and_proofs_emptied", [("voter_without_log", 2)]),
        ("random_log", [("corrupt_batch", 2)]),
        ("wrong_delta", [("malformed_record", 2), ("log_mismatch", 2)]),
    ],
)
def test_consequences_are_below_their_root(
    name: str, expected: list[tuple[str, int]], clusters: Path, tmp_path: Path
) -> None:
    damage = _PLANTED[name]
    cluster = copy_cluster(clusters / damage.scenario, tmp_path / damage.scenario)
    damage.plant(cluster)

    report = diff_paths([cluster.root])

    assert kinds(report.findings) == expected
    assert said(report.findings) == said(check_paths([cluster.root]).findings)


def test_an_impossible_record_explains_the_tail_that_it_begins(clusters: Path, tmp_path: Path) -> None:
    cluster = with_one_fault(_UNCOMMITTED, clusters, tmp_path).cluster

    report = diff_paths([cluster.root])

    assert kinds(report.findings) == [("unknown_broker", 1)]
    assert said(report.findings) == said(check_paths([cluster.root]).findings)


def test_a_fault_of_records_that_explains_no_difference_is_left_to_check(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    _PLANTED["acl_twice"].plant(cluster)
    _PLANTED["epoch_without_leader"].plant(cluster)

    report = diff_paths([cluster.root])

    assert kinds(report.findings) == [("log_mismatch", 2)]
    assert kinds(check_paths([cluster.root]).findings) == [("acl_id_reused", 3), ("log_mismatch", 2)]
